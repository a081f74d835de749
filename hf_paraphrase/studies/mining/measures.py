"""Precision, recall and F1 of mined pairs against the gold, and the threshold that is best for F1.

As the shared task of BUCC 2017 defines them (Zweigenbaum, Sharoff and Rapp 2017, section 4): with the set G of gold
pairs and the set S of pairs that a system gives, precision = |G ∩ S| / |S|, recall = |G ∩ S| / |G|, and F1 is their
harmonic mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Measures:
    """How good some pairs are.

    Attributes:
        right: How many of them are gold, |G ∩ S|.
        gold: How many gold pairs there are, |G|.
    """

    found: int
    right: int
    gold: int

    @property
    def precision(self) -> float:
        """The share of the given pairs that are gold; 0 if none was given."""
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """The share of the gold pairs that were given; 0 if there are none."""
        return self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both: 2 |G ∩ S| / (|S| + |G|)."""
        return 2 * self.right / (self.found + self.gold) if self.found + self.gold else 0.0

    def as_dict(self) -> dict[str, float | int]:
        """Returns counts and measures (0 to 1) as JSON values."""
        return {
            "found": self.found,
            "right": self.right,
            "gold": self.gold,
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
        }


def are_gold(
    source: NDArray[np.int64], target: NDArray[np.int64], gold: NDArray[np.int64], targets: int
) -> NDArray[np.bool_]:
    """Returns which pairs (pairs,) are among the gold pairs (gold, 2), of a target side of so many sentences."""
    width = max(targets, 1)
    return np.isin(source * width + target, gold[:, 0] * width + gold[:, 1])


@dataclass(frozen=True)
class Curve:
    """Precision and recall at every threshold that makes a difference, the highest first.

    Attributes:
        thresholds: The scores (points,), falling; a point is about the pairs with at least this score.
        found: How many pairs those are (points,).
        right: How many of them are gold (points,).
    """

    thresholds: NDArray[np.float64]
    found: NDArray[np.int64]
    right: NDArray[np.int64]
    gold: int

    @classmethod
    def of(cls, scores: NDArray[np.float64], right: NDArray[np.bool_], gold: int) -> Curve:
        """Computes the curve of some pairs.

        Args:
            scores: The score of each (pairs,).
            right: Whether it is gold (pairs,).
            gold: How many gold pairs there are, found or not.
        """
        order = np.argsort(-scores, kind="stable")
        values = scores[order]
        # Pairs of equal score pass a threshold together.
        last = np.flatnonzero(np.append(values[1:] != values[:-1], True)) if len(values) else np.empty(0, np.int64)
        return cls(values[last], last + 1, np.cumsum(right[order])[last].astype(np.int64), gold)

    def __len__(self) -> int:
        return len(self.thresholds)

    @property
    def precision(self) -> NDArray[np.float64]:
        """The precision at each threshold (points,)."""
        return self.right / np.maximum(self.found, 1)

    @property
    def recall(self) -> NDArray[np.float64]:
        """The recall at each threshold (points,)."""
        return self.right / max(self.gold, 1)

    @property
    def f1(self) -> NDArray[np.float64]:
        """F1 at each threshold (points,)."""
        return 2 * self.right / np.maximum(self.found + self.gold, 1)

    def best_threshold(self) -> float:
        """Returns the threshold of the greatest F1, the highest of equal ones.

        It is halfway between the lowest score that it lets through and the next below, so that on another collection
        it favours neither.
        """
        if not len(self):
            raise ValueError("there are no pairs to choose a threshold on")
        best = int(np.argmax(self.f1))
        lower = self.thresholds[best + 1] if best + 1 < len(self) else self.thresholds[best]
        return float((self.thresholds[best] + lower) / 2)

    def best(self) -> Measures:
        """Returns the measures at the threshold of the greatest F1; those of no pairs if there are none."""
        if not len(self):
            return Measures(0, 0, self.gold)
        best = int(np.argmax(self.f1))
        return Measures(int(self.found[best]), int(self.right[best]), self.gold)

    def at(self, threshold: float) -> Measures:
        """Returns the measures of the pairs with at least a score."""
        number = int(np.searchsorted(-self.thresholds, -threshold, side="right"))
        if number == 0:
            return Measures(0, 0, self.gold)
        return Measures(int(self.found[number - 1]), int(self.right[number - 1]), self.gold)

    def thinned(self, points: int = 1000) -> Curve:
        """Returns a curve of about so many points, evenly spread over the recall, ends and best F1 among them."""
        if len(self) <= points:
            return self
        # The first threshold that reaches a recall has the best precision there.
        corners = np.searchsorted(self.right, np.linspace(0, self.right[-1], points - 2))
        wanted = np.unique([0, *corners, int(np.argmax(self.f1)), len(self) - 1])
        return Curve(self.thresholds[wanted], self.found[wanted], self.right[wanted], self.gold)
