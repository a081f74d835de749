"""An approximate candidate filter: inverted lists of the library faiss, and what share of the candidates they find."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from ...encoders.search.inverted_lists import InvertedLists, default_lists, default_probes, write_lists
from ...encoders.search.vector_file import VectorFile, cosine_of_rows
from .candidates import best_candidates

_SOURCES_AT_A_TIME = 4096
_SAMPLE = 256


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

    Raises:
        UsageError: If faiss is not installed.
        ValueError: If n is not positive.
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, not {n}")
    size = min(n, len(target_vectors))
    lists = default_lists(len(target_vectors))
    write_lists(target_vectors, folder, lists=lists, probes=default_probes(lists), seed=seed)
    index = InvertedLists(folder, rows=len(target_vectors), dimension=target_vectors.shape[1])
    rows = np.empty((len(source_vectors), size), np.int64)
    cosines = np.zeros(rows.shape, np.float32)
    right = target_vectors[: len(target_vectors)]
    with tqdm(
        total=len(rows), unit=" sentences", desc="candidates (approximate)", disable=not show_progress_bar
    ) as progress:
        for start in range(0, len(rows), _SOURCES_AT_A_TIME):
            block = source_vectors[start : start + _SOURCES_AT_A_TIME]
            found = index.search(block, size, probes or index.probes)
            for place in range(size):
                column = found[:, place]
                values = cosine_of_rows(block, right[np.maximum(column, 0)])
                cosines[start : start + len(block), place] = np.where(column >= 0, values, 0.0)
            rows[start : start + len(block)] = found
            progress.update(len(block))
    sample = np.sort(np.random.default_rng(seed).choice(len(rows), min(_SAMPLE, len(rows)), replace=False))
    true, _ = best_candidates(source_vectors.take(sample), right, size)
    hits = sum(len(np.intersect1d(one, two)) for one, two in zip(rows[sample], true, strict=True))
    return rows, cosines, hits / max(1, true.size)
