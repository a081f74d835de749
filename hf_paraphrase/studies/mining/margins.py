"""Margin scores: the cosine of a pair against those of the neighbourhoods of its two sentences.

"Margin-based Parallel Corpus Mining with Multilingual Sentence Embeddings" (Artetxe and Schwenk 2019, section 4.1).
Some sentences are near to everything, so that a cosine means different things for different sentences; with NN_k(x)
the k nearest neighbours of x in the other language,

    score(x, y) = margin(cos(x, y), Σ_{z in NN_k(x)} cos(x, z) / 2k + Σ_{z in NN_k(y)} cos(y, z) / 2k).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MARGINS = ("ratio", "distance", "absolute")
"""margin(a, b): `ratio` a / b, `distance` a − b, `absolute` a."""
_LEAST_MEAN = 1e-6


def neighbourhood_means(cosines: NDArray[np.float32], k: int) -> NDArray[np.float64]:
    """Computes the mean cosine of each sentence with its k nearest on the other side.

    Args:
        cosines: What :func:`~.candidates.best_candidates` gave (sentences, at least k, or as many as there are).
        k: The size of the neighbourhood.

    Returns:
        float64 (sentences,).

    Raises:
        ValueError: If k is not positive, or there are no neighbours.
    """
    if k < 1 or not cosines.shape[1]:
        raise ValueError(f"no mean of {min(k, cosines.shape[1])} neighbours")
    return cosines[:, :k].mean(axis=1, dtype=np.float64)


def margin_scores(
    cosines: NDArray[np.float32] | NDArray[np.float64],
    source_means: NDArray[np.float64],
    target_means: NDArray[np.float64],
    kind: str = "ratio",
) -> NDArray[np.float64]:
    """Computes the margin score of pairs.

    Args:
        cosines: The cosine of each pair (pairs,).
        source_means: The mean of the neighbourhood of its source sentence (pairs,).
        target_means: That of its target sentence (pairs,).
        kind: One of :data:`MARGINS`.

    Returns:
        float64 (pairs,); a ratio against a mean that is not positive says nothing and is 0.

    Raises:
        ValueError: If the kind is unknown.
    """
    values = np.asarray(cosines, np.float64)
    means = (source_means + target_means) / 2
    if kind == "ratio":
        return np.where(means > _LEAST_MEAN, values / np.maximum(means, _LEAST_MEAN), 0.0)
    if kind == "distance":
        return np.asarray(values - means, np.float64)
    if kind == "absolute":
        return values
    raise ValueError(f"the margin must be one of {', '.join(MARGINS)}, not {kind}")
