"""The metric folder of the paraphrase detection by a threshold; see the README.md beside it."""
