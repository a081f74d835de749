"""Precision, recall and F1 of mined pairs against known pairs.

They are those of the shared task of BUCC 2017 (Zweigenbaum, Sharoff and Rapp 2017, section 4): with the set G of gold
pairs and the set S of pairs that a system gives, precision = |G ∩ S| / |S|, recall = |G ∩ S| / |G|, and F1 is their
harmonic mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


def measures(found: int, right: int, gold: int) -> dict[str, Any]:
    """Computes precision, recall and F1 (0 to 1) from the numbers of found, right and gold pairs."""
    return {
        "found": found,
        "right": right,
        "gold": gold,
        "precision": right / found if found else 0.0,
        "recall": right / gold if gold else 0.0,
        "f1": 2 * right / (found + gold) if found + gold else 0.0,
    }


@dataclass(frozen=True)
class Curve:
    """Precision and recall at every threshold that makes a difference, the highest first.

    `found` counts the pairs with at least each of the `thresholds` (points,), `right` the gold pairs among them, and
    `gold` is the number of all gold pairs.
    """

    thresholds: NDArray[np.float64]
    found: NDArray[np.int64]
    right: NDArray[np.int64]
    gold: int

    @classmethod
    def of(cls, scores: NDArray[np.float64], right: NDArray[np.bool_], gold: int) -> Curve:
        """Computes the curve from the scores of pairs (pairs,) and whether each is gold (pairs,)."""
        order = np.argsort(-scores, kind="stable")
        values = scores[order]
        # Pairs of equal score pass a threshold together.
        last = np.flatnonzero(np.append(values[1:] != values[:-1], True)) if len(values) else np.empty(0, np.int64)
        return cls(values[last], last + 1, np.cumsum(right[order])[last].astype(np.int64), gold)

    def __len__(self) -> int:
        return len(self.thresholds)

    @property
    def f1(self) -> NDArray[np.float64]:
        """F1 at each threshold (points,)."""
        return 2 * self.right / np.maximum(self.found + self.gold, 1)

    def best_threshold(self) -> float:
        """Returns the threshold of the greatest F1, the highest of equal ones: halfway to the next score below."""
        if not len(self):
            raise ValueError("there are no pairs to choose a threshold on")
        best = int(np.argmax(self.f1))
        lower = self.thresholds[best + 1] if best + 1 < len(self) else self.thresholds[best]
        return float((self.thresholds[best] + lower) / 2)

    def best(self) -> dict[str, Any]:
        """Returns the measures at the threshold of the greatest F1; those of no pairs if there are none."""
        return self._measures(int(np.argmax(self.f1)) if len(self) else -1)

    def at(self, threshold: float = -np.inf) -> dict[str, Any]:
        """Returns the measures of the pairs with at least a score."""
        return self._measures(int(np.searchsorted(-self.thresholds, -threshold, side="right")) - 1)

    def _measures(self, point: int) -> dict[str, Any]:
        return measures(*(0, 0) if point < 0 else (int(self.found[point]), int(self.right[point])), self.gold)

    def points(self, most: int = 1000) -> list[dict[str, Any]]:
        """Lists threshold and measures of about `most` points, evenly spread over the recall, with the best F1.

        The first threshold that reaches a recall has the best precision there.
        """
        wanted = np.arange(len(self))
        if len(self) > most:
            corners = np.searchsorted(self.right, np.linspace(0, self.right[-1], most - 2))
            wanted = np.unique([0, *corners, int(np.argmax(self.f1)), len(self) - 1])
        return [{"threshold": float(self.thresholds[point]), **self._measures(point)} for point in wanted.tolist()]
