"""Embeddings as arrays and files: divided by their length, and in fewer bits, a byte or a bit for each component.

The names and results of :func:`quantize_embeddings` are those of sentence-transformers, so that an index made of the
one takes the vectors of the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import IO, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..artefacts.files import open_array, written_whole
from ..errors import InputError, ModelError, UsageError, choice_of
from ..settings import Constraints

Precision = Literal["float32", "int8", "uint8", "binary", "ubinary"]
PRECISIONS = get_args(Precision)
_SMALL, _LARGE = 1e-15, 1e18
"""Between these norms no square leaves single precision."""


def check_counts(**counts: Any) -> None:
    """Refuses arguments of a Python function that are no whole numbers, of Python or of NumPy, of at least 1."""
    for name, value in counts.items():
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise UsageError(f"{name} is {value!r}, not a whole number", remedy="give a whole number of at least 1")
        Constraints(at_least=1).check(name, value)


def normalized(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Divides each row (rows, dim) by its Euclidean norm; zero rows stay zero."""
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


def quantize_embeddings(
    embeddings: ArrayLike,
    precision: Precision,
    ranges: NDArray[np.floating] | None = None,
    calibration_embeddings: ArrayLike | None = None,
) -> NDArray[Any]:
    """Puts embeddings into fewer bits.

    `int8` and `uint8` number, for each component, 256 steps of equal width between its least and its greatest value.
    `binary` and `ubinary` keep the sign alone, eight components in a byte.

    `ranges` (2, dim) are the least and the greatest value of each component, for `int8` and `uint8`; they are taken
    from `calibration_embeddings`, by default from the embeddings (texts, dim) themselves.

    Returns:
        float32, int8 or uint8 (texts, dim); for the binary ones int8 or uint8 (texts, ⌈dim / 8⌉).
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


def check_finite(name: str, vectors: NDArray[Any], first: int = 0, *, path: Path | None = None) -> None:
    """Refuses NaN and infinity; an error calls the rows, the first of which has the number `first`, by `name`."""
    if vectors.dtype.kind == "f" and not np.isfinite(vectors).all():
        row = first + (int(np.argwhere(~np.isfinite(vectors))[0][0]) if vectors.ndim > 1 else 0)
        what = f"{name} with NaN or infinity, the first in row {row} (from 0)"
        raise InputError(what, path=path, remedy="encode the texts again, or leave these out")


def checked_vectors(vectors: np.ndarray, count: int) -> np.ndarray:
    """Checks that an encoder gave finite vectors (count, dim)."""
    vectors = np.asarray(vectors)
    if vectors.ndim != 2 or len(vectors) != count:
        raise ModelError(f"the encoder gave an array of shape {vectors.shape} for {count} texts")
    bad = int((~np.isfinite(vectors).all(axis=1)).sum())
    if bad:
        raise ModelError(f"NaN or infinity in the vectors of {bad} of {count} texts", remedy="use another encoder")
    return vectors


@dataclass
class NpyWriter:
    """Writes a float32 matrix row block by row block; see :func:`npy_writer`."""

    stream: IO[bytes]
    dimension: int
    rows: int = 0

    def write(self, vectors: NDArray[np.float32]) -> None:
        """Appends rows (rows, dimension)."""
        self.stream.write(np.ascontiguousarray(vectors, np.float32).tobytes())
        self.rows += len(vectors)

    def write_header(self) -> None:
        """Writes the shape so far; NumPy leaves room in the header for the number of rows to grow."""
        header = {"descr": "<f4", "fortran_order": False, "shape": (self.rows, self.dimension)}
        self.stream.seek(0)
        np.lib.format.write_array_header_1_0(self.stream, header)


@contextmanager
def npy_writer(path: Path, dimension: int) -> Iterator[NpyWriter]:
    """Gives the writer of a .npy file that appears only when it is complete."""
    with written_whole(path) as temporary, temporary.open("wb") as stream:
        writer = NpyWriter(stream, dimension)
        writer.write_header()
        yield writer
        writer.write_header()


def open_vectors(path: Path) -> NDArray[np.float32]:
    """Maps the matrix (rows, dim) of a file that :func:`npy_writer` or `np.save` wrote into memory."""
    array = open_array(path)
    if array.dtype != np.float32 or array.ndim != 2:
        problem = f"an array of {array.dtype} with shape {array.shape}, not a matrix of float32"
        raise InputError(problem, path=path, remedy="re-create it")
    return array
