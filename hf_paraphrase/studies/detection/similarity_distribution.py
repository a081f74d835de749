"""How the similarities of one sentence to many others are distributed (paper 003, section 4.2.1, figure 1).

Every cosine is counted, in double precision, and none is kept, so ten million sentences take no more memory than a
thousand. No approximation is involved: the paper took its values from an index of faiss, whose rounding put some below
−1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BINS = 2_000
"""Equal bins of the cosine from −1 to 1, each 0.001 wide."""
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999)
"""Shares of the sentences for which a cosine is given."""
_LEAST_BANDWIDTH = 0.02
_LEAST_PROMINENCE = 0.02
_ROUNDING = 1e-9
"""The cosine of a sentence with itself is 1 up to this."""


@dataclass(frozen=True)
class Peak:
    """A place where the sentences crowd: a local maximum of the smoothed distribution.

    Attributes:
        height: Its height as a share of that of the highest peak.
    """

    cosine: float
    height: float


class SimilarityDistribution:
    """Counts cosines.

    Args:
        thresholds: Cosines for which it is counted how many sentences reach them.
        bins: How many equal bins from −1 to 1.

    Attributes:
        counts: Sentences in each bin (bins,), int64. A bin holds its lower end; the last one also holds 1.
        edges: The ends of the bins (bins + 1,).
        low: The least; infinity before the first.
        high: The greatest; minus infinity before the first.
    """

    def __init__(self, thresholds: Sequence[float] = (), bins: int = BINS) -> None:
        self.counts: NDArray[np.int64] = np.zeros(bins, np.int64)
        self.edges: NDArray[np.float64] = np.linspace(-1.0, 1.0, bins + 1)
        self.thresholds = tuple(thresholds)
        self.size = 0
        self.low, self.high = np.inf, -np.inf
        self._above = [0 for _ in self.thresholds]
        self._sum = self._squares = 0.0

    def add(self, cosines: NDArray[np.float64]) -> None:
        """Counts some more cosines (sentences,), from −1 to 1."""
        if not len(cosines):
            return
        bins = len(self.counts)
        # Where the division puts a value on an edge is a matter of rounding; the edges decide.
        places = np.clip(((cosines + 1.0) * (bins / 2.0)).astype(np.int64), 0, bins - 1)
        places -= cosines < self.edges[places]
        places += (cosines >= self.edges[places + 1]) & (places < bins - 1)
        self.counts += np.bincount(places, minlength=bins)
        self.size += len(cosines)
        self.low, self.high = min(self.low, float(cosines.min())), max(self.high, float(cosines.max()))
        self._sum += float(cosines.sum())
        self._squares += float(cosines @ cosines)
        for place, threshold in enumerate(self.thresholds):
            self._above[place] += int((cosines >= threshold - _ROUNDING).sum())

    @property
    def mean(self) -> float:
        """The mean cosine; NaN if there is none."""
        return self._sum / self.size if self.size else float("nan")

    @property
    def deviation(self) -> float:
        """The standard deviation over all sentences; NaN if there is none."""
        if not self.size:
            return float("nan")
        return float(np.sqrt(max(0.0, self._squares / self.size - self.mean**2)))

    @property
    def above(self) -> dict[float, int]:
        """For each threshold how many sentences reach it."""
        return dict(zip(self.thresholds, self._above, strict=True))

    def quantile(self, share: float) -> float:
        """Finds the cosine that a share of the sentences does not exceed, true to the width of a bin.

        Args:
            share: From 0 to 1.

        Returns:
            The cosine, interpolated within its bin; NaN if there is none.
        """
        if not self.size:
            return float("nan")
        cumulated = np.cumsum(self.counts)
        wanted = share * self.size
        place = int(np.searchsorted(cumulated, max(wanted, 1e-12), side="left"))
        place = min(place, int(np.flatnonzero(self.counts)[-1]))
        before = int(cumulated[place - 1]) if place else 0
        inside = min(1.0, max(0.0, (wanted - before) / int(self.counts[place])))
        value = self.edges[place] + inside * (self.edges[place + 1] - self.edges[place])
        return float(np.clip(value, self.low, self.high))

    def shares_above(self) -> NDArray[np.float64]:
        """Computes for the lower end of each bin the share of sentences at or above it (bins,)."""
        return self.counts[::-1].cumsum()[::-1] / max(1, self.size)

    def grouped(self, factor: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Joins each `factor` bins, a divisor of their number, to one.

        Returns:
            The edges (bins / factor + 1,) and the counts (bins / factor,).
        """
        return self.edges[::factor], self.counts.reshape(-1, factor).sum(axis=1)

    def peaks(self) -> list[Peak]:
        """Finds where the sentences crowd.

        The histogram is smoothed with a Gaussian whose width is Silverman's (1986, equation 3.28) but at least 0.02. A
        maximum counts if it rises by at least 2 % of the highest one above the valley that parts it from a higher one.

        Returns:
            The peaks from left to right; none without sentences.
        """
        from scipy.ndimage import gaussian_filter1d
        from scipy.signal import find_peaks

        if not self.size:
            return []
        width = self.edges[1] - self.edges[0]
        bandwidth = max(_LEAST_BANDWIDTH, 1.06 * self.deviation * self.size**-0.2)
        # A crowd at the very end of the scale is a peak as well.
        margin = int(np.ceil(4 * bandwidth / width))
        padded = np.pad(self.counts.astype(np.float64), margin)
        smooth = gaussian_filter1d(padded, bandwidth / width, mode="constant")
        highest = smooth.max()
        places, _ = find_peaks(smooth, prominence=_LEAST_PROMINENCE * highest)
        middles = np.clip((places - margin + 0.5) * width - 1.0, -1.0, 1.0)
        return [Peak(float(c), float(smooth[p] / highest)) for c, p in zip(middles, places, strict=True)]
