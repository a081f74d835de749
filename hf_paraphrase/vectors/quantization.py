"""Embeddings in fewer bits, a byte or a bit per component.

Names and results agree with sentence-transformers, so that an index of one library accepts vectors of the other.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import UsageError, choice_of
from .checks import check_finite

Precision = Literal["float32", "int8", "uint8", "binary", "ubinary"]
PRECISIONS = get_args(Precision)


def quantize_embeddings(
    embeddings: ArrayLike,
    precision: Precision,
    ranges: NDArray[np.floating] | None = None,
    calibration_embeddings: ArrayLike | None = None,
) -> NDArray[Any]:
    """Stores embeddings in fewer bits.

    `int8` and `uint8` number 256 steps of equal width between the minimum and the maximum of each component. `binary`
    and `ubinary` keep the sign only, eight components per byte.

    Args:
        embeddings: Vectors (texts, dim).
        precision: `float32`, `int8`, `uint8`, `binary` or `ubinary`.
        ranges: Minimum and maximum of each component (2, dim), for `int8` and `uint8`.
        calibration_embeddings: Vectors from which the ranges are computed; by default the embeddings themselves.

    Returns:
        float32, int8 or uint8 (texts, dim); for `binary` and `ubinary` int8 or uint8 (texts, ⌈dim / 8⌉).

    Raises:
        InputError: A value is NaN or infinite.
        UsageError: The precision is unknown, or there is one embedding and nothing to compute the ranges from.
    """
    check_precision(precision)
    vectors = np.asarray(embeddings)
    check_finite("embeddings", vectors)
    if precision == "float32":
        return vectors.astype(np.float32)
    if precision in ("binary", "ubinary"):
        packed = np.packbits(vectors > 0, axis=-1)
        return (packed.astype(np.int16) - 128).astype(np.int8) if precision == "binary" else packed
    if not len(vectors):
        return np.zeros(vectors.shape, precision)
    if ranges is None:
        calibration = vectors if calibration_embeddings is None else np.asarray(calibration_embeddings)
        check_finite("calibration_embeddings", calibration)
        if calibration.ndim != 2 or (calibration_embeddings is None and len(calibration) < 2):
            what = f"the ranges of {precision} cannot be computed from a single embedding"
            remedy = "embed several texts, or call quantize_embeddings with calibration_embeddings"
            raise UsageError(what, remedy=remedy)
        ranges = np.stack([calibration.min(axis=0), calibration.max(axis=0)])
    check_finite("ranges", np.asarray(ranges))
    least, greatest = np.asarray(ranges, np.float32)
    steps = (greatest - least) / np.float32(255)
    numbers = np.clip(np.floor((vectors - least) / np.where(steps == 0, 1, steps)), 0, 255)
    return numbers.astype(np.uint8) if precision == "uint8" else (numbers - 128).astype(np.int8)


def check_precision(precision: str) -> None:
    """Refuses an unknown precision."""
    if precision not in PRECISIONS:
        raise UsageError(f"precision `{precision}` is unknown", remedy=choice_of(precision, PRECISIONS))
