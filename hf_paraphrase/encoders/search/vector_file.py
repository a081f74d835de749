"""Matrices of vectors on disk: written row by row, read block by block, never mapped into memory.

The pages of a mapped file count as memory of the process, so a search over all vectors would seem to hold them all.
"""

from __future__ import annotations

from contextlib import ExitStack
from itertools import pairwise
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
    """A float32 matrix in a .npy file, of which blocks and single rows are read as they are asked for.

    It has the shape, the length and the slices of an array, so that a search by blocks takes it for one.

    Args:
        path: A file that :class:`NpyWriter` or `np.save` wrote.
        half: Take a float16 matrix as well; its rows are read as float32.

    Attributes:
        shape: (rows, dim).
    """

    ndim = 2

    def __init__(self, path: Path, *, half: bool = False) -> None:
        self.path = path
        array: Any = open_array(path)
        kinds = (np.float32, np.float16) if half else (np.float32,)
        if array.dtype not in kinds or array.ndim != 2 or not array.flags.c_contiguous:
            raise InputError(
                f"an array of {array.dtype} with shape {array.shape}, not a matrix of float32 in rows",
                path=path,
                remedy="re-create it",
            )
        self.shape: tuple[int, int] = array.shape
        self._kind = array.dtype
        self._offset: int = array.offset

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> NDArray[np.float32]:
        """Reads consecutive rows (rows, dim)."""
        first, last, step = rows.indices(len(self))
        if step != 1:
            raise ValueError(f"rows are read one after the other, not by steps of {step}")
        with self.path.open("rb") as stream:
            return self._read(stream, first, max(0, last - first))

    def take(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Reads rows by their numbers (rows,), in any order, as (rows, dim)."""
        wanted, back = np.unique(rows, return_inverse=True)
        vectors = np.empty((len(wanted), self.shape[1]), np.float32)
        # Neighbours in the file are read together.
        edges = np.flatnonzero(np.diff(wanted, prepend=-2) != 1).tolist()
        with self.path.open("rb") as stream:
            for first, last in pairwise([*edges, len(wanted)]):
                vectors[first:last] = self._read(stream, int(wanted[first]), last - first)
        return vectors[back.reshape(-1)]

    def _read(self, stream: IO[bytes], first: int, count: int) -> NDArray[np.float32]:
        stream.seek(self._offset + first * self.shape[1] * self._kind.itemsize)
        values = np.fromfile(stream, self._kind, count * self.shape[1]).astype(np.float32, copy=False)
        if len(values) != count * self.shape[1]:
            raise InputError("the file ends too early", path=self.path, remedy="re-create it")
        return values.reshape(count, self.shape[1])


def cosine_of_rows(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float64]:
    """Computes the cosine of each pair of rows of unit (or zero) length, in double precision.

    Unlike a matrix product, whose rounding depends on the sizes of the matrices, it gives the same number for a pair
    whatever else is computed with it.

    Args:
        first: float32 (pairs, dim), rows of length 1 or 0.
        second: The same.

    Returns:
        float64 (pairs,), from -1 to 1.
    """
    cosines = np.empty(len(first))
    for start in range(0, len(first), _PAIRS_AT_A_TIME):
        rows = slice(start, start + _PAIRS_AT_A_TIME)
        products = np.multiply(first[rows], second[rows], dtype=np.float64)
        cosines[rows] = np.ascontiguousarray(products).sum(axis=1)
    return np.clip(cosines, -1.0, 1.0)
