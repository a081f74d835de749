"""Repetition within a sentence (Wieting, Mallinson and Gimpel 2017, section 5.6.1, table 9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..pair_batch import PairBatch
from .base import Measure

SHORTEST_WORD = 3
"""Unigrams of fewer characters are not considered."""


@dataclass(frozen=True)
class Repetition(Measure):
    """Computes the share of the words and of the trigrams of a sentence that occurred before in the same sentence.

    * `repetition_1`: of the tokens of `sentence2` with at least three characters.
    * `repetition_3`: of the trigrams of tokens of `sentence2`, punctuation included.
    * `repetition_reference_1`, `repetition_reference_3`: the same of `sentence1`.

    Tokens are lower-cased. 0 for a sentence that has no such word or trigram.
    """

    unit = "0 to 1"
    columns = ("repetition_1", "repetition_3", "repetition_reference_1", "repetition_reference_3")

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Computes the four columns (pairs,), float64 from 0 to 1."""
        words1, repeated1, words2, repeated2 = batch.ngram_counter.repeated_words(SHORTEST_WORD)
        trigrams = batch.shared(3)
        shares = (
            _share(repeated2, words2),
            _share(trigrams.repeated2, batch.lengths2 - 2),
            _share(repeated1, words1),
            _share(trigrams.repeated1, batch.lengths1 - 2),
        )
        return dict(zip(self.columns, shares, strict=True))


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    share = np.zeros(len(part))
    np.divide(part, whole, out=share, where=whole > 0)
    return share
