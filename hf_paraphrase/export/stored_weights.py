"""Matrices in fewer bits: half precision, or 8-bit integers with one scale a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError

WEIGHTS = ("float32", "float16", "int8")
"""The ways to store a matrix."""
_LARGEST_INT8 = 127


@dataclass(frozen=True)
class StoredMatrix:
    """A matrix as it is stored.

    Attributes:
        values: float32, float16 or int8 (rows, columns).
        scales: float32 (rows,) with which the rows of int8 values are multiplied; None for the others.
    """

    values: NDArray[Any]
    scales: NDArray[np.float32] | None = None

    def rounded(self) -> NDArray[np.float32]:
        """Computes the matrix (rows, columns) that a reader gets back."""
        values = self.values.astype(np.float32)
        return values if self.scales is None else values * self.scales[:, None]

    def block(self, place: int, size: int, *, negative: bool = False) -> StoredMatrix:
        """Takes `size` rows from `place * size` on, with the opposite sign if `negative` is set."""
        rows = slice(place * size, (place + 1) * size)
        values = self.values[rows]
        return StoredMatrix(-values if negative else values, None if self.scales is None else self.scales[rows])

    def like_zeros(self, rows: int) -> StoredMatrix:
        """Makes a matrix of zeros with as many columns, stored in the same way."""
        values = np.zeros((rows, self.values.shape[1]), self.values.dtype)
        return StoredMatrix(values, None if self.scales is None else np.ones(rows, np.float32))

    @staticmethod
    def below_one_another(parts: Sequence[StoredMatrix]) -> StoredMatrix:
        """Joins matrices that are stored in the same way and have equally many columns."""
        scales = [part.scales for part in parts if part.scales is not None]
        return StoredMatrix(
            np.concatenate([part.values for part in parts]), np.concatenate(scales) if scales else None
        )


@dataclass(frozen=True)
class StoredWeights:
    """All weights of a model by name.

    Attributes:
        matrices: Those with rows and columns, as they are stored.
        vectors: Biases (size,) and peepholes (gates, size), always float32: they are few.
    """

    matrices: dict[str, StoredMatrix]
    vectors: dict[str, NDArray[np.float32]]

    def rounded(self) -> dict[str, NDArray[np.float32]]:
        """Computes the weights that a reader gets back."""
        return {**{name: stored.rounded() for name, stored in self.matrices.items()}, **self.vectors}


def store_weights(values: Mapping[str, NDArray[Any]], weights: str) -> StoredWeights:
    """Stores all weights of a model.

    Args:
        values: The weights by name.
        weights: One of :data:`WEIGHTS`.

    Raises:
        ModelError: As :func:`store`.
    """
    matrices, vectors = {}, {}
    for name, value in values.items():
        if value.ndim == 2 and not name.endswith("peepholes"):
            matrices[name] = store(value, weights, name=name)
        else:
            vectors[name] = store(value.reshape(1, -1), "float32", name=name).values.reshape(value.shape)
    return StoredWeights(matrices, vectors)


def store(matrix: NDArray[Any], weights: str, *, name: str) -> StoredMatrix:
    """Stores a matrix.

    `float16` rounds each number to 11 significant bits. `int8` divides each row by its scale, which is its largest
    absolute value over 127, and rounds to whole numbers, so that no number is off by more than half a scale.

    Args:
        matrix: (rows, columns).
        weights: One of :data:`WEIGHTS`.
        name: What the matrix is called, for messages.

    Raises:
        ModelError: If a number is infinite or NaN, or too large for half precision.
    """
    matrix = np.ascontiguousarray(matrix, np.float32)
    largest = np.abs(matrix).max(axis=1, initial=0.0)
    if not np.isfinite(largest).all():
        raise ModelError(f"the weights `{name}` hold values that are not finite", remedy="train the model again")
    if weights == "float32":
        return StoredMatrix(matrix)
    if weights == "float16":
        limit = np.finfo(np.float16).max
        if largest.max(initial=0.0) > limit:
            raise ModelError(
                f"the weights `{name}` hold {largest.max():g}, and float16 ends at {limit:g}",
                remedy="use --weights float32 or int8",
            )
        return StoredMatrix(matrix.astype(np.float16))
    scales = np.where(largest == 0, 1.0, largest / _LARGEST_INT8).astype(np.float32)
    # A scale may be so small that it has become zero.
    scales = np.maximum(scales, np.finfo(np.float32).tiny)
    values = np.clip(np.rint(matrix / scales[:, None]), -_LARGEST_INT8, _LARGEST_INT8)
    return StoredMatrix(values.astype(np.int8), scales)
