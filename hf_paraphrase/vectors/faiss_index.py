"""Approximate search by faiss (inverted lists, a graph, or quantized vectors); exact cosines rank its candidates."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, UsageError
from .exact_search import find_nearest
from .storage import quantize_embeddings

KINDS = ("ivf", "hnsw", "int8", "binary")
_REMEDY = "build it again with --method ivf, hnsw, int8 or binary, or search exactly (--method exact)"
_MAX_LISTS = 2048
_ROWS_PER_BLOCK = 16_384
_ROWS_PER_LIST, _SAMPLED_PER_LIST = 39, 48
"""Fewer vectors per list make poor centroids."""
_LINKS = 32
_MIN_EXPLORED = 64
_OVERSAMPLING = {"ivf": 1, "hnsw": 1, "int8": 2, "binary": 10}
"""The number of candidates per neighbour that are rescored; fewer bits need more."""


def import_faiss() -> Any:
    """Import faiss; the error names the extra that installs it."""
    try:
        import faiss
    except ImportError as error:
        what = "approximate search needs the package faiss-cpu"
        raise UsageError(what, remedy='pip install "hf-paraphrase[search]", or search exactly') from error
    return faiss


def build_faiss_index(vectors: NDArray[np.float32], path: Path, kind: str) -> None:
    """Write an index of unit vectors (rows, dim) to a file.

    Args:
        vectors: Vectors of length 1 or 0.
        path: The file.
        kind: `ivf`, inverted lists that a search reads in part (four times the square root of the rows, at most
            2,048); `hnsw`, a graph of near vectors; `int8`, a byte per component; `binary`, a bit per component.
    """
    faiss = import_faiss()
    rows, dimension = vectors.shape
    if kind == "ivf":
        nlist = max(1, min(_MAX_LISTS, round(4 * math.sqrt(rows)), rows // _ROWS_PER_LIST))
        index = faiss.IndexIVFFlat(faiss.IndexFlatIP(dimension), dimension, nlist, faiss.METRIC_INNER_PRODUCT)
        index.cp.seed, index.cp.min_points_per_centroid = 0, 1
        index.train(_sample(vectors, nlist))
    elif kind == "hnsw":
        index = faiss.IndexHNSWFlat(dimension, _LINKS, faiss.METRIC_INNER_PRODUCT)
    elif kind == "int8":
        index = faiss.IndexScalarQuantizer(dimension, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
        index.train(_sample(vectors, 256))
    else:
        index = faiss.IndexBinaryFlat(8 * math.ceil(dimension / 8))
    threads = faiss.omp_get_max_threads()
    try:
        # Several threads would link a graph in another order each time.
        faiss.omp_set_num_threads(1 if kind == "hnsw" else threads)
        for first in range(0, rows, _ROWS_PER_BLOCK):
            index.add(_encoded(vectors[first : first + _ROWS_PER_BLOCK], kind))
    finally:
        faiss.omp_set_num_threads(threads)
    write = faiss.write_index_binary if kind == "binary" else faiss.write_index
    try:
        write(index, str(path))
    except RuntimeError as error:  # faiss has no other error for a full disk
        raise OSError(str(error)) from error


def _encoded(vectors: NDArray[np.float32], kind: str) -> NDArray[Any]:
    vectors = np.ascontiguousarray(vectors, np.float32)
    return quantize_embeddings(vectors, "ubinary") if kind == "binary" else vectors


def _sample(vectors: NDArray[np.float32], nlist: int) -> NDArray[np.float32]:
    """Draw rows (rows, dim) in the order of the file, without zero rows if enough others remain."""
    size = min(nlist * _SAMPLED_PER_LIST, len(vectors))
    sample = vectors[np.sort(np.random.default_rng(0).choice(len(vectors), size, replace=False))]
    filled = sample.any(axis=1)
    return sample[filled] if filled.sum() >= nlist else sample


class FaissIndex:
    """An index of unit vectors (rows, dim) in a file that is mapped into memory; see :func:`build_faiss_index`."""

    def __init__(self, path: Path, vectors: NDArray[np.float32], kind: str) -> None:
        faiss = import_faiss()
        if not path.is_file():
            raise InputError("the index has no file of faiss", path=path, remedy=_REMEDY)
        read = faiss.read_index_binary if kind == "binary" else faiss.read_index
        try:
            self._index = read(str(path)) if kind == "binary" else read(str(path), faiss.IO_FLAG_MMAP)
        except RuntimeError as error:
            raise InputError("not a file of lists that faiss can read", path=path, remedy=_REMEDY) from error
        dimension = 8 * math.ceil(vectors.shape[1] / 8) if kind == "binary" else vectors.shape[1]
        if (self._index.ntotal, self._index.d) != (len(vectors), dimension):
            raise InputError("the lists do not fit the vectors", path=path, remedy=_REMEDY)
        self._vectors, self._kind = vectors, kind

    @property
    def nlist(self) -> int:
        """The number of inverted lists; 0 unless the kind is `ivf`."""
        return int(self._index.nlist) if self._kind == "ivf" else 0

    @property
    def nprobe(self) -> int:
        """The number of lists that a search reads by default: a sixteenth, and at least eight."""
        return min(self.nlist, max(8, self.nlist // 16))

    def search(
        self, queries: NDArray[np.float32], k: int, nprobe: int | None = None, removed: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Find the rows with the highest cosine to each query (queries, dim) among the candidates of faiss.

        Args:
            queries: Unit or zero vectors.
            k: Neighbors per query.
            nprobe: Inverted lists to read per query.
            removed: Rows that are not returned.

        Returns:
            Rows and cosines in double precision, each (queries, k), the nearest first, padded with -1 and 0. Zero
            vectors are left out, as queries and as neighbours.
        """
        removed = np.empty(0, np.int64) if removed is None else removed
        size = min(len(self._vectors), k * _OVERSAMPLING[self._kind] + (len(removed) if self._kind == "binary" else 0))
        parameters = self._parameters(size, nprobe, removed)
        _, listed = self._index.search(_encoded(queries, self._kind), size, params=parameters)
        rows, cosines = np.full((len(queries), k), -1, np.int64), np.zeros((len(queries), k))
        for query, proposed in enumerate(listed):
            candidates = np.setdiff1d(proposed[proposed >= 0], removed)
            best_rows, best_cosines = find_nearest(
                queries[query : query + 1], self._vectors, k, candidate_rows=candidates, skip_zero=True, are_unit=True
            )
            width = best_rows.shape[1]
            rows[query, :width], cosines[query, :width] = best_rows[0], best_cosines[0]
        return rows, cosines

    def _parameters(self, size: int, nprobe: int | None, removed: NDArray[np.int64]) -> Any:
        if self._kind == "binary":
            return None
        faiss = import_faiss()
        options = {"sel": faiss.IDSelectorNot(faiss.IDSelectorBatch(removed))} if len(removed) else {}
        if self._kind == "ivf":
            nprobe = self.nprobe if nprobe is None else nprobe
            return faiss.SearchParametersIVF(nprobe=min(nprobe, self.nlist), **options)
        if self._kind == "hnsw":
            return faiss.SearchParametersHNSW(efSearch=max(_MIN_EXPLORED, 2 * size), **options)
        return faiss.SearchParameters(**options)


def measure_recall(index: FaissIndex, vectors: NDArray[np.float32], queries: NDArray[np.float32]) -> float:
    """Compute the recall of the 10 nearest neighbours of the queries, 0 to 1; ties with the tenth neighbour count."""
    queries, k = queries[queries.any(axis=1)], min(10, len(vectors))
    if not k or not len(queries):
        return 1.0
    _, true_cosines = find_nearest(queries, vectors, k, skip_zero=True, are_unit=True)
    rows, cosines = index.search(queries, k)
    is_nearest = (rows >= 0) & (cosines >= true_cosines[:, k - 1, None] - 1e-5)
    return float(np.mean(is_nearest.sum(axis=1) / k))
