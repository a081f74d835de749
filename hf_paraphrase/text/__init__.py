"""Text as every package sees it: normalization, words of all scripts, n-grams, hashes, fingerprints, language codes.

Strings or Arrow arrays of strings come in; normalized strings, words, counts and 64-bit numbers come out. Nothing here
reads files. Start with `normalization.py`, which says when two texts are the same, and `words.py`.
"""
