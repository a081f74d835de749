"""Lengths in tokens (Wieting, Mallinson and Gimpel 2017, section 5.6, bins pairs by the translation's)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..pair_batch import PairBatch
from .base import Measure


@dataclass(frozen=True)
class Length(Measure):
    """Counts tokens, punctuation included.

    * `length`: tokens of `sentence2`, the translation.
    * `length_reference`: tokens of `sentence1`.
    * `length_ratio`: the first divided by the second; NaN where `sentence1` is empty.
    """

    unit = "tokens"
    for_bitext = True
    columns = ("length", "length_reference", "length_ratio")

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Computes the three columns (pairs,): int64, int64, float64."""
        reference, translation = batch.lengths1, batch.lengths2
        ratio = np.full(batch.num_rows, np.nan)
        np.divide(translation, reference, out=ratio, where=reference > 0)
        return dict(zip(self.columns, (translation, reference, ratio), strict=True))
