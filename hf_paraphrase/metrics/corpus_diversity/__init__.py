"""The metric folder of the diversity of a corpus and of its pairs; see the README.md beside it."""
