"""Approximate search: vectors in lists around centroids, of which a query reads only the nearest.

The index is an inverted file (Jégou, Douze and Schmid 2011) of the library faiss: k-means centroids, trained on a
sample, and behind them the vectors themselves, uncompressed, in a file beside the index. Other programs open it with
`faiss.read_index(".../lists.faiss", faiss.IO_FLAG_ONDISK_SAME_DIR)`.

Of the libraries at hand faiss was taken: maintained by its authors, MIT, wheels for all systems (one for all Python
versions), and it can keep its lists on disk. hnswlib comes as source only; usearch is kept up and smaller, but both
have graphs only, which must be in memory to be built.
"""

from __future__ import annotations

import ctypes
import math
import mmap
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, UsageError
from .vector_file import VectorFile

INDEX_FILE = "lists.faiss"
LISTS_FILE = "lists.bin"
MOST_LISTS = 2048
_ROWS_PER_BLOCK = 16_384
_ROWS_PER_LIST = 39  # with fewer vectors a centroid is badly determined, as faiss would warn
_SAMPLED_PER_LIST = 48
_ID_BYTES = 8
_MAPPED_BYTES = 64 << 20
"""About how much of the file is read before its pages are given back."""


def default_lists(rows: int) -> int:
    """Returns how many lists fit a corpus: four times the root of its rows, at most 2,048."""
    return max(1, min(MOST_LISTS, round(4 * math.sqrt(rows)), rows // _ROWS_PER_LIST))


def default_probes(lists: int) -> int:
    """Returns how many lists a query reads by default: a sixteenth, but at least eight where there are as many."""
    return min(lists, max(8, lists // 16))


def import_faiss() -> Any:
    """Imports faiss.

    Raises:
        UsageError: If it is not installed.
    """
    try:
        import faiss
    except ImportError as error:
        raise UsageError(
            "approximate search needs the package faiss-cpu, which is not installed",
            remedy='pip install "hf-paraphrase[search]", or search exactly',
        ) from error
    return faiss


def write_lists(
    vectors: VectorFile,
    folder: Path,
    *,
    lists: int,
    probes: int,
    seed: int = 0,
    progress: Callable[[int], object] = lambda rows: None,
) -> None:
    """Trains centroids and writes the lists; memory holds the sample and one block, whatever the number of vectors.

    Args:
        vectors: Unit (or zero) vectors (rows, dim).
        folder: Where the two files go.
        lists: The number of lists.
        probes: How many of them a query reads unless it says otherwise.
        seed: Seed of the sample and of k-means.
        progress: Called with the number of rows that were placed.

    Raises:
        UsageError: If faiss is not installed.
    """
    faiss = import_faiss()
    rows, dimension = vectors.shape
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(dimension), dimension, lists, faiss.METRIC_INNER_PRODUCT)
    index.cp.spherical, index.cp.seed = True, seed
    # Not to be chosen by the number of threads: sums of several threads round differently.
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        index.train(_sample(vectors, lists * _SAMPLED_PER_LIST, seed))
        assigned = np.empty(rows, np.int32)
        for first in range(0, rows, _ROWS_PER_BLOCK):
            block = vectors[first : first + _ROWS_PER_BLOCK]
            assigned[first : first + len(block)] = index.quantizer.search(block, 1)[1][:, 0]
    finally:
        faiss.omp_set_num_threads(threads)
    sizes = np.bincount(assigned, minlength=lists).astype(np.uint64)
    _write_vectors(vectors, assigned, sizes, folder / LISTS_FILE, progress)
    on_disk = faiss.OnDiskInvertedLists(lists, index.code_size, str(folder / LISTS_FILE))
    on_disk.set_all_lists_sizes(faiss.swig_ptr(sizes))
    on_disk.totsize = (folder / LISTS_FILE).stat().st_size
    on_disk.read_only = True
    # The folder will be moved; a reader looks beside the index.
    on_disk.filename = LISTS_FILE
    index.replace_invlists(on_disk, False)
    index.ntotal, index.nprobe = rows, probes
    faiss.write_index(index, str(folder / INDEX_FILE))


def _sample(vectors: VectorFile, size: int, seed: int) -> NDArray[np.float32]:
    """Draws rows that are not zero (rows, dim), in the order of the file."""
    rows = len(vectors)
    chosen = np.sort(np.random.default_rng(seed).choice(rows, min(size, rows), replace=False))
    sample = vectors.take(chosen)
    filled = sample.any(axis=1)
    return sample[filled] if filled.any() else sample


def _write_vectors(
    vectors: VectorFile,
    assigned: NDArray[np.int32],
    sizes: NDArray[np.uint64],
    path: Path,
    progress: Callable[[int], object],
) -> None:
    """Writes for each list its vectors and then their row numbers, as int64."""
    rows, dimension = vectors.shape
    width = 4 * dimension
    starts = np.concatenate([[0], np.cumsum(sizes.astype(np.int64))]) * (width + _ID_BYTES)
    filled = np.zeros(len(sizes), np.int64)
    with path.open("wb") as stream:
        stream.truncate(int(starts[-1]))
        for first in range(0, rows, _ROWS_PER_BLOCK):
            block = vectors[first : first + _ROWS_PER_BLOCK]
            owners = assigned[first : first + len(block)]
            order = np.argsort(owners, kind="stable")
            edges = np.flatnonzero(np.diff(owners[order], prepend=-1)).tolist()
            for begin, end in pairwise([*edges, len(order)]):
                members = order[begin:end]
                number = int(owners[members[0]])
                stream.seek(int(starts[number] + filled[number] * width))
                stream.write(block[members].tobytes())
                stream.seek(int(starts[number] + int(sizes[number]) * width + filled[number] * _ID_BYTES))
                stream.write((members.astype(np.int64) + first).tobytes())
                filled[number] += len(members)
            progress(len(block))


class InvertedLists:
    """The lists of an index folder.

    Args:
        folder: A folder that :func:`write_lists` filled.
        rows: How many vectors there must be.
        dimension: How many components they must have.

    Raises:
        UsageError: If faiss is not installed.
        InputError: If a file is missing, damaged, or does not fit the others.
    """

    def __init__(self, folder: Path, *, rows: int, dimension: int) -> None:
        self._faiss = import_faiss()
        self.path = folder / LISTS_FILE
        remedy = "build the index again"
        for name in (INDEX_FILE, LISTS_FILE):
            if not (folder / name).is_file():
                raise InputError(f"the index has no {name}", path=folder, remedy=remedy)
        if self.path.stat().st_size != rows * (4 * dimension + _ID_BYTES):
            raise InputError("the lists have another size than the vectors", path=self.path, remedy=remedy)
        # The flag that looks for the lists beside the index would have faiss print to standard output.
        flags = self._faiss.IO_FLAG_SKIP_IVF_DATA | self._faiss.IO_FLAG_READ_ONLY
        try:
            self._index = self._faiss.read_index(str(folder / INDEX_FILE), flags)
            on_disk = self._faiss.downcast_InvertedLists(self._index.invlists)
            on_disk.filename = str(self.path)
            on_disk.do_mmap()
        except (RuntimeError, AttributeError) as error:
            raise InputError(
                f"not a readable faiss index: {error}", path=folder / INDEX_FILE, remedy=remedy
            ) from error
        if self._index.ntotal != rows or self._index.d != dimension or not hasattr(on_disk, "ptr"):
            raise InputError("the lists do not fit the vectors", path=folder / INDEX_FILE, remedy=remedy)
        self._on_disk = on_disk
        self.dimension = dimension
        self.count = int(self._index.nlist)
        self.probes = int(self._index.nprobe)
        self.sizes = np.array([on_disk.list_size(number) for number in range(self.count)], np.int64)
        self._starts = np.concatenate([[0], np.cumsum(self.sizes)]) * (4 * dimension + _ID_BYTES)

    def search(self, queries: NDArray[np.float32], k: int, probes: int) -> NDArray[np.int64]:
        """Finds the k rows of the greatest cosine in the nearest lists.

        Args:
            queries: Unit vectors (queries, dim).
            k: How many.
            probes: How many lists are read.

        Returns:
            Row numbers (queries, k), the nearest first; -1 where the lists hold fewer.
        """
        probes = min(probes, self.count)
        parameters = self._faiss.SearchParametersIVF(nprobe=probes)
        rows = np.empty((len(queries), k), np.int64)
        step = max(1, _MAPPED_BYTES * self.count // max(1, int(self._on_disk.totsize) * probes))
        for first in range(0, len(queries), step):
            part = np.ascontiguousarray(queries[first : first + step])
            rows[first : first + len(part)] = self._index.search(part, k, params=parameters)[1]
            self._let_go()
        return rows

    def neighbouring(self, probes: int) -> Iterator[tuple[int, list[int]]]:
        """Gives for each list those of no smaller number that are near it, itself first.

        Two lists are near if either is among the `probes` lists whose centroids are nearest to the other's (its own
        counts), so that every unordered pair of near lists comes once.
        """
        centroids = self._index.quantizer.reconstruct_n(0, self.count)
        _, nearest = self._index.quantizer.search(centroids, min(probes, self.count))
        owners = np.repeat(np.arange(self.count), nearest.shape[1])
        pairs = np.sort(np.stack([owners, nearest.reshape(-1)], axis=1), axis=1)
        pairs = np.unique(pairs[pairs[:, 0] >= 0], axis=0)
        for number in range(self.count):
            others = pairs[pairs[:, 0] == number, 1].tolist()
            yield number, [number, *(other for other in others if other != number)]

    def read(self, number: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Reads the row numbers (rows,) and the vectors (rows, dim) of a list."""
        size = int(self.sizes[number])
        with self.path.open("rb") as stream:
            stream.seek(int(self._starts[number]))
            vectors = _exactly(stream, np.dtype(np.float32), size * self.dimension, self.path)
            return _exactly(stream, np.dtype(np.int64), size, self.path), vectors.reshape(size, self.dimension)

    def _let_go(self) -> None:
        """Gives the pages of the mapped lists back: faiss maps the file, and what was read would count as memory."""
        advice = getattr(mmap, "MADV_DONTNEED", None)
        if advice is not None and self._on_disk.totsize:
            function = getattr(ctypes.CDLL(None), "madvise", None)
            if function is not None:
                address, size = ctypes.c_void_p(int(self._on_disk.ptr)), ctypes.c_size_t(self._on_disk.totsize)
                function(address, size, ctypes.c_int(advice))


def _exactly(stream: IO[bytes], kind: np.dtype[Any], count: int, path: Path) -> NDArray[Any]:
    values = np.fromfile(stream, kind, count)
    if len(values) != count:
        raise InputError("the file ends too early", path=path, remedy="build the index again")
    return values
