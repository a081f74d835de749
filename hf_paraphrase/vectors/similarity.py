"""Unit rows and cosines, in the precision that a comparison needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from .checks import check_finite, checked_vectors

_SMALL, _LARGE = 1e-15, 1e18
"""Between these norms all squares fit into single precision."""
_PAIRS_PER_BLOCK = 8192


def unit_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Divides each row (rows, dim) by its Euclidean norm, in single precision. Zero rows stay zero."""
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = (vectors / np.where(norms == 0, 1.0, norms)).astype(np.float32)
    # The squares of very large and very small numbers leave single precision.
    extreme = np.flatnonzero(~((norms > _SMALL) & (norms < _LARGE)))
    if len(extreme):
        rows = vectors[extreme].astype(np.float64)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        units[extreme] = rows / np.where(lengths == 0, 1.0, lengths)
    return units


def exact_unit_rows(vectors: NDArray[np.floating], name: str = "vectors", first: int = 0) -> NDArray[np.float64]:
    """Divides each row (rows, dim) by its Euclidean norm, in double precision. Zero rows stay zero.

    Rows with NaN or infinity are refused. The error calls the rows `name` and counts them from `first`.
    """
    exact = np.array(vectors, np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", exact, exact))
    check_finite(name, lengths[:, None], first, path=getattr(vectors, "filename", None))
    exact /= np.where(lengths == 0, 1.0, lengths)[:, None]
    return exact


def unit_row_cosines(first: NDArray[np.floating], second: NDArray[np.floating]) -> NDArray[np.float64]:
    """Computes the cosine of each pair of rows (pairs, dim) that have length 1 or 0, in double precision.

    A matrix product rounds differently for matrices of different sizes. Here a pair has the same cosine whatever other
    pairs are computed with it.
    """
    cosines = np.empty(len(first))
    for start in range(0, len(first), _PAIRS_PER_BLOCK):
        rows = slice(start, start + _PAIRS_PER_BLOCK)
        products = np.multiply(first[rows], second[rows], dtype=np.float64)
        cosines[rows] = np.ascontiguousarray(products).sum(axis=1)
    return np.clip(cosines, -1.0, 1.0)


def cosine_similarities(first: np.ndarray, second: np.ndarray) -> NDArray[np.float64]:
    """Computes the cosine of each pair of rows (pairs, dim) of any length, in double precision; 0 for a zero row."""
    count = len(first)
    first, second = (checked_vectors(side, count).astype(np.float64) for side in (first, second))
    if first.shape != second.shape:
        raise ModelError(f"the encoder gave arrays of different shapes, {first.shape} and {second.shape}")
    products = np.einsum("nd,nd->n", first, second)
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    return np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)


def float32_error(dimension: int) -> float:
    """Bounds the error of a product of unit vectors in single precision."""
    return 2.0**-22 * (dimension + 4)
