"""The candidate filter: for every source sentence the n target sentences of the greatest cosine.

Section 2.2 of "BUCC 2017 Shared Task: a First Attempt Toward a Deep Learning Framework for Identifying Parallel
Sentences in Comparable Corpora" (Grégoire and Langlais 2017). All pairs are compared, so nothing is missed, but in
:func:`approximate_candidates`, which tells what share it finds. Blocks can be kept on disk, so that a run that was
interrupted continues where it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from ...artefacts.files import written_whole
from ...encoders.search.inverted_lists import InvertedLists, default_lists, default_probes, write_lists
from ...encoders.search.vector_file import VectorFile, cosine_of_rows
from ...errors import OutputError
from ...training.threads import in_threads

if TYPE_CHECKING:
    from .exact_best import UnitBlock


Vectors = NDArray[np.float32] | VectorFile
"""A matrix of vectors (rows, dim): an array, a memory-mapped one, or a file that is read block by block."""
Block = tuple[slice, NDArray[np.int64], NDArray[np.float32]]
"""Sources, and of each the rows (sources, n) and the cosines (sources, n) of its candidates."""
SOURCES_PER_BLOCK = 4096
_SOURCES_AT_A_TIME = 1024
_TARGETS_AT_A_TIME = 4096
_SOURCES_OF_A_SEARCH = 4096
_SAMPLE = 256
_NAME = "{}-{:06d}.npz"


def best_candidates(
    source_vectors: Vectors,
    target_vectors: Vectors,
    n: int,
    *,
    precision: str | None = None,
    device: str | None = None,
    show_progress_bar: bool = False,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Finds the n best targets by cosine for every source, exactly.

    Memory is that of the result and of a few blocks, about 200 MB a thread, however long the sides are. What decides
    are cosines in double precision, so the order is exact up to its rounding, about 1e-15; neither `precision` nor
    `device`, the number of threads or the other sentences change a result.

    Args:
        source_vectors: float32 (sources, dim).
        target_vectors: float32 (targets, dim).
        n: How many of each; fewer are given where there are fewer targets.
        precision: `bfloat16` or `float32`: the type of the products that rule out most pairs; by default the one in
            which the processor is fastest.
        device: Where those are computed, e.g. `cuda`; by default a GPU where there is one.
        show_progress_bar: Show the progress, in sources, on standard error.

    Returns:
        The rows of the candidates (sources, n), int64, the best first and of equal ones the lower row first, and
        their cosines (sources, n), float32. A zero vector has cosine 0 with everything.
    """
    size = min(n, len(target_vectors))
    rows = np.empty((len(source_vectors), max(size, 0)), np.int64)
    cosines = np.empty(rows.shape, np.float32)
    blocks = candidate_blocks(
        source_vectors,
        target_vectors,
        n,
        precision=precision,
        device=device,
        show_progress_bar=show_progress_bar,
    )
    for part, part_rows, part_cosines in blocks:
        rows[part], cosines[part] = part_rows, part_cosines
    return rows, cosines


def candidate_blocks(
    source_vectors: Vectors,
    target_vectors: Vectors,
    n: int,
    *,
    first_block: int = 0,
    precision: str | None = None,
    device: str | None = None,
    show_progress_bar: bool = False,
) -> Iterator[Block]:
    """Computes what :func:`best_candidates` does, block by block of 4,096 sources.

    Yields:
        The sources of a block, and the rows and cosines of their candidates.
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, not {n}")
    if source_vectors.ndim != 2 or target_vectors.ndim != 2 or source_vectors.shape[1] != target_vectors.shape[1]:
        raise ValueError(
            f"sources {source_vectors.shape} and targets {target_vectors.shape} must be matrices of one dimension"
        )
    import torch

    from .exact_best import PRECISIONS, best_on_device, default_precision

    kind = precision or default_precision()
    if kind not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, not {kind}")
    place = device or ("cuda" if torch.cuda.is_available() else "cpu")
    size = min(n, len(target_vectors))
    starts = range(first_block * SOURCES_PER_BLOCK, len(source_vectors), SOURCES_PER_BLOCK)
    blocks = [slice(start, min(start + SOURCES_PER_BLOCK, len(source_vectors))) for start in starts]

    def best(part: slice) -> Block:
        sources = np.asarray(source_vectors[part], np.float32)
        # To a zero vector all targets are equal, so none of them would ever be ruled out.
        filled = sources.any(axis=1)
        rows = np.tile(np.arange(size), (len(sources), 1))
        cosines = np.zeros(rows.shape, np.float32)
        # This setting holds for one thread only.
        with torch.inference_mode():
            if size and filled.any():
                rows[filled], cosines[filled] = best_of_filled(sources[filled])
        return part, rows, cosines

    def best_of_filled(sources: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        if torch.device(place).type == "cpu":
            return _best_of_block(sources, target_vectors, size, kind)
        target_rows, sure = best_on_device(sources, target_vectors, size, place)
        if not sure.all():
            # More targets than the spare ones are as good as the last: settle them one by one.
            target_rows[0][~sure], target_rows[1][~sure] = _best_of_block(
                sources[~sure], target_vectors, size, "float32"
            )
        return target_rows

    threads = torch.get_num_threads() if torch.device(place).type == "cpu" else 1
    with tqdm(
        total=len(source_vectors),
        initial=min(starts.start, len(source_vectors)),
        unit=" sentences",
        desc="candidates",
        disable=not show_progress_bar,
    ) as progress:
        for block in in_threads(best, blocks, threads):
            progress.update(len(block[1]))
            yield block


def _best_of_block(
    sources: NDArray[np.float32], target_vectors: Vectors, n: int, precision: str
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Compares sources (sources, dim) with all targets on the processor."""
    import torch

    from .exact_best import RunningBest, UnitBlock

    starts = range(0, len(sources), _SOURCES_AT_A_TIME)
    parts = [UnitBlock.of(start, sources[start : start + _SOURCES_AT_A_TIME], precision) for start in starts]
    best = [RunningBest(part, n, precision) for part in parts]
    buffer = torch.empty(_SOURCES_AT_A_TIME * _TARGETS_AT_A_TIME, dtype=getattr(torch, precision))
    mask = np.empty(len(buffer), bool)
    for targets in _target_blocks(target_vectors, precision):
        for running in best:
            running.look(targets, buffer, mask)
    results = [running.result() for running in best]
    return np.concatenate([rows for rows, _ in results]), np.concatenate([cosines for _, cosines in results])


def _target_blocks(target_vectors: Vectors, precision: str) -> Iterator[UnitBlock]:
    from .exact_best import UnitBlock

    for start in range(0, len(target_vectors), _TARGETS_AT_A_TIME):
        block = np.asarray(target_vectors[start : start + _TARGETS_AT_A_TIME], np.float32)
        yield UnitBlock.of(start, block, precision)


def kept_candidates(
    folder: Path,
    name: str,
    source_vectors: Vectors,
    target_vectors: Vectors,
    n: int,
    *,
    show_progress_bar: bool = False,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Computes what :func:`~.candidates.best_candidates` does, and reuses blocks that a folder has.

    Returns:
        Rows and cosines (sources, n).
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
                f"a block of the incomplete run is damaged: {error}", path=path, remedy="delete it, or --overwrite"
            ) from error
        if rows.shape != cosines.shape or rows.shape != (max(part.stop - part.start, 0), size):
            raise OutputError(
                "a block of the incomplete run is of another size",
                path=path,
                remedy="start from scratch with --overwrite",
            )
        yield part, rows, cosines
        number += 1


def _store(path: Path, rows: NDArray[np.int64], cosines: NDArray[np.float32]) -> None:
    with written_whole(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, rows=rows.astype(np.int32), cosines=cosines)


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
    if n < 1:
        raise ValueError(f"n must be at least 1, not {n}")
    size = min(n, len(target_vectors))
    lists = default_lists(len(target_vectors))
    write_lists(target_vectors, folder, lists=lists, seed=seed)
    index = InvertedLists(folder, rows=len(target_vectors), dimension=target_vectors.shape[1])
    rows = np.empty((len(source_vectors), size), np.int64)
    cosines = np.zeros(rows.shape, np.float32)
    right = target_vectors[: len(target_vectors)]
    with tqdm(
        total=len(rows), unit=" sentences", desc="candidates (approximate)", disable=not show_progress_bar
    ) as progress:
        for start in range(0, len(rows), _SOURCES_OF_A_SEARCH):
            block = source_vectors[start : start + _SOURCES_OF_A_SEARCH]
            target_rows, _ = index.search(block, size, probes or default_probes(lists))
            for place in range(size):
                column = target_rows[:, place]
                values = cosine_of_rows(block, right[np.maximum(column, 0)])
                cosines[start : start + len(block), place] = np.where(column >= 0, values, 0.0)
            rows[start : start + len(block)] = target_rows
            progress.update(len(block))
    sample = np.sort(np.random.default_rng(seed).choice(len(rows), min(_SAMPLE, len(rows)), replace=False))
    true, _ = best_candidates(source_vectors.take(sample), right, size)
    hits = sum(len(np.intersect1d(one, two)) for one, two in zip(rows[sample], true, strict=True))
    return rows, cosines, hits / max(1, true.size)
