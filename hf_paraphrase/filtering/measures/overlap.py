"""N-gram overlap of the two sides (Wieting, Mallinson and Gimpel 2017, section 5.7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..pair_batch import PairBatch

ORDERS = (1, 2, 3)


@dataclass(frozen=True)
class Overlap:
    """Computes the share of the n-grams of the shorter side that occur in the longer one, for n = 1, 2, 3.

    The n-grams are of lower-cased tokens. "Shorter" is by number of n-grams; of equally long sides `sentence1` counts
    as the shorter. Every occurrence counts, and by default a repeated n-gram is present as soon as the longer side has
    it once, as in the authors' published code; with `clipped` an n-gram counts at most as often as the longer side has
    it. 0 where the shorter side has no n-gram.

    Attributes:
        clipped: Whether repeated n-grams are clipped; the columns are then `overlap_clipped_1` and so on.
    """

    clipped: bool = False
    requires: tuple[str, ...] = ("sentence1", "sentence2")

    @property
    def columns(self) -> tuple[str, ...]:
        """`overlap_1` … `overlap_3`, or `overlap_clipped_1` … `overlap_clipped_3`."""
        return tuple(f"overlap_clipped_{order}" if self.clipped else f"overlap_{order}" for order in ORDERS)

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Computes one column (pairs,), float64 from 0 to 1, for each order."""
        return {name: self._overlap(batch, order) for name, order in zip(self.columns, ORDERS, strict=True)}

    def _overlap(self, batch: PairBatch, order: int) -> np.ndarray:
        shared = batch.shared(order)
        total1 = np.maximum(batch.lengths1 - order + 1, 0)
        total2 = np.maximum(batch.lengths2 - order + 1, 0)
        present = shared.clipped if self.clipped else np.where(total1 <= total2, shared.present1, shared.present2)
        shorter = np.minimum(total1, total2)
        overlap = np.zeros(batch.num_rows)
        np.divide(present, shorter, out=overlap, where=shorter > 0)
        return overlap
