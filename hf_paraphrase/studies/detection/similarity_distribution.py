"""How the similarities of one sentence to many others are distributed (paper 003, section 4.2.1, figure 1).

Every cosine is counted, in double precision, and none is kept, so ten million sentences take no more memory than a
thousand. No approximation is involved: the paper took its values from an index of faiss, whose rounding put some below
−1. Sentences drawn at random from each range show what is in a bump of the distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

BINS = 2_000
"""Equal bins of the cosine from −1 to 1, each 0.001 wide."""
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999)
"""Shares of the sentences for which a cosine is given."""
BANDS = 20
"""Equal ranges of the cosine from −1 to 1 of which sentences are drawn, each 0.1 wide."""
_LEAST_BANDWIDTH = 0.02
_LEAST_PROMINENCE = 0.02
_ROUNDING = 1e-9
"""The cosine of a sentence with itself is 1 up to this."""


class SimilarityDistribution:
    """Counts cosines.

    Args:
        thresholds: Cosines for which it is counted how many sentences reach them.

    Attributes:
        counts: Sentences in each bin (bins,). A bin includes its lower end; the last one also includes 1.
        edges: The ends of the bins (bins + 1,).
        above: For each threshold how many sentences reach it.
    """

    def __init__(self, thresholds: Sequence[float] = ()) -> None:
        self.counts, self.edges = np.histogram([], BINS, (-1.0, 1.0))
        self.above = dict.fromkeys(thresholds, 0)
        self.low, self.high = np.inf, -np.inf
        self._sum = self._squares = 0.0

    @property
    def size(self) -> int:
        """How many cosines were counted."""
        return int(self.counts.sum())

    def add(self, cosines: NDArray[np.float64]) -> None:
        """Counts some more cosines (sentences,), from −1 to 1."""
        if not len(cosines):
            return
        self.counts += np.histogram(cosines, BINS, (-1.0, 1.0))[0]
        self.low, self.high = min(self.low, float(cosines.min())), max(self.high, float(cosines.max()))
        self._sum += float(cosines.sum())
        self._squares += float(cosines @ cosines)
        for threshold in self.above:
            self.above[threshold] += int((cosines >= threshold - _ROUNDING).sum())

    @property
    def mean(self) -> float:
        """The mean cosine."""
        return self._sum / self.size

    @property
    def deviation(self) -> float:
        """The standard deviation over all sentences."""
        return float(np.sqrt(max(0.0, self._squares / self.size - self.mean**2)))

    def quantile(self, share: float) -> float:
        """Returns the cosine that a share of the sentences does not exceed, interpolated within its bin."""
        cumulated = np.concatenate([[0], np.cumsum(self.counts)])
        place = int(np.searchsorted(cumulated[1:], max(share * self.size, 1e-12)))
        place = min(place, int(np.flatnonzero(self.counts)[-1]))
        inside = np.clip((share * self.size - cumulated[place]) / self.counts[place], 0.0, 1.0)
        value = self.edges[place] + inside * (self.edges[place + 1] - self.edges[place])
        return float(np.clip(value, self.low, self.high))

    def grouped(self, bars: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Joins bins to a number of bars that divides theirs; returns edges (bars + 1,) and counts (bars,)."""
        return self.edges[:: BINS // bars], self.counts.reshape(bars, -1).sum(axis=1)

    def peaks(self) -> list[dict[str, float]]:
        """Finds the local maxima of the smoothed distribution: `cosine`, and `height` as a share of the highest.

        The Gaussian has Silverman's width (1986, equation 3.28) but at least 0.02. A maximum counts if it rises by at
        least 2 % of the highest one above the valley that separates it from a higher one.
        """
        from scipy.ndimage import gaussian_filter1d
        from scipy.signal import find_peaks

        width = 2.0 / BINS
        bandwidth = max(_LEAST_BANDWIDTH, 1.06 * self.deviation * self.size**-0.2)
        # A crowd at the very end of the scale is a peak as well.
        margin = int(np.ceil(4 * bandwidth / width))
        smooth = gaussian_filter1d(np.pad(self.counts.astype(np.float64), margin), bandwidth / width, mode="constant")
        places, _ = find_peaks(smooth, prominence=_LEAST_PROMINENCE * smooth.max())
        middles = np.clip((places - margin + 0.5) * width - 1.0, -1.0, 1.0)
        heights = smooth[places] / smooth.max()
        return [
            {"cosine": float(middle), "height": float(height)} for middle, height in zip(middles, heights, strict=True)
        ]

    def record(self) -> dict[str, Any]:
        """Returns the numbers for JSON."""
        return {
            "sentences": self.size,
            "mean": self.mean,
            "standard_deviation": self.deviation,
            "least": self.low,
            "greatest": self.high,
            "quantiles": {f"{share:g}": self.quantile(share) for share in QUANTILES},
            "at_or_above": {f"{threshold:g}": count for threshold, count in self.above.items()},
            "peaks": self.peaks(),
        }


class BandSample:
    """Draws some different sentences of each range of the cosine to one query, in one pass.

    Every sentence has a random number, and those of the least numbers are kept.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._drawn: list[dict[str, float]] = [{} for _ in range(BANDS)]
        self._worst = np.full(BANDS, 1.0)

    def add(self, cosines: NDArray[np.float64], texts: Sequence[str], numbers: NDArray[np.float64]) -> None:
        """Takes in the next sentences with their random numbers (sentences,), from 0 to 1."""
        bands = np.clip(((cosines + 1.0) * (BANDS / 2.0)).astype(np.int64), 0, BANDS - 1)
        for place in np.flatnonzero(numbers < self._worst[bands]).tolist():
            band, drawn = bands[place], self._drawn[bands[place]]
            drawn.setdefault(texts[place], numbers[place])
            if len(drawn) > self.count:
                del drawn[max(drawn, key=lambda text: drawn[text])]
            if len(drawn) == self.count:
                self._worst[band] = max(drawn.values())

    @property
    def sentences(self) -> list[list[str]]:
        """The sentences of each range, from that at −1 to that at 1, in random order."""
        return [sorted(drawn, key=lambda text: drawn[text]) for drawn in self._drawn]
