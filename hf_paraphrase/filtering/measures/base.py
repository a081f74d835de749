"""What a measure is."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ..pair_batch import PairBatch


class Measure(Protocol):
    """Computes one or more columns of numbers from a batch of pairs, each row by itself.

    Attributes:
        columns: The columns it adds.
        requires: The columns it reads.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it adds, in order."""
        ...

    @property
    def requires(self) -> tuple[str, ...]:
        """The columns it reads."""
        ...

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Computes the columns: for each name an array (pairs,) of int64 or float64, NaN where it is not defined."""
        ...
