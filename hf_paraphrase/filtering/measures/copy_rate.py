"""How much of the translation is copied from the reference, or left untranslated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..pair_batch import PairBatch
from ..shared_ngrams import SharedNgramCounter
from ..tokens import TokenSpans
from .base import Measure

SHORTEST_WORD = 3
"""Shorter tokens of the source say nothing: punctuation is the same in most languages, and many articles are."""


@dataclass(frozen=True)
class CopyRate(Measure):
    """Computes the share of the tokens of the translation that also occur in the reference.

    `copy_rate` counts the lower-cased tokens of `sentence2`, punctuation included and repeated ones as often as they
    occur. Unlike `overlap_1` it always looks from the translation, whichever side is shorter. NaN for an empty
    `sentence2`.
    """

    unit = "0 to 1"
    columns = ("copy_rate",)

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Computes the column (pairs,), float64 from 0 to 1."""
        return {"copy_rate": _rate(batch.shared(1).present2, batch.lengths2)}


@dataclass(frozen=True)
class SourceCopyRate(Measure):
    """Computes the share of the words of the translation that stand in the source in the same form: untranslated ones.

    `copy_rate_source` counts the lower-cased tokens of `sentence2` with at least three characters; names and numbers
    are among them rightly. NaN where there is no such word.
    """

    unit = "0 to 1"
    for_bitext = True
    columns = ("copy_rate_source",)
    requires = ("source", "sentence2")

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Computes the column (pairs,), float64 from 0 to 1."""
        sources = list(map(str.lower, batch.texts("source")))
        counter = SharedNgramCounter(TokenSpans([*sources, *batch.lowered2]))
        words, present = counter.present_words(SHORTEST_WORD)
        return {"copy_rate_source": _rate(present, words)}


def _rate(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    rate = np.full(len(part), np.nan)
    np.divide(part, whole, out=rate, where=whole > 0)
    return rate
