"""Margin scores of candidate pairs, one-to-one matching, and precision and recall against known pairs.

The margin scores follow "Margin-based Parallel Corpus Mining with Multilingual Sentence Embeddings" (Artetxe and
Schwenk 2019, section 4.1). Some sentences are similar to all others, so that cosines of different sentences are not
comparable. With NN_k(x) the k nearest neighbours of x in the other language, each text once,

    score(x, y) = margin(cos(x, y), Σ_{z in NN_k(x)} cos(x, z) / 2k + Σ_{z in NN_k(y)} cos(y, z) / 2k).

The measures follow the shared task of BUCC 2017 (Zweigenbaum, Sharoff and Rapp 2017, section 4). With G the set of
gold pairs and S the set of mined pairs, precision = |G ∩ S| / |S|, recall = |G ∩ S| / |G|, and F1 is their harmonic
mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MARGINS = ("ratio", "distance", "absolute")
"""margin(a, b): `ratio` a / b, `distance` a − b, `absolute` a."""
THRESHOLDS = {"ratio": 1.15, "distance": 0.08, "absolute": 0.6}
"""Default minimum scores of the built-in multilingual encoder, near the best F1 on Tatoeba if a third of the sentences
of each language have a translation. Rarer translations need a higher threshold, other texts and encoders their own."""
MIN_MEAN = 0.3
"""The ratio divides by at least this number; a smaller mean would give unrelated sentences a high ratio."""
_LEAST_MEAN = 1e-6


def compute_margins(
    cosines: NDArray[np.float64],
    source_means: NDArray[np.float64],
    target_means: NDArray[np.float64],
    kind: str = "ratio",
    *,
    min_mean: float | None = None,
) -> NDArray[np.float64]:
    """Compute the margin score of pairs (pairs,) from their cosines and the mean cosines of both neighbourhoods.

    With `min_mean`, a ratio divides by at least this number; without it, a ratio is 0 where the mean is not positive.
    """
    means = (source_means + target_means) / 2
    if kind == "ratio" and min_mean is not None:
        return np.asarray(cosines / np.maximum(means, min_mean))
    if kind == "ratio":
        return np.where(means > _LEAST_MEAN, cosines / np.maximum(means, _LEAST_MEAN), 0.0)
    return cosines - means if kind == "distance" else cosines


def order_by_score(
    source: NDArray[np.int64], target: NDArray[np.int64], scores: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Order pairs (pairs,) by descending score, and then by ascending source and target."""
    return np.lexsort((target, source, -scores))


def match_one_to_one(
    source: NDArray[np.int64], target: NDArray[np.int64], scores: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Select pairs by descending score, so that no sentence occurs twice.

    Applying a threshold before or after the selection gives the same pairs.
    """
    selected = np.zeros(len(scores), bool)
    used_sources: set[int] = set()
    used_targets: set[int] = set()
    for pair in order_by_score(source, target, scores):
        source_row, target_row = int(source[pair]), int(target[pair])
        if source_row not in used_sources and target_row not in used_targets:
            used_sources.add(source_row)
            used_targets.add(target_row)
            selected[pair] = True
    return selected


def compute_measures(found: int, right: int, gold: int) -> dict[str, Any]:
    """Compute precision, recall and F1 (0 to 1) from the numbers of mined, correct and gold pairs."""
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
    """Precision and recall at each distinct score as the threshold, the highest first.

    `found` are the numbers of pairs that reach the `thresholds` (points,), `right` the numbers of gold pairs among
    them, and `gold` is the number of all gold pairs.
    """

    thresholds: NDArray[np.float64]
    found: NDArray[np.int64]
    right: NDArray[np.int64]
    gold: int

    @classmethod
    def of(cls, scores: NDArray[np.float64], right: NDArray[np.bool_], gold: int) -> Curve:
        """Compute the curve from the scores of pairs (pairs,) and whether each is gold (pairs,)."""
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
        """Return the highest threshold with the best F1, halfway to the next lower score."""
        if not len(self):
            raise ValueError("cannot choose a threshold without pairs")
        best = int(np.argmax(self.f1))
        lower = self.thresholds[best + 1] if best + 1 < len(self) else self.thresholds[best]
        return float((self.thresholds[best] + lower) / 2)

    def best(self) -> dict[str, Any]:
        """Return the measures at the threshold with the best F1; without pairs all are 0."""
        return self._measures(int(np.argmax(self.f1)) if len(self) else -1)

    def at(self, threshold: float = -np.inf) -> dict[str, Any]:
        """Return the measures of the pairs whose score reaches a threshold."""
        return self._measures(int(np.searchsorted(-self.thresholds, -threshold, side="right")) - 1)

    def _measures(self, point: int) -> dict[str, Any]:
        return compute_measures(*(0, 0) if point < 0 else (int(self.found[point]), int(self.right[point])), self.gold)

    def points(self, most: int = 1000) -> list[dict[str, Any]]:
        """List threshold and measures of about `most` points, evenly spaced by recall, the best F1 included.

        The first threshold that reaches a recall has the best precision there.
        """
        wanted = np.arange(len(self))
        if len(self) > most:
            corners = np.searchsorted(self.right, np.linspace(0, self.right[-1], most - 2))
            wanted = np.unique([0, *corners, int(np.argmax(self.f1)), len(self) - 1])
        return [{"threshold": float(self.thresholds[point]), **self._measures(point)} for point in wanted.tolist()]
