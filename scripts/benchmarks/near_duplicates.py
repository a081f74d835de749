"""Compares the index of near-duplicates with the inverted lists of faiss on deduplication: seconds and recall.

The built-in encoder embeds random sentences as in `growth.py`. Both indexes have the same number of lists, probes and
sampled vectors, and grow by the rows without a near-duplicate. Recall is relative to a comparison of all rows with
all, up to `--exact` rows. Run it on an idle machine: python scripts/benchmarks/near_duplicates.py
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from growth import write_pairs
from hf_paraphrase.encoders.search_embedder import SearchEmbedder
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.tables import format_table
from hf_paraphrase.threads import one_blas_thread
from hf_paraphrase.vectors import ivf_index
from hf_paraphrase.vectors.faiss_index import import_faiss
from interleaved import run_benchmark, write

FLAGS = {
    "rows": ((10_000, 100_000, 1_000_000), "numbers of sentences"),
    "threshold": (0.9, "minimum cosine of near-duplicates"),
    "exact": (100_000, "maximum rows for measuring recall"),
}
_BLOCK, _SAMPLED = 2048, 30_000


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Measures both indexes at all sizes, writes a table, and returns the speed of ours relative to faiss."""
    table, ratios = [], {}
    embedder = SearchEmbedder(SentenceEncoder.from_pretrained())
    for rows in arguments.rows:
        (folder / str(rows)).mkdir()
        write_pairs(folder / str(rows), rows // 2)
        lines = [(folder / str(rows) / name).read_text().splitlines() for name in ("first.txt", "second.txt")]
        vectors = embedder.embed(list(dict.fromkeys([*lines[0], *lines[1]])))
        removed = (
            remove_near(vectors, arguments.threshold, our_index, len(vectors)) if rows <= arguments.exact else None
        )
        seconds = {}
        for name, make in {"ours": our_index, "faiss": faiss_index}.items():
            begin = time.perf_counter()
            with one_blas_thread():
                found = remove_near(vectors, arguments.threshold, make, 0)
            seconds[name] = time.perf_counter() - begin
            recall = "" if removed is None else f"{(found & removed).sum() / removed.sum():.4f}"
            table.append([f"{len(vectors):,}", name, f"{seconds[name]:.1f}", f"{found.sum():,}", recall])
        ratios[f"ours_vs_faiss_{rows}"] = seconds["faiss"] / seconds["ours"]
    write(format_table(["rows", "index", "seconds", "removed", "recall"], table))
    return ratios


def remove_near(vectors: NDArray[np.float32], threshold: float, make: Callable[..., Any], most: int) -> NDArray[Any]:
    """Return which vectors are near an earlier one that stays: (rows,), bool."""
    sample = vectors[np.linspace(0, len(vectors) - 1, min(_SAMPLED, len(vectors))).astype(np.int64)]
    find, add = make(sample, threshold, len(vectors), most)
    stay = np.ones(len(vectors), bool)
    for start in range(0, len(vectors), _BLOCK):
        block, own = vectors[start : start + _BLOCK], stay[start : start + _BLOCK]
        near_earlier, placed = find(block)
        own[near_earlier] = False
        near = np.tril(block @ block.T >= threshold - 1e-6, -1)
        for row in np.flatnonzero(near.any(axis=1) & own):
            own[row] = not (near[row] & own).any()
        add(placed, np.flatnonzero(own))
    return ~stay


def our_index(sample: NDArray[np.float32], threshold: float, rows: int, most: int) -> tuple[Any, Any]:
    """Return functions that find the near rows of a block and add rows, by :class:`IvfIndex`."""
    ivf_index.MOST_EXACT = most
    index = ivf_index.IvfIndex(sample, threshold, rows)

    def find(block: NDArray[np.float32]) -> tuple[NDArray[np.int64], Any]:
        placed = index.place(block)
        return index.near(placed, group=lambda new, old: new)[0], placed

    return find, index.add


def faiss_index(sample: NDArray[np.float32], threshold: float, rows: int, most: int) -> tuple[Any, Any]:
    """Return functions that find the near rows of a block and add rows, by `IndexIVFFlat`."""
    faiss, dimension = import_faiss(), sample.shape[1]
    nlist = min(1024, round(4 * np.sqrt(rows)), len(sample))
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(dimension), dimension, nlist, faiss.METRIC_INNER_PRODUCT)
    index.cp.niter, index.cp.min_points_per_centroid, index.nprobe = 6, 1, ivf_index.PROBES
    index.train(sample)

    def find(block: NDArray[np.float32]) -> tuple[NDArray[np.int64], Any]:
        limits, _, _ = index.range_search(block, threshold - 1e-6)
        return np.flatnonzero(np.diff(limits.astype(np.int64))), block

    return find, lambda block, rows: index.add(block[rows])


if __name__ == "__main__":
    sys.exit(run_benchmark(run, __doc__, FLAGS))
