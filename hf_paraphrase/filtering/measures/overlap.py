"""N-gram overlap of the two sides (Wieting, Mallinson and Gimpel 2017, section 5.7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..pair_batch import PairBatch
from .base import Measure

ORDERS = (1, 2, 3)


@dataclass(frozen=True)
class Overlap(Measure):
    """Computes the share of the n-grams of the shorter side that occur in the longer one, for n = 1, 2, 3.

    The n-grams are of lower-cased tokens. "Shorter" is by number of n-grams; of equally long sides `sentence1` counts
    as the shorter. Every occurrence counts, and a repeated n-gram is present as soon as the longer side has it once,
    as in the authors' published code. 0 where the shorter side has no n-gram.
    """

    unit = "0 to 1"
    columns = ("overlap_1", "overlap_2", "overlap_3")

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Computes one column (pairs,), float64 from 0 to 1, for each order."""
        return {name: self._overlap(batch, order) for name, order in zip(self.columns, ORDERS, strict=True)}

    def _overlap(self, batch: PairBatch, order: int) -> np.ndarray:
        total1 = np.maximum(batch.lengths1 - order + 1, 0)
        total2 = np.maximum(batch.lengths2 - order + 1, 0)
        shorter = np.minimum(total1, total2)
        overlap = np.zeros(batch.num_rows)
        np.divide(self._present(batch, order, total1 <= total2), shorter, out=overlap, where=shorter > 0)
        return overlap

    def _present(self, batch: PairBatch, order: int, first_is_shorter: np.ndarray) -> np.ndarray:
        shared = batch.shared(order)
        return np.where(first_is_shorter, shared.present1, shared.present2)


@dataclass(frozen=True)
class ClippedOverlap(Overlap):
    """Computes the share of the n-grams of the shorter side that occur in the longer one, for n = 1, 2, 3.

    Unlike :class:`Overlap` a repeated n-gram counts at most as often as the longer side has it.
    """

    by_default = False
    columns = ("overlap_clipped_1", "overlap_clipped_2", "overlap_clipped_3")

    def _present(self, batch: PairBatch, order: int, first_is_shorter: np.ndarray) -> np.ndarray:
        return batch.shared(order).clipped
