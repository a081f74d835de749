"""The metric folder of the paraphrase detection by a threshold; README.md describes it."""
