"""Matrices of vectors in .npy files, written row block by row block and mapped into memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from ..artefacts.files import atomic_write, open_array
from ..errors import InputError


@dataclass
class NpyWriter:
    """Appends rows to a float32 matrix; see :func:`npy_writer`."""

    stream: IO[bytes]
    dimension: int
    rows: int = 0

    def write(self, vectors: NDArray[np.float32]) -> None:
        """Appends rows (rows, dimension)."""
        self.stream.write(np.ascontiguousarray(vectors, np.float32).tobytes())
        self.rows += len(vectors)

    def write_header(self) -> None:
        """Writes the current shape; the header has padding for a larger number of rows."""
        header = {"descr": "<f4", "fortran_order": False, "shape": (self.rows, self.dimension)}
        self.stream.seek(0)
        np.lib.format.write_array_header_1_0(self.stream, header)


@contextmanager
def npy_writer(path: Path, dimension: int) -> Iterator[NpyWriter]:
    """Gives the writer of a .npy file that appears only when it is complete."""
    with atomic_write(path) as temporary, temporary.open("wb") as stream:
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
