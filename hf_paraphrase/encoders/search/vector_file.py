"""Matrices of vectors on disk, written row by row and read block by block, and the cosines of their rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from ...artefacts.files import open_array, written_whole
from ...errors import InputError, OutputError

_PAIRS_AT_A_TIME = 8192


@dataclass
class NpyWriter:
    """Writes a float32 matrix row block by row block; see :func:`npy_writer`."""

    path: Path
    dimension: int
    stream: IO[bytes]
    rows: int = 0

    def write(self, vectors: NDArray[np.float32]) -> None:
        """Appends rows (rows, dimension)."""
        try:
            self.stream.write(np.ascontiguousarray(vectors, np.float32).tobytes())
        except OSError as error:
            raise OutputError(f"cannot write: {error.strerror}", path=self.path) from error
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
        writer = NpyWriter(path, dimension, stream)
        writer.write_header()
        yield writer
        writer.write_header()


class VectorFile:
    """A float32 matrix in a .npy file that is mapped into memory; it has the shape, length and slices of an array.

    Args:
        path: A file that :func:`npy_writer` or `np.save` wrote.
        half: Take a float16 matrix as well; its rows are read as float32.

    Attributes:
        shape: (rows, dim).
    """

    ndim = 2

    def __init__(self, path: Path, *, half: bool = False) -> None:
        self.path = path
        array = open_array(path)
        kinds = (np.float32, np.float16) if half else (np.float32,)
        if array.dtype not in kinds or array.ndim != 2:
            raise InputError(
                f"an array of {array.dtype} with shape {array.shape}, not a matrix of float32",
                path=path,
                remedy="re-create it",
            )
        self.shape: tuple[int, int] = (array.shape[0], array.shape[1])
        self._array = array

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> NDArray[np.float32]:
        """Reads consecutive rows (rows, dim), which stay mapped."""
        return np.asarray(self._array[rows], np.float32)

    def take(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Reads rows by their numbers (rows,), in any order, as (rows, dim)."""
        return np.array(self._array[np.asarray(rows, np.int64)], np.float32)


class VectorRows:
    """Some rows (rows,) of a vector file, with the shape, length and slices of an array."""

    ndim = 2

    def __init__(self, vectors: VectorFile, rows: NDArray[np.int64]) -> None:
        self.path = vectors.path
        self.shape = (len(rows), vectors.shape[1])
        self._vectors, self._rows = vectors, rows

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: slice) -> NDArray[np.float32]:
        """Reads some of the rows (rows, dim)."""
        return self._vectors.take(self._rows[part])


def cosine_of_rows(
    first: NDArray[np.float32] | NDArray[np.float64], second: NDArray[np.float32] | NDArray[np.float64]
) -> NDArray[np.float64]:
    """Computes the cosine of each pair of rows (pairs, dim) of unit (or zero) length, in double precision.

    Unlike a matrix product, whose rounding depends on the sizes of the matrices, it gives the same number for a pair
    whatever else is computed with it.
    """
    cosines = np.empty(len(first))
    for start in range(0, len(first), _PAIRS_AT_A_TIME):
        rows = slice(start, start + _PAIRS_AT_A_TIME)
        products = np.multiply(first[rows], second[rows], dtype=np.float64)
        cosines[rows] = np.ascontiguousarray(products).sum(axis=1)
    return np.clip(cosines, -1.0, 1.0)
