"""Text: normalization, words of all scripts, n-grams, hashes, fingerprints and language codes.

Input: strings or Arrow arrays of strings. Output: normalized strings, words, counts and hashes. No module reads files.
Start with `normalization.py`, which defines when two texts are the same, and `words.py`.
"""
