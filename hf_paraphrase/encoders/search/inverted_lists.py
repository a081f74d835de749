"""Approximate search: vectors in lists around centroids, of which a query reads only the nearest.

An inverted file (Jégou, Douze and Schmid 2011) in one safetensors file: `centroids` (lists, dim), the `sizes` of the
lists (lists,), and, list after list, the row numbers `rows` (rows,) and the `vectors` (rows, dim) themselves. It is
read piece by piece and never mapped; the header must fit the file's own size, and the sizes and row numbers must be
those of a corpus of that size, before anything is searched. Queries are searched together: a list is read once for
all that are near it, which is what makes it fast.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ...artefacts.weights import read_header
from ...errors import InputError, ModelError, OutputError
from .centroids import nearest_centroids, train_centroids
from .vector_file import VectorFile

LISTS_FILE = "lists.safetensors"
MOST_LISTS = 2048
_EARLIER_FILE = "lists.faiss"
_REMEDY = "build the index again"
_ROWS_PER_BLOCK = 16_384
_ROWS_PER_LIST = 39
"""With fewer vectors a centroid is badly determined."""
_SAMPLED_PER_LIST = 48
_MOST_CANDIDATES = 2 << 20
"""Row numbers and cosines that are held at a time until the best of all lists are chosen."""


def default_lists(rows: int) -> int:
    """Returns how many lists fit a corpus: four times the root of its rows, at most 2,048."""
    return max(1, min(MOST_LISTS, round(4 * math.sqrt(rows)), rows // _ROWS_PER_LIST))


def default_probes(lists: int) -> int:
    """Returns how many lists a query reads by default: a sixteenth, but at least eight where there are as many."""
    return min(lists, max(8, lists // 16))


def write_lists(
    vectors: VectorFile,
    folder: Path,
    *,
    lists: int,
    seed: int = 0,
    progress: Callable[[int], object] = lambda rows: None,
) -> None:
    """Trains centroids and writes the lists; memory holds the sample and one block, whatever the number of vectors.

    Args:
        vectors: Unit (or zero) vectors (rows, dim).
        folder: Where the file goes.
        lists: The number of lists.
        seed: Seed of the sample and of k-means.
        progress: Called with the number of rows that were placed.
    """
    centroids = train_centroids(_sample(vectors, lists * _SAMPLED_PER_LIST, seed), lists, seed)
    rows = len(vectors)
    assigned = np.empty(rows, np.int32)
    for first in range(0, rows, _ROWS_PER_BLOCK):
        block = vectors[first : first + _ROWS_PER_BLOCK]
        assigned[first : first + len(block)] = nearest_centroids(block, centroids)
    path = folder / LISTS_FILE
    try:
        with path.open("wb") as stream:
            _write(stream, vectors, assigned, centroids, progress)
    except OSError as error:
        raise OutputError(f"cannot write: {error.strerror or error}", path=path) from error


def _sample(vectors: VectorFile, size: int, seed: int) -> NDArray[np.float32]:
    """Draws rows that are not zero (rows, dim), in the order of the file."""
    rows = len(vectors)
    chosen = np.sort(np.random.default_rng(seed).choice(rows, min(size, rows), replace=False))
    sample = vectors.take(chosen)
    filled = sample.any(axis=1)
    return sample[filled] if filled.any() else sample


def _write(
    stream: IO[bytes],
    vectors: VectorFile,
    assigned: NDArray[np.int32],
    centroids: NDArray[np.float32],
    progress: Callable[[int], object],
) -> None:
    rows, dimension = vectors.shape
    sizes = np.bincount(assigned, minlength=len(centroids)).astype("<i8")
    places = _write_header(stream, len(centroids), rows, dimension)
    stream.seek(places["centroids"])
    stream.write(centroids.astype("<f4").tobytes())
    stream.seek(places["sizes"])
    stream.write(sizes.tobytes())
    stream.seek(places["rows"])
    stream.write(np.argsort(assigned, kind="stable").astype("<i8").tobytes())
    # Where the next vector of each list goes.
    following = np.cumsum(sizes) - sizes
    for first in range(0, rows, _ROWS_PER_BLOCK):
        block = vectors[first : first + _ROWS_PER_BLOCK]
        owners = assigned[first : first + len(block)]
        order = np.argsort(owners, kind="stable")
        edges = np.flatnonzero(np.diff(owners[order], prepend=-1)).tolist()
        for begin, end in pairwise([*edges, len(order)]):
            members = order[begin:end]
            number = int(owners[members[0]])
            stream.seek(places["vectors"] + int(following[number]) * 4 * dimension)
            stream.write(block[members].astype("<f4", copy=False).tobytes())
            following[number] += len(members)
        progress(len(block))


def _write_header(stream: IO[bytes], lists: int, rows: int, dimension: int) -> dict[str, int]:
    """Writes the header and makes room for the data; returns where those of each tensor go."""
    shapes = _shapes(lists, rows, dimension)
    header: dict[str, dict[str, Any]] = {}
    end = 0
    for name, (kind, shape) in shapes.items():
        begin, end = end, end + math.prod(shape) * (8 if kind == "I64" else 4)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    stream.write(len(text).to_bytes(8, "little") + text)
    stream.truncate(8 + len(text) + end)
    return {name: 8 + len(text) + entry["data_offsets"][0] for name, entry in header.items()}


def _shapes(lists: int, rows: int, dimension: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The type and shape of each tensor of the file."""
    return {
        "centroids": ("F32", (lists, dimension)),
        "sizes": ("I64", (lists,)),
        "rows": ("I64", (rows,)),
        "vectors": ("F32", (rows, dimension)),
    }


class InvertedLists:
    """The lists of an index folder; memory holds centroids and 8 bytes a vector.

    Attributes:
        sizes: How many vectors each has (lists,).
    """

    def __init__(self, folder: Path, *, rows: int, dimension: int) -> None:
        self.path = folder / LISTS_FILE
        if not self.path.is_file():
            if (folder / _EARLIER_FILE).exists():
                raise InputError(
                    "the lists were made by an earlier version of this program",
                    path=folder,
                    remedy="build the index again, or search exactly (--method exact)",
                )
            raise InputError(f"the index has no {LISTS_FILE}", path=folder, remedy=_REMEDY)
        try:
            header = read_header(self.path)
        except ModelError as error:
            raise InputError("damaged: the header does not fit the file", path=self.path, remedy=_REMEDY) from error
        self.count = math.prod(header["sizes"].shape) if "sizes" in header else 0
        self.dimension = dimension
        wanted = _shapes(self.count, rows, dimension)
        if not self.count or {name: (entry.dtype, entry.shape) for name, entry in header.items()} != wanted:
            raise InputError("the lists do not fit the vectors", path=self.path, remedy=_REMEDY)
        self._vectors_offset = header["vectors"].offset
        with self._open() as stream:
            centroids = self._exactly(stream, header["centroids"].offset, np.float32, self.count * dimension)
            self.sizes = self._exactly(stream, header["sizes"].offset, np.int64, self.count)
            self._rows = self._exactly(stream, header["rows"].offset, np.int64, rows)
        if not np.isfinite(centroids).all() or not self._is_whole(rows):
            raise InputError("the lists do not fit the vectors", path=self.path, remedy=_REMEDY)
        self._centroids = centroids.reshape(self.count, dimension)
        self._edges: list[int] = [0, *np.cumsum(self.sizes).tolist()]

    def search(
        self, queries: NDArray[np.float32], k: int, probes: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Finds the k rows of the greatest cosine in the nearest lists.

        Args:
            queries: Unit vectors (queries, dim).
            k: How many.
            probes: How many lists are read.

        Returns:
            Row numbers (queries, k), the nearest first, -1 where the lists hold fewer; and their cosines (queries, k).
        """
        probes = min(probes, self.count)
        width = min(k, int(self.sizes.max()))
        rows = np.full((len(queries), k), -1, np.int64)
        cosines = np.zeros(rows.shape, np.float32)
        step = max(1, _MOST_CANDIDATES // (probes * width))
        for first in range(0, len(queries), step):
            places, scores = self._best(queries[first : first + step], min(k, probes * width), probes, width)
            neighbor_rows = np.where(np.isneginf(scores), -1, self._rows[places])
            rows[first : first + step, : neighbor_rows.shape[1]] = neighbor_rows
            cosines[first : first + step, : neighbor_rows.shape[1]] = np.where(neighbor_rows < 0, 0, scores)
        if not np.isfinite(cosines).all():
            raise InputError("the lists hold vectors with NaN or infinity", path=self.path, remedy=_REMEDY)
        return rows, cosines

    def neighbouring(self, probes: int) -> Iterator[tuple[int, list[int]]]:
        """Returns for each list those of no smaller number that are near it, itself first.

        Two lists are near if either is among the `probes` lists whose centroids are nearest to the other's (its own
        counts), so that every unordered pair of near lists comes once.
        """
        _, nearest = _greatest(self._centroids @ self._centroids.T, min(probes, self.count))
        owners = np.repeat(np.arange(self.count), nearest.shape[1])
        pairs = np.unique(np.sort(np.stack([owners, nearest.reshape(-1)], axis=1), axis=1), axis=0)
        for number in range(self.count):
            others = pairs[pairs[:, 0] == number, 1].tolist()
            yield number, [number, *(other for other in others if other != number)]

    def read(self, number: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Reads the row numbers (rows,) and the vectors (rows, dim) of a list."""
        begin, end = self._edges[number : number + 2]
        with self._open() as stream:
            place = self._vectors_offset + begin * 4 * self.dimension
            vectors = self._exactly(stream, place, np.float32, (end - begin) * self.dimension)
        return self._rows[begin:end], vectors.reshape(end - begin, self.dimension)

    def _best(
        self, queries: NDArray[np.float32], k: int, probes: int, width: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Finds the k best places in the lists for each query, and their cosines, -inf where there are fewer."""
        _, nearest = _greatest(queries @ self._centroids.T, probes)
        near = nearest.reshape(-1)
        order = np.argsort(near, kind="stable")
        scores = np.full((len(order), width), -np.inf, np.float32)
        places = np.zeros((len(order), width), np.int64)
        edges = np.cumsum(np.bincount(near, minlength=self.count)).tolist()
        block = np.empty((int(self.sizes.max()), self.dimension), "<f4")
        with self._open() as stream:
            # All in the order of the file.
            for number, (first, last) in enumerate(pairwise([0, *edges])):
                begin, end = self._edges[number : number + 2]
                if first == last or begin == end:
                    continue
                part, slots = block[: end - begin], order[first:last]
                stream.seek(self._vectors_offset + begin * 4 * self.dimension)
                self._fill(stream, part)
                kept = min(width, end - begin)
                best, columns = _greatest(queries[slots // probes] @ part.T, kept)
                scores[slots, :kept] = best
                places[slots, :kept] = columns + begin
        best, columns = _greatest(scores.reshape(len(queries), -1), k)
        return np.take_along_axis(places.reshape(len(queries), -1), columns, axis=1), best

    def _is_whole(self, rows: int) -> bool:
        """Returns whether the sizes add up and every row is in one list, once."""
        if self.sizes.min() < 0 or self.sizes.max() > rows or int(self.sizes.sum()) != rows:
            return False
        seen = np.zeros(rows, bool)
        with suppress(IndexError):
            seen[self._rows] = True
        return bool(seen.all()) and bool((self._rows >= 0).all())

    def _open(self) -> IO[bytes]:
        try:
            return self.path.open("rb", buffering=0)
        except OSError as error:
            raise InputError(f"cannot read: {error.strerror or error}", path=self.path, remedy=_REMEDY) from error

    def _exactly(self, stream: IO[bytes], offset: int, kind: Any, count: int) -> NDArray[Any]:
        values = np.empty(count, np.dtype(kind).newbyteorder("<"))
        stream.seek(offset)
        self._fill(stream, values)
        return values

    def _fill(self, stream: IO[bytes], values: NDArray[Any]) -> None:
        buffer, filled = values.reshape(-1).view(np.uint8).data, 0
        while filled < len(buffer):
            try:
                count = stream.readinto(buffer[filled:])  # type: ignore[attr-defined]
            except OSError as error:
                raise InputError(f"cannot read: {error.strerror or error}", path=self.path) from error
            if not count:
                raise InputError("the file ends too early", path=self.path, remedy=_REMEDY)
            filled += count


def _greatest(values: NDArray[np.float32], k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Finds the k greatest values of each row (rows, columns), falling, and their columns, each (rows, k)."""
    import torch

    greatest = torch.from_numpy(values).topk(k)
    return greatest.values.numpy(), greatest.indices.numpy()
