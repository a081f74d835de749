"""Approximate search by an inverted file of faiss: vectors in lists around centroids, of which a query reads few."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, UsageError
from .exact_search import find_nearest

LISTS_FILE = "index.faiss"
_REMEDY = "build it again with --method approximate, or search exactly (--method exact)"
_MOST_LISTS = 2048
_ROWS_PER_BLOCK = 16_384
_ROWS_PER_LIST, _SAMPLED_PER_LIST = 39, 48
"""With fewer vectors a centroid is badly determined."""
_RECALL_QUERIES, _RECALL_NEIGHBOURS = 200, 10


def build_lists(vectors: NDArray[np.float32], path: Path) -> tuple[int, int, float]:
    """Puts the vectors (rows, dim) of an index into inverted lists, which are written to a file.

    Returns:
        The number of lists, four times the root of the rows but at most 2,048; how many of them a query reads, a
        sixteenth but at least eight where there are as many; and the recall of such a search.
    """
    faiss = _faiss()
    rows, dimension = vectors.shape
    lists = max(1, min(_MOST_LISTS, round(4 * math.sqrt(rows)), rows // _ROWS_PER_LIST))
    probes = min(lists, max(8, lists // 16))
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(dimension), dimension, lists, faiss.METRIC_INNER_PRODUCT)
    index.cp.seed, index.cp.min_points_per_centroid = 0, 1
    index.train(_sample(vectors, lists))
    for first in range(0, rows, _ROWS_PER_BLOCK):
        index.add(vectors[first : first + _ROWS_PER_BLOCK])
    faiss.write_index(index, str(path))
    return lists, probes, measure_recall(vectors, InvertedLists(path, vectors), probes)


def _faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        what = "approximate search needs the package faiss-cpu"
        raise UsageError(what, remedy="pip install 'hf-paraphrase[search]', or search exactly") from error
    return faiss


def _sample(vectors: NDArray[np.float32], lists: int) -> NDArray[np.float32]:
    """Draws rows (rows, dim), in the order of the file, without those that are zero if enough are left."""
    size = min(lists * _SAMPLED_PER_LIST, len(vectors))
    sample = vectors[np.sort(np.random.default_rng(0).choice(len(vectors), size, replace=False))]
    filled = sample.any(axis=1)
    return sample[filled] if filled.sum() >= lists else sample


class InvertedLists:
    """The lists of some vectors (rows, dim) of length 1 or 0, in a file that is mapped into memory."""

    def __init__(self, path: Path, vectors: NDArray[np.float32]) -> None:
        faiss = _faiss()
        if not path.is_file():
            raise InputError("the index has no lists of this version", path=path.parent, remedy=_REMEDY)
        try:
            self._index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP)
        except RuntimeError as error:
            raise InputError("not a file of lists that faiss can read", path=path, remedy=_REMEDY) from error
        if (self._index.ntotal, self._index.d) != vectors.shape:
            raise InputError("the lists do not fit the vectors", path=path, remedy=_REMEDY)
        self._vectors = vectors

    def search(
        self, queries: NDArray[np.float32], k: int, probes: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Finds the k rows of the greatest cosine to each query (queries, dim) in its nearest lists.

        Rows (queries, k), the nearest first, are -1 where the lists hold fewer; cosines are in double precision. Zero
        vectors are not found, and find nothing.
        """
        parameters = _faiss().SearchParametersIVF(nprobe=min(probes, self._index.nlist))
        _, listed = self._index.search(np.ascontiguousarray(queries, np.float32), k, params=parameters)
        rows, cosines = np.full(listed.shape, -1, np.int64), np.zeros(listed.shape)
        for place, found in enumerate(listed):
            query, among = queries[place : place + 1], np.sort(found[found >= 0])
            best = find_nearest(query, self._vectors, k, candidate_rows=among, skip_zero=True, are_unit=True)
            rows[place, : len(among)], cosines[place, : len(among)] = best[0][0], best[1][0]
        return rows, cosines


def measure_recall(vectors: NDArray[np.float32], lists: InvertedLists, probes: int) -> float:
    """Computes the share of the true ten nearest neighbours that an approximate search finds (0 to 1).

    Queries are 200 vectors of the corpus. A row whose cosine equals that of the tenth neighbour is as good as it.
    """
    own = np.unique(np.linspace(0, len(vectors) - 1, _RECALL_QUERIES).astype(np.int64))
    own = own[vectors[own].any(axis=1)]
    k = min(_RECALL_NEIGHBOURS, len(vectors) - 1)
    if not k or not len(own):
        return 1.0
    _, true_cosines = find_nearest(vectors[own], vectors, k + 1)
    rows, cosines = lists.search(vectors[own], k + 1, probes)
    # The query itself is the nearest, or one of several that are equal to it.
    good = (rows >= 0) & (rows != own[:, None]) & (cosines >= true_cosines[:, k, None] - 1e-5)
    return float(np.mean(np.minimum(good.sum(axis=1), k) / k))
