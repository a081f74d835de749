"""Matrices in fewer bits: half precision, or 8-bit integers with one scale a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.weights import StoredMatrix
from ..errors import ModelError

WEIGHTS = ("float32", "float16", "int8")
"""The ways to store a matrix."""
_LARGEST_INT8 = 127


def store_weights(values: Mapping[str, NDArray[Any]], weights: str) -> dict[str, StoredMatrix]:
    """Stores the weights of a model; biases and peepholes, which are few, stay float32."""
    return {
        name: store(value, weights if value.ndim == 2 and not name.endswith("peepholes") else "float32", name=name)
        for name, value in values.items()
    }


def store(matrix: NDArray[Any], weights: str, *, name: str) -> StoredMatrix:
    """Stores a matrix (rows, columns) in one of :data:`WEIGHTS`; messages call it `name`.

    `float16` rounds each number to 11 significant bits. `int8` divides each row by its scale, which is its largest
    absolute value over 127, and rounds to whole numbers, so that no number is off by more than half a scale.
    """
    matrix = np.ascontiguousarray(matrix, np.float32)
    if not np.isfinite(matrix).all():
        raise ModelError(f"the weights `{name}` have values that are not finite", remedy="train the model again")
    if weights == "float32":
        return StoredMatrix(matrix)
    largest = np.abs(matrix).max(axis=1, initial=0.0)
    if weights == "float16":
        if largest.max(initial=0.0) > (limit := np.finfo(np.float16).max):
            problem = f"the weights `{name}` have {largest.max():g}, and float16 ends at {limit:g}"
            raise ModelError(problem, remedy="use --weights float32 or int8")
        return StoredMatrix(matrix.astype(np.float16))
    scales = np.where(largest == 0, 1.0, largest / _LARGEST_INT8).astype(np.float32)
    # The quotient of a tiny number may be zero.
    scales = np.maximum(scales, np.finfo(np.float32).tiny)
    values = np.clip(np.rint(matrix / scales[:, None]), -_LARGEST_INT8, _LARGEST_INT8)
    return StoredMatrix(values.astype(np.int8), scales)


def cosines(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float64]:
    """Computes the cosines (rows,) between equal rows of two matrices (rows, dim); rows of zeros are left out."""
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    products = np.einsum("ij,ij->i", first.astype(np.float64), second.astype(np.float64))
    return np.minimum(products[norms > 0] / norms[norms > 0], 1.0)
