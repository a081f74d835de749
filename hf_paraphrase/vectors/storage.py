"""Quantized embeddings, with a byte or a bit per component, and matrices of vectors in .npy files.

Names and results of quantization agree with sentence-transformers, so that an index of one library accepts vectors of
the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..artefacts.files import atomic_write, open_array
from ..errors import InputError, UsageError, choice_of
from .similarity import check_finite

Precision = Literal["float32", "int8", "uint8", "binary", "ubinary"]
PRECISIONS = get_args(Precision)


def quantize_embeddings(
    embeddings: ArrayLike,
    precision: Precision,
    ranges: NDArray[np.floating] | None = None,
    calibration_embeddings: ArrayLike | None = None,
) -> NDArray[Any]:
    """Quantize embeddings to a byte or a bit per component.

    `int8` and `uint8` number 256 steps of equal width between the minimum and the maximum of each component. `binary`
    and `ubinary` store only the sign, eight components per byte.

    Args:
        embeddings: Vectors (texts, dim).
        precision: `float32`, `int8`, `uint8`, `binary` or `ubinary`.
        ranges: Minimum and maximum of each component (2, dim), for `int8` and `uint8`.
        calibration_embeddings: Vectors for computing the ranges; by default the embeddings themselves.

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
    minimum, maximum = np.asarray(ranges, np.float32)
    steps = (maximum - minimum) / np.float32(255)
    numbers = np.clip(np.floor((vectors - minimum) / np.where(steps == 0, 1, steps)), 0, 255)
    return numbers.astype(np.uint8) if precision == "uint8" else (numbers - 128).astype(np.int8)


def check_precision(precision: str) -> None:
    """Refuse an unknown precision."""
    if precision not in PRECISIONS:
        raise UsageError(f"precision `{precision}` is unknown", remedy=choice_of(precision, PRECISIONS))


@dataclass
class NpyWriter:
    """Appends rows to a float32 matrix; see :func:`npy_writer`."""

    stream: IO[bytes]
    dimension: int
    rows: int = 0

    def write(self, vectors: NDArray[np.float32]) -> None:
        """Append rows (rows, dimension)."""
        self.stream.write(np.ascontiguousarray(vectors, np.float32).tobytes())
        self.rows += len(vectors)

    def write_header(self) -> None:
        """Write the current shape; the header has padding for a larger number of rows."""
        header = {"descr": "<f4", "fortran_order": False, "shape": (self.rows, self.dimension)}
        self.stream.seek(0)
        np.lib.format.write_array_header_1_0(self.stream, header)


@contextmanager
def npy_writer(path: Path, dimension: int) -> Iterator[NpyWriter]:
    """Open the writer of a .npy file that appears only when it is complete."""
    with atomic_write(path) as temporary, temporary.open("wb") as stream:
        writer = NpyWriter(stream, dimension)
        writer.write_header()
        yield writer
        writer.write_header()


def open_vectors(path: Path) -> NDArray[np.float32]:
    """Map the matrix (rows, dim) of a .npy file into memory."""
    array = open_array(path)
    if array.dtype != np.float32 or array.ndim != 2:
        problem = f"an array of {array.dtype} with shape {array.shape}, not a matrix of float32"
        raise InputError(problem, path=path, remedy="re-create it")
    return array
