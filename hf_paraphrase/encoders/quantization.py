"""Embeddings in fewer bits: a byte, or a bit, for each component.

Names and results are those of sentence-transformers (`sentence_transformers.quantization`), so that an index made of
the one takes the vectors of the other.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import UsageError, choice_of

Precision = Literal["float32", "int8", "uint8", "binary", "ubinary"]
PRECISIONS = get_args(Precision)


def quantize_embeddings(
    embeddings: ArrayLike,
    precision: Precision,
    ranges: NDArray[np.floating] | None = None,
    calibration_embeddings: ArrayLike | None = None,
) -> NDArray[Any]:
    """Puts embeddings into fewer bits.

    `int8` and `uint8` number, for each component, 256 steps of equal width between its least and its greatest value.
    `binary` and `ubinary` keep the sign alone, eight components in a byte.

    Args:
        embeddings: Floats (texts, dim).
        precision: `float32`, `int8`, `uint8`, `binary` or `ubinary`.
        ranges: The least and the greatest value of each component (2, dim), for `int8` and `uint8`.
        calibration_embeddings: Embeddings from which to take these; by default the ones to be put into fewer bits,
            which fits no other ones.

    Returns:
        float32, int8 or uint8 (texts, dim); for the binary ones int8 or uint8 (texts, ⌈dim / 8⌉).

    Raises:
        UsageError: If the precision is unknown, or ranges would have to be those of a single embedding.
    """
    check_precision(precision)
    vectors = np.asarray(embeddings)
    if precision == "float32":
        return vectors.astype(np.float32)
    if precision in ("binary", "ubinary"):
        packed = np.packbits(vectors > 0, axis=-1)
        return (packed.astype(np.int16) - 128).astype(np.int8) if precision == "binary" else packed
    if not len(vectors):
        return np.zeros(vectors.shape, precision)
    if ranges is None:
        calibration = vectors if calibration_embeddings is None else np.asarray(calibration_embeddings)
        if calibration.ndim != 2 or (calibration_embeddings is None and len(calibration) < 2):
            raise UsageError(
                f"the ranges of {precision} cannot be taken from a single embedding",
                remedy="embed several texts, or call quantize_embeddings with calibration_embeddings",
            )
        ranges = np.stack([calibration.min(axis=0), calibration.max(axis=0)])
    least, greatest = np.asarray(ranges, np.float32)
    steps = (greatest - least) / np.float32(255)
    numbers = np.clip(np.floor((vectors - least) / np.where(steps == 0, 1, steps)), 0, 255)
    return numbers.astype(np.uint8) if precision == "uint8" else (numbers - 128).astype(np.int8)


def check_precision(precision: str) -> None:
    """Refuses an unknown precision."""
    if precision not in PRECISIONS:
        raise UsageError(f"precision `{precision}` is unknown", remedy=choice_of(precision, PRECISIONS))
