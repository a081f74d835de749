"""The metric folder of the correlation of similarities with human scores; README.md describes it."""
