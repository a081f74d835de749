"""How long references and translations are (paper 000, section 5.5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BINS = ((0, 10), (10, 20), (20, 30), (30, 100))
"""The ranges of table 5 in tokens, the lower end excluded."""


@dataclass(frozen=True)
class LengthStatistics:
    """The lengths of a list of sentences in tokens, punctuation included.

    Attributes:
        mean: Their mean.
        deviation: Their standard deviation.
        median: Their median.
        longest: The greatest.
        shares: The share of sentences in each of :data:`BINS`, in per cent.
    """

    mean: float
    deviation: float
    median: float
    longest: int
    shares: tuple[float, ...]

    @classmethod
    def of(cls, lengths: NDArray[np.int64]) -> LengthStatistics:
        """Computes them from lengths (sentences,)."""
        return cls(
            float(lengths.mean()),
            float(lengths.std(ddof=1)) if len(lengths) > 1 else 0.0,
            float(np.median(lengths)),
            int(lengths.max()),
            tuple(100.0 * float(((lengths > low) & (lengths <= high)).mean()) for low, high in BINS),
        )
