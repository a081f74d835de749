"""Matrices of vectors on disk, written row by row and read block by block, and the cosines of their rows."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ...artefacts.files import open_array, written_whole
from ...errors import InputError, OutputError

_PAIRS_AT_A_TIME = 8192


class NpyWriter:
    """Writes a float32 matrix row block by row block to a .npy file that appears only when it is complete."""

    def __init__(self, path: Path, dimension: int) -> None:
        self.path = path
        self.dimension = dimension
        self.rows = 0
        self.stream: IO[bytes]
        self._stack = ExitStack()

    def __enter__(self) -> NpyWriter:
        with ExitStack() as stack:
            temporary = stack.enter_context(written_whole(self.path))
            self.stream = stack.enter_context(temporary.open("wb"))
            self._write_header()
            self._stack = stack.pop_all()
        return self

    def write(self, vectors: NDArray[np.float32]) -> None:
        """Appends rows (rows, dimension)."""
        try:
            self.stream.write(np.ascontiguousarray(vectors, np.float32).tobytes())
        except OSError as error:
            raise OutputError(f"cannot write: {error.strerror}", path=self.path) from error
        self.rows += len(vectors)

    def __exit__(self, *raised: Any) -> None:
        if raised[0] is not None:
            self._stack.__exit__(*raised)
            return
        with self._stack:
            # NumPy leaves room in the header for the number of rows to grow.
            self.stream.seek(0)
            self._write_header()

    def _write_header(self) -> None:
        header = {"descr": "<f4", "fortran_order": False, "shape": (self.rows, self.dimension)}
        np.lib.format.write_array_header_1_0(self.stream, header)


class VectorFile:
    """A float32 matrix in a .npy file that is mapped into memory; it has the shape, length and slices of an array.

    Args:
        path: A file that :class:`NpyWriter` or `np.save` wrote.
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
        """Reads consecutive rows (rows, dim)."""
        return np.array(self._array[rows], np.float32)

    def take(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Reads rows by their numbers (rows,), in any order, as (rows, dim)."""
        return np.array(self._array[np.asarray(rows, np.int64)], np.float32)


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
