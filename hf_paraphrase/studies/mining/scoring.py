"""The margin scores of candidate pairs, the choice among pairs that share a sentence, and precision and recall.

Margin scores are those of "Margin-based Parallel Corpus Mining with Multilingual Sentence Embeddings" (Artetxe and
Schwenk 2019, section 4.1). Some sentences are near to everything, so that a cosine means different things for
different sentences; with NN_k(x) the k nearest neighbours of x in the other language,

    score(x, y) = margin(cos(x, y), Σ_{z in NN_k(x)} cos(x, z) / 2k + Σ_{z in NN_k(y)} cos(y, z) / 2k).

Precision, recall and F1 are those of the shared task of BUCC 2017 (Zweigenbaum, Sharoff and Rapp 2017, section 4):
with the set G of gold pairs and the set S of pairs that a system gives, precision = |G ∩ S| / |S|, recall =
|G ∩ S| / |G|, and F1 is their harmonic mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MARGINS = ("ratio", "distance", "absolute")
"""margin(a, b): `ratio` a / b, `distance` a − b, `absolute` a."""
_LEAST_MEAN = 1e-6


def margin_scores(
    cosines: NDArray[np.float64],
    source_means: NDArray[np.float64],
    target_means: NDArray[np.float64],
    kind: str = "ratio",
) -> NDArray[np.float64]:
    """Computes the margin score of pairs (pairs,) from their cosines and the mean cosines of both neighbourhoods.

    A ratio against a mean that is not positive says nothing and is 0.
    """
    means = (source_means + target_means) / 2
    if kind == "ratio":
        return np.where(means > _LEAST_MEAN, cosines / np.maximum(means, _LEAST_MEAN), 0.0)
    return cosines - means if kind == "distance" else cosines


def by_score(source: NDArray[np.int64], target: NDArray[np.int64], scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Orders pairs (pairs,) by falling score, equal ones by rising source and target."""
    return np.lexsort((target, source, -scores))


def one_to_one_pairs(
    source: NDArray[np.int64], target: NDArray[np.int64], scores: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Takes pairs in the order of their scores, those whose sentences are both free.

    Leaving out pairs below a threshold before or after gives the same pairs.
    """
    taken = np.zeros(len(scores), bool)
    used_sources: set[int] = set()
    used_targets: set[int] = set()
    for place in by_score(source, target, scores):
        one, two = int(source[place]), int(target[place])
        if one not in used_sources and two not in used_targets:
            used_sources.add(one)
            used_targets.add(two)
            taken[place] = True
    return taken


def measures(found: int, right: int, gold: int) -> dict[str, Any]:
    """Computes precision, recall and F1 (0 to 1) of `found` pairs, of which so many are among the `gold` pairs."""
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

    At each of the `thresholds` (points,) so many pairs have at least that score, `found`, and so many of these are
    `right`; `gold` pairs there are, found or not.
    """

    thresholds: NDArray[np.float64]
    found: NDArray[np.int64]
    right: NDArray[np.int64]
    gold: int

    @classmethod
    def of(cls, scores: NDArray[np.float64], right: NDArray[np.bool_], gold: int) -> Curve:
        """Computes the curve of pairs with these scores (pairs,), of which these are gold (pairs,)."""
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
        """Returns the threshold of the greatest F1, the highest of equal ones.

        It is halfway between the lowest score that it lets through and the next below, so that on another collection
        it favours neither.
        """
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
        """Lists threshold and measures of about so many points, evenly spread over the recall, the best F1 among them.

        The first threshold that reaches a recall has the best precision there.
        """
        wanted = np.arange(len(self))
        if len(self) > most:
            corners = np.searchsorted(self.right, np.linspace(0, self.right[-1], most - 2))
            wanted = np.unique([0, *corners, int(np.argmax(self.f1)), len(self) - 1])
        return [{"threshold": float(self.thresholds[point]), **self._measures(point)} for point in wanted.tolist()]
