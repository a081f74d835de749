"""Spherical k-means (Dhillon and Modha 2001): unit vectors around which those of a corpus are gathered into lists."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .vector_file import cosine_of_rows

_ROUNDS = 10
_ROWS_PER_BLOCK = 8192
_SHIFT = 1 / 1024
_ROUNDING = 1e-5
"""More than the rounding of a float32 product of unit vectors."""
_MOST_TIES = 16


def train_centroids(sample: NDArray[np.float32], count: int, seed: int = 0) -> NDArray[np.float32]:
    """Trains centroids of the greatest cosine to the vectors that are nearest to them.

    The rounds begin with vectors of the sample. A centroid that is nearest to none is put beside the one that is
    nearest to most, so that both share its vectors in the next round.

    Args:
        sample: Unit vectors (sample, dim), at least one.
        count: How many centroids.
        seed: Seed of the first ones.

    Returns:
        Unit vectors (count, dim).
    """
    # Where the sample is smaller, its vectors come several times.
    order = np.resize(np.random.default_rng(seed).permutation(len(sample)), count)
    centroids = _shifted(sample[order], np.arange(count) >= len(sample))
    for _ in range(_ROUNDS):
        nearest = nearest_centroids(sample, centroids)
        sizes = np.bincount(nearest, minlength=count)
        filled = np.flatnonzero(sizes)
        ordered = sample[np.argsort(nearest, kind="stable")]
        # Sums of unit vectors point where their means do.
        centroids[filled] = np.add.reduceat(ordered, (np.cumsum(sizes) - sizes)[filled], axis=0)
        for empty in np.flatnonzero(sizes == 0).tolist():
            largest = int(sizes.argmax())
            centroids[empty] = _shifted(centroids[largest : largest + 1], np.array([True]))
            sizes[empty] = sizes[largest] // 2
            sizes[largest] -= sizes[empty]
        norms = np.linalg.norm(centroids, axis=1, keepdims=True)
        centroids /= np.where(norms == 0, 1, norms)
    return centroids


def nearest_centroids(vectors: NDArray[np.float32], centroids: NDArray[np.float32]) -> NDArray[np.int64]:
    """Finds for each vector (rows, dim) the centroid (centroids, dim) of the greatest cosine: (rows,).

    A matrix product rounds by its sizes and by the number of threads. Where that could decide, the cosines are
    computed again in double precision, so that an index is the same however it was built.
    """
    nearest = np.empty(len(vectors), np.int64)
    for first in range(0, len(vectors), _ROWS_PER_BLOCK):
        block = vectors[first : first + _ROWS_PER_BLOCK]
        products = block @ centroids.T
        near = products >= products.max(axis=1, keepdims=True) - _ROUNDING
        best = near.argmax(axis=1)
        # Zero vectors are as near to one as to any other.
        for row in np.flatnonzero((np.count_nonzero(near, axis=1) > 1) & block.any(axis=1)).tolist():
            candidates = np.flatnonzero(near[row])[:_MOST_TIES]
            own = np.broadcast_to(block[row], (len(candidates), block.shape[1]))
            best[row] = candidates[cosine_of_rows(own, centroids[candidates]).argmax()]
        nearest[first : first + len(block)] = best
    return nearest


def _shifted(vectors: NDArray[np.float32], chosen: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Moves the chosen ones of some vectors (rows, dim) a little, so that they are not equal to others."""
    shift = np.where(np.arange(vectors.shape[1]) % 2, 1 + _SHIFT, 1 - _SHIFT).astype(np.float32)
    return np.where(chosen[:, None], vectors * shift, vectors)
