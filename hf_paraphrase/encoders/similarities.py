"""The similarity functions of sentence-transformers, in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..vectors.checks import check_finite

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Similarity:
    """A similarity function: `blocks` compares all rows with all rows, `pairs` rows at the same position."""

    blocks: Callable[[Vectors, Vectors], Vectors]
    pairs: Callable[[Vectors, Vectors], Vectors]


def _distances(order: int) -> Similarity:
    """Return the negative distance, in the Manhattan (1) or Euclidean (2) norm."""

    def pairs(first: Vectors, second: Vectors) -> Vectors:
        return -np.linalg.norm(first - second, ord=order, axis=1).astype(np.float32)

    def blocks(first: Vectors, second: Vectors) -> Vectors:
        rows = [-np.linalg.norm(second - row, ord=order, axis=1) for row in first]
        return np.array(rows, np.float32).reshape(len(first), len(second))

    return Similarity(blocks, pairs)


_DOT = Similarity(lambda first, second: first @ second.T, lambda first, second: np.einsum("ij,ij->i", first, second))
SIMILARITIES = {"cosine": _DOT, "dot": _DOT, "euclidean": _distances(2), "manhattan": _distances(1)}
"""The functions by name; the cosine is the dot product of unit rows."""


def to_vectors(side: Any) -> Vectors | None:
    """Return embeddings as float32 (texts, dim); None for texts."""
    if isinstance(side, list) and side and hasattr(side[0], "shape"):
        side = np.stack([np.asarray(_to_array(row)) for row in side])
    if isinstance(side, str) or not hasattr(side, "__array__") or hasattr(side, "columns"):
        return None
    array = _to_array(side)
    if array.dtype.kind != "f":
        return None
    if array.ndim not in (1, 2):
        raise ValueError(f"embeddings must have the shape (texts, dim) or (dim,), not {array.shape}")
    check_finite("embeddings", np.atleast_2d(array))
    return np.atleast_2d(array).astype(np.float32, copy=False)


def _to_array(values: Any) -> NDArray[Any]:
    # NumPy reads neither bfloat16 nor tensors with gradients.
    return values.detach().float().cpu().numpy() if hasattr(values, "detach") else np.asarray(values)
