"""The metric folder of the correlation of similarities with human scores; see the README.md beside it."""
