"""The candidate filter: for every source sentence the n target sentences of the greatest cosine.

Section 2.2 of "BUCC 2017 Shared Task: a First Attempt Toward a Deep Learning Framework for Identifying Parallel
Sentences in Comparable Corpora" (Grégoire and Langlais 2017). All pairs are compared, but in
:func:`approximate_candidates`, which returns what share it finds. Blocks can be kept on disk, so that a run that was
interrupted continues where it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from ...artefacts.files import written_whole
from ...encoders.search.approximate import InvertedLists, default_lists, default_probes, write_lists
from ...encoders.search.nearest_neighbours import Vectors, nearest_neighbours
from ...encoders.search.vector_file import VectorFile
from ...errors import OutputError

Block = tuple[slice, NDArray[np.int64], NDArray[np.float32]]
"""Sources, and of each the rows (sources, n) and the cosines (sources, n) of its candidates."""
SOURCES_PER_BLOCK = 4096
_SAMPLE = 256


def candidate_blocks(
    source_vectors: Vectors,
    target_vectors: Vectors,
    n: int,
    *,
    folder: Path | None = None,
    name: str = "",
    show_progress_bar: bool = False,
) -> Iterator[Block]:
    """Finds the n best targets by cosine for every source, exactly, block by block of 4,096 sources.

    Args:
        source_vectors: float32 (sources, dim).
        target_vectors: float32 (targets, dim).
        n: How many of each; fewer are given where there are fewer targets.
        folder: Where blocks are kept; those that are there are not computed again.
        name: What their names begin with.
        show_progress_bar: Show the progress, in sources, on standard error.
    """
    size = min(n, len(target_vectors))
    with tqdm(
        total=len(source_vectors), unit=" sentences", desc="candidates", disable=not show_progress_bar or None
    ) as progress:
        for number, start in enumerate(range(0, len(source_vectors), SOURCES_PER_BLOCK)):
            part = slice(start, min(start + SOURCES_PER_BLOCK, len(source_vectors)))
            path = None if folder is None else folder / f"{name}-{number:06d}.npz"
            if path is not None and path.is_file():
                rows, cosines = _stored(path, (part.stop - part.start, size))
            else:
                rows, exact = nearest_neighbours(
                    source_vectors[part], target_vectors, n, names=("the source vectors", "the target vectors")
                )
                cosines = exact.astype(np.float32)
                if path is not None:
                    with written_whole(path) as temporary, temporary.open("wb") as stream:
                        np.savez(stream, rows=rows.astype(np.int32), cosines=cosines)
            progress.update(len(rows))
            yield part, rows, cosines


def _stored(path: Path, shape: tuple[int, int]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    try:
        with np.load(path, allow_pickle=False) as content:
            rows, cosines = content["rows"].astype(np.int64), content["cosines"].astype(np.float32)
        if rows.shape != shape or cosines.shape != shape:
            raise ValueError(f"shapes {rows.shape} and {cosines.shape} instead of {shape}")
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise OutputError(
            f"a block of the incomplete run is damaged: {error}", path=path, remedy="start again with --overwrite"
        ) from error
    return rows, cosines


def kept_candidates(
    folder: Path,
    name: str,
    source_vectors: Vectors,
    target_vectors: Vectors,
    n: int,
    *,
    show_progress_bar: bool = False,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Finds the n best targets for every source, and keeps them in a folder.

    Returns:
        Rows and cosines (sources, n), the best first and of equal ones the lower row first.
    """
    blocks = candidate_blocks(
        source_vectors, target_vectors, n, folder=folder, name=name, show_progress_bar=show_progress_bar
    )
    parts = [(rows, cosines) for _, rows, cosines in blocks]
    return np.concatenate([rows for rows, _ in parts]), np.concatenate([cosines for _, cosines in parts])


def approximate_candidates(
    source_vectors: VectorFile,
    target_vectors: VectorFile,
    n: int,
    folder: Path,
    *,
    probes: int = 0,
    seed: int = 0,
    show_progress_bar: bool = False,
) -> tuple[NDArray[np.int64], NDArray[np.float32], float]:
    """Finds about the n best targets by cosine for every source.

    Args:
        source_vectors: Vectors of length 1 or 0 (sources, dim).
        target_vectors: The same (targets, dim).
        n: How many of each.
        folder: Where the lists are kept, about as large as the target vectors.
        probes: How many of the lists are read for a source; 0 for a sixteenth of them, but at least eight.
        seed: Seed of the centroids and of the sample for the recall.
        show_progress_bar: Show the progress, in sentences, on standard error.

    Returns:
        Rows (sources, n), int64, the best first, -1 where fewer were found; their cosines (sources, n), float32; and
        the share of the true n best that are among them, on 256 sources.
    """
    size, lists = min(n, len(target_vectors)), default_lists(len(target_vectors))
    write_lists(target_vectors, folder / "lists.faiss", lists=lists, seed=seed)
    index = InvertedLists(folder / "lists.faiss", target_vectors)
    rows = np.empty((len(source_vectors), size), np.int64)
    cosines = np.empty(rows.shape, np.float32)
    with tqdm(
        total=len(rows),
        unit=" sentences",
        desc="candidates (approximate)",
        disable=not show_progress_bar or None,
    ) as progress:
        for start in range(0, len(rows), SOURCES_PER_BLOCK):
            part = slice(start, start + SOURCES_PER_BLOCK)
            rows[part], cosines[part] = index.search(source_vectors[part], size, probes or default_probes(lists))
            progress.update(len(rows[part]))
    sample = np.sort(np.random.default_rng(seed).choice(len(rows), min(_SAMPLE, len(rows)), replace=False))
    true, _ = nearest_neighbours(source_vectors.take(sample), target_vectors, size, skip_zero=True)
    hits = sum(len(np.intersect1d(one[one >= 0], two)) for one, two in zip(true, rows[sample], strict=True))
    return rows, cosines, hits / max(1, int((true >= 0).sum()))
