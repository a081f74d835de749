"""The built-in sample: real French–English sentence pairs of Tatoeba, and human paraphrases to judge encoders on.

Nothing comes in but how many pairs and which seed; `tatoeba.py` reads the two files and hands out typed rows by split.
The sentences are Tatoeba's (CC BY 2.0 FR), see `ATTRIBUTION.md`; `scripts/make_sample.py` chose them.
"""

from __future__ import annotations

from .tatoeba import FEWEST_PAIRS, TOTAL_PAIRS, JudgedPair, SamplePair, sample_bitext, sample_paraphrases

__all__ = ["FEWEST_PAIRS", "TOTAL_PAIRS", "JudgedPair", "SamplePair", "sample_bitext", "sample_paraphrases"]
