"""Candidates of a long run, kept on disk block by block, so that a run that was broken off goes on where it was."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ...errors import OutputError
from .candidates import SOURCES_PER_BLOCK, Block, Vectors, candidate_blocks

_NAME = "{}-{:06d}.npz"


def kept_candidates(
    folder: Path,
    name: str,
    source_vectors: Vectors,
    target_vectors: Vectors,
    n: int,
    *,
    show_progress_bar: bool = False,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Computes what :func:`~.candidates.best_candidates` does, and takes blocks that lie in a folder from there.

    Args:
        folder: Where the blocks are kept; it must be for this input alone.
        name: Tells several sets of candidates in one folder apart.
        source_vectors: As there.
        target_vectors: As there.
        n: As there.
        show_progress_bar: Show the progress, in sentences, on standard error.

    Returns:
        Rows and cosines (sources, n).

    Raises:
        ValueError: As there.
        OutputError: If a block cannot be written, or one that is there does not fit.
    """
    size = min(n, len(target_vectors))
    rows = np.empty((len(source_vectors), size), np.int64)
    cosines = np.empty(rows.shape, np.float32)
    done = 0
    for part, part_rows, part_cosines in _stored(folder, name, len(source_vectors), size):
        rows[part], cosines[part] = part_rows, part_cosines
        done += 1
    blocks = candidate_blocks(source_vectors, target_vectors, n, first_block=done, show_progress_bar=show_progress_bar)
    for number, (part, part_rows, part_cosines) in enumerate(blocks, start=done):
        rows[part], cosines[part] = part_rows, part_cosines
        _store(folder / _NAME.format(name, number), part_rows, part_cosines)
    return rows, cosines


def _stored(folder: Path, name: str, sources: int, size: int) -> Iterator[Block]:
    pattern = re.compile(re.escape(name) + r"-(\d{6})\.npz")
    numbers = {int(match[1]) for path in folder.glob("*.npz") if (match := pattern.fullmatch(path.name))}
    number = 0
    while number in numbers:
        path = folder / _NAME.format(name, number)
        part = slice(number * SOURCES_PER_BLOCK, min((number + 1) * SOURCES_PER_BLOCK, sources))
        try:
            with np.load(path, allow_pickle=False) as content:
                rows, cosines = content["rows"].astype(np.int64), content["cosines"].astype(np.float32)
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise OutputError(
                f"a block of the unfinished run is damaged: {error}", path=path, remedy="delete it, or --overwrite"
            ) from error
        if rows.shape != cosines.shape or rows.shape != (max(part.stop - part.start, 0), size):
            raise OutputError(
                "a block of the unfinished run is of another size", path=path, remedy="start afresh with --overwrite"
            )
        yield part, rows, cosines
        number += 1


def _store(path: Path, rows: NDArray[np.int64], cosines: NDArray[np.float32]) -> None:
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("wb") as stream:
            np.savez(stream, rows=rows.astype(np.int32), cosines=cosines)
        partial.replace(path)
    except OSError as error:
        raise OutputError(f"cannot write: {error.strerror}", path=path) from error
