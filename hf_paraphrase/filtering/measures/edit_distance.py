"""The edit distance of the two sides, in characters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..pair_batch import PairBatch
from .base import Measure


@dataclass(frozen=True)
class EditDistance(Measure):
    """Computes the Levenshtein distance of the lower-cased texts divided by the length of the longer one.

    Insertions, deletions and substitutions of a character (code point) cost 1 each, white space counts. 0 for equal
    texts, two empty ones included, and 1 for texts that have nothing in common.
    """

    unit = "0 to 1"
    columns = ("edit_distance",)

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Computes the column (pairs,), float64 from 0 to 1."""
        from rapidfuzz.distance import Levenshtein
        from rapidfuzz.process import cpdist

        distance = cpdist(
            batch.lowered1, batch.lowered2, scorer=Levenshtein.normalized_distance, dtype=np.float64, workers=1
        )
        return {"edit_distance": np.asarray(distance, dtype=np.float64)}
