"""Margin scores of candidate pairs, and a matching in which no sentence occurs twice.

Margin scores are those of "Margin-based Parallel Corpus Mining with Multilingual Sentence Embeddings" (Artetxe and
Schwenk 2019, section 4.1). Some sentences are near to everything, so that a cosine means different things for
different sentences; with NN_k(x) the k nearest neighbours of x in the other language,

    score(x, y) = margin(cos(x, y), Σ_{z in NN_k(x)} cos(x, z) / 2k + Σ_{z in NN_k(y)} cos(y, z) / 2k).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MARGINS = ("ratio", "distance", "absolute")
"""margin(a, b): `ratio` a / b, `distance` a − b, `absolute` a."""
THRESHOLDS = {"ratio": 1.2, "distance": 0.1, "absolute": 0.7}
"""Minimum scores by default: near the best F1 of the built-in multilingual encoder where a tenth to a third of short
sentences have a translation. News, and other encoders, need others."""
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
