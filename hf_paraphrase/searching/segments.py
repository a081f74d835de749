"""Segments: immutable parts of an index, written once and then mapped into memory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..artefacts.files import open_array
from ..encoders.search_embedder import SearchEmbedder
from ..errors import InputError
from ..text.hashing import are_among, hash64, hash_rows
from ..text.normalization import normalize_texts
from ..vectors.faiss_index import FaissIndex, build_faiss_index, measure_recall
from ..vectors.storage import npy_writer, open_vectors
from .bm25 import WordIndex
from .manifest import Manifest, SegmentEntry

SEGMENTS_FOLDER, ROWS_FILE, VECTORS_FILE, FAISS_FILE = "segments", "rows.arrow", "vectors.npy", "index.faiss"
SENTENCE, POSITION, ID = "sentence", "position", "id"
KEYS = ("row", "text", "id")
"""The hashes of a row: of all its values, of its text except for case and spacing, and of its id."""
_MIN_APPROXIMATE_ROWS = 10_000
"""Smaller segments are searched exactly, which takes no longer."""
_RECALL_QUERIES = 200
Keys = dict[str, NDArray[np.uint64]]
Rows = tuple[pa.Table, NDArray[np.float32], Keys]
"""Rows, their vectors (rows, dim) of length 1 or 0, and their keys."""


def hash_keys(table: pa.Table) -> Keys:
    """Hash rows for each of :data:`KEYS`: (rows,), uint64; the key of a missing id is 0."""
    texts = table[SENTENCE].combine_chunks()
    others = [name for name in table.column_names if name not in (SENTENCE, POSITION)]
    values = [""] * len(table)
    if others:
        # A missing column equals a column without a value.
        rows = (sorted((k, v) for k, v in row.items() if v is not None) for row in table.select(others).to_pylist())
        values = [repr(row) if row else "" for row in rows]
    ids = np.zeros(len(table), np.uint64)
    if ID in others:
        names = table[ID].to_pylist()
        ids[:] = [0 if name is None else key for name, key in zip(names, hash64(map(str, names)), strict=True)]
    return {
        "row": hash_rows(texts, pa.array(values, pa.string())),
        "text": hash_rows(normalize_texts(texts)),
        "id": ids,
    }


def write_segment(
    index: Path, parts: Iterable[Rows], manifest: Manifest, embedder: SearchEmbedder | None, *, is_first: bool = False
) -> SegmentEntry | None:
    """Write rows into a new segment of an index folder; return None if there are no rows.

    The first segment of an approximate index has faiss files whatever its size. The queries that measure its recall
    are no rows: the first halves of some texts.
    """
    # The newest segment is never removed before a newer one exists, so no name is used twice.
    names = [int(path.name) for path in (index / SEGMENTS_FOLDER).glob("*") if path.name.isdecimal()]
    folder = index / SEGMENTS_FOLDER / f"{max(names, default=-1) + 1:06d}"
    try:
        num_rows, zero_rows = _write_rows(folder, parts, manifest.dimension)
        if not num_rows:
            shutil.rmtree(folder)
            return None
        table, nlist, recall = _read_rows(folder), 0, None
        WordIndex.build(batch.column(SENTENCE).to_pylist() for batch in table.to_batches()).save(folder)
        is_large = is_first or num_rows >= _MIN_APPROXIMATE_ROWS
        if embedder is not None and manifest.method != "exact" and is_large:
            vectors = open_vectors(folder / VECTORS_FILE)
            build_faiss_index(vectors, folder / FAISS_FILE, manifest.method)
            approximate = FaissIndex(folder / FAISS_FILE, vectors, manifest.method)
            sample = np.unique(np.linspace(0, num_rows - 1, _RECALL_QUERIES).astype(np.int64)).tolist()
            words = [table[SENTENCE][row].as_py().split() for row in sample]
            queries = embedder.embed([" ".join(each[: (len(each) + 1) // 2]) for each in words])
            nlist, recall = approximate.nlist, measure_recall(approximate, vectors, queries)
        for path in folder.iterdir():
            with path.open("rb") as stream:
                os.fsync(stream.fileno())
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return SegmentEntry(folder.name, num_rows, zero_rows, nlist=nlist, recall=recall)


def _write_rows(folder: Path, parts: Iterable[Rows], dimension: int) -> tuple[int, int]:
    """Write rows, vectors and sorted keys; return the numbers of rows and of zero vectors."""
    folder.mkdir(parents=True)
    all_keys: dict[str, list[NDArray[np.uint64]]] = {name: [] for name in KEYS}
    num_rows = zero_rows = 0
    stream: Any = None
    with ExitStack() as stack:
        writer = stack.enter_context(npy_writer(folder / VECTORS_FILE, dimension))
        for table, vectors, keys in parts:
            if stream is None:
                sink = stack.enter_context(pa.OSFile(str(folder / ROWS_FILE), "wb"))
                stream = stack.enter_context(pa.ipc.new_stream(sink, table.schema))
            stream.write_table(table.combine_chunks())
            writer.write(vectors)
            for name in KEYS:
                all_keys[name].append(keys[name])
            num_rows += len(table)
            zero_rows += int((~vectors.any(axis=1)).sum())
    for name, blocks in all_keys.items():
        joined = np.concatenate([np.empty(0, np.uint64), *blocks])
        order = np.argsort(joined, kind="stable")
        np.save(folder / f"{name}_keys.npy", np.stack([joined[order], order.astype(np.uint64)]))
    return num_rows, zero_rows


def _read_rows(folder: Path) -> pa.Table:
    path = folder / ROWS_FILE
    try:
        return pa.ipc.open_stream(pa.memory_map(str(path))).read_all()
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"damaged: {error}", path=path, remedy="build the index again") from error


class Segment:
    """An open segment: rows, vectors, words, keys, and the removed rows.

    Args:
        index: The folder of the index.
        entry: The segment in the manifest.
        manifest: The manifest.
    """

    def __init__(self, index: Path, entry: SegmentEntry, manifest: Manifest) -> None:
        self.folder, self.entry, self._method = index / SEGMENTS_FOLDER / entry.name, entry, manifest.method
        self.table, self.vectors = _read_rows(self.folder), open_vectors(self.folder / VECTORS_FILE)
        rows, expected = len(self.table), (entry.rows, manifest.dimension)
        if not self.vectors.shape == expected == (rows, manifest.dimension):
            what = f"{rows} sentences and vectors of shape {self.vectors.shape}, where {expected} is expected"
            raise InputError(what, path=self.folder, remedy="build the index again")
        self.removed = np.empty(0, np.int64) if entry.removed is None else open_array(self.folder / entry.removed)
        # A mapped file can be read after another process has merged the segment and removed its folder.
        self.words = WordIndex.open(self.folder)
        self._keys = {kind: open_array(self.folder / f"{kind}_keys.npy") for kind in KEYS}

    @cached_property
    def approximate(self) -> FaissIndex | None:
        """The approximate index; None for a small or since merged segment, which is searched exactly."""
        if self.entry.recall is None or not self.folder.is_dir():
            return None
        return FaissIndex(self.folder / FAISS_FILE, self.vectors, self._method)

    def _sorted_keys(self, kind: str) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the keys, ascending, and the row of each (rows,)."""
        keys, rows = self._keys[kind]
        return keys, rows.view(np.int64)

    def keys(self, kind: str) -> NDArray[np.uint64]:
        """Return the key of each row (rows,)."""
        keys, rows = self._sorted_keys(kind)
        by_row = np.empty_like(keys)
        by_row[rows] = keys
        return by_row

    def find(self, kind: str, keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Return the live rows that have one of the keys, ascending, and their keys."""
        ordered, rows = self._sorted_keys(kind)
        keys = np.unique(keys[keys != 0] if kind == "id" else keys)
        starts, stops = (np.searchsorted(ordered, keys, side=side) for side in ("left", "right"))
        counts = stops - starts
        positions = np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        matching, own = rows[positions], ordered[positions]
        order = np.argsort(matching)
        order = order[~are_among(matching[order], self.removed)]
        return matching[order], own[order]


def remove_leftovers(index: Path, manifest: Manifest) -> None:
    """Remove the segments that the manifest does not name: merged segments, and segments of a killed run."""
    names = {entry.name for entry in manifest.segments}
    for path in (index / SEGMENTS_FOLDER).glob("*"):
        if path.name not in names:
            shutil.rmtree(path, ignore_errors=True)


def locate(starts: NDArray[np.int64], rows: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[Any], NDArray[Any]]]:
    """Distribute rows over parts that begin at the rows `starts`.

    Yields:
        For each part with some of the rows its index, the positions of these rows in `rows`, and the rows counted from
        the start of the part.
    """
    parts = np.searchsorted(starts, rows, side="right") - 1
    for part in np.unique(parts).tolist():
        positions = np.flatnonzero(parts == part)
        yield part, positions, rows[positions] - starts[part]
