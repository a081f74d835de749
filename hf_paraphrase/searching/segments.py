"""Segments: immutable parts of an index, written once and then mapped into memory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..artefacts.files import open_array
from ..data.folder import DataFolder
from ..errors import InputError
from ..text.hashing import are_among, hash64, hash_rows
from ..text.normalization import normalize_texts
from ..vectors.faiss_index import FaissIndex, build_faiss_index
from ..vectors.storage import npy_writer, open_vectors
from .bm25 import WordIndex, WordIndexBuilder
from .manifest import SegmentEntry

ROWS_FILE, VECTORS_FILE, FAISS_FILE = "rows.arrow", "vectors.npy", "index.faiss"
SENTENCE, POSITION, ID = "sentence", "position", "id"
KEYS = ("row", "text", "id")
"""What rows are looked up by: all their values, their text but for case and spacing, and their id."""
_MIN_APPROXIMATE_ROWS = 10_000
"""Smaller segments are searched exactly, which takes no longer."""


def row_keys(table: pa.Table) -> dict[str, NDArray[np.uint64]]:
    """Hashes rows for each of :data:`KEYS`: (rows,), uint64; the key of a missing id is 0."""
    texts = table[SENTENCE].combine_chunks()
    others = [name for name in table.column_names if name not in (SENTENCE, POSITION)]
    values = [""] * len(table)
    if others:
        # A column that is missing is the same as one without a value.
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


class SegmentWriter:
    """Writes a segment block by block into a new folder; a context manager that removes the folder after an error."""

    def __init__(self, folder: Path, dimension: int) -> None:
        self.folder, self.rows, self.zero_rows = folder, 0, 0
        self._dimension = dimension
        self._stack = ExitStack()
        self._stream: Any = None
        self._words = WordIndexBuilder()
        self._keys: dict[str, list[NDArray[np.uint64]]] = {name: [] for name in KEYS}

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True)
        self._vectors = self._stack.enter_context(npy_writer(self.folder / VECTORS_FILE, self._dimension))
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)
        if error[0] is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, table: pa.Table, vectors: NDArray[np.float32], keys: dict[str, NDArray[np.uint64]]) -> None:
        """Appends rows with their vectors (rows, dim) of length 1 or 0 and their keys, see :func:`row_keys`."""
        if self._stream is None:
            sink = self._stack.enter_context(pa.OSFile(str(self.folder / ROWS_FILE), "wb"))
            self._stream = self._stack.enter_context(pa.ipc.new_stream(sink, table.schema))
        self._stream.write_table(table.combine_chunks())
        self._vectors.write(vectors)
        self._words.add(table[SENTENCE].to_pylist())
        for name, parts in self._keys.items():
            parts.append(keys[name])
        self.rows += len(table)
        self.zero_rows += int((~vectors.any(axis=1)).sum())

    def finish(self, method: str, *, is_first: bool = False) -> SegmentEntry:
        """Completes the files; the first segment of an index has an approximate index whatever its size."""
        self._stack.close()
        self._words.build().save(self.folder)
        for name, parts in self._keys.items():
            keys = np.concatenate(parts)
            order = np.argsort(keys, kind="stable")
            np.save(self.folder / f"{name}_keys.npy", np.stack([keys[order], order.astype(np.uint64)]))
        nlist = 0
        if method != "exact" and (is_first or self.rows >= _MIN_APPROXIMATE_ROWS):
            vectors = open_vectors(self.folder / VECTORS_FILE)
            build_faiss_index(vectors, self.folder / FAISS_FILE, method)
            nlist = FaissIndex(self.folder / FAISS_FILE, vectors, method).nlist
        for path in self.folder.iterdir():
            with path.open("rb") as stream:
                os.fsync(stream.fileno())
        return SegmentEntry(self.folder.name, self.rows, self.zero_rows, nlist=nlist)


class Segment:
    """A segment that is open: rows, vectors, words and keys, and which rows are removed.

    Args:
        folder: The folder of the segment; of an index of version 0.1 or 0.2, the folder of the index.
        entry: The segment in the manifest.
        dimension: Components of a vector.
    """

    def __init__(self, folder: Path, entry: SegmentEntry, dimension: int) -> None:
        self.folder, self.entry = folder, entry
        if (folder / ROWS_FILE).exists():
            try:
                self.batches = pa.ipc.open_stream(pa.memory_map(str(folder / ROWS_FILE))).read_all().to_batches()
            except (pa.ArrowException, OSError) as error:
                raise InputError(
                    f"damaged: {error}", path=folder / ROWS_FILE, remedy="build the index again"
                ) from error
        else:
            data = DataFolder(folder)
            data.require(SENTENCE, POSITION)
            self.batches = data.table().combine_chunks().to_batches()
        self.vectors = open_vectors(folder / VECTORS_FILE)
        rows, expected = sum(map(len, self.batches)), (entry.rows, dimension)
        if not self.vectors.shape == expected == (rows, dimension):
            what = f"{rows} sentences and vectors of shape {self.vectors.shape}, where {expected} is expected"
            raise InputError(what, path=folder, remedy="build the index again")
        self.removed = np.empty(0, np.int64) if entry.removed is None else open_array(folder / entry.removed)
        self._starts = np.cumsum([0, *map(len, self.batches)])
        self._approximate: FaissIndex | None = None

    @property
    def schema(self) -> pa.Schema:
        """The columns of the rows."""
        return self.batches[0].schema

    def live_rows(self) -> NDArray[np.int64]:
        """Returns the rows that are not removed, ascending."""
        return np.setdiff1d(np.arange(self.entry.rows), self.removed, assume_unique=True)

    def take(self, rows: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
        """Yields some rows (rows,) in their order, in one or more batches."""
        # Of a table in many chunks a few rows cannot be taken without a copy of all.
        batches = np.searchsorted(self._starts, rows, side="right") - 1
        for part in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(batches)) + 1):
            if len(part):
                batch = int(batches[part[0]])
                yield self.batches[batch].take(pa.array(rows[part] - self._starts[batch]))

    @cached_property
    def words(self) -> WordIndex:
        """The postings of the words; an index of version 0.1 or 0.2 counts them when they are first needed."""
        if (self.folder / "word_keys.npy").exists():
            return WordIndex.open(self.folder)
        return WordIndex.build(batch.column(SENTENCE).to_pylist() for batch in self.batches)

    def approximate(self, method: str) -> FaissIndex | None:
        """Opens the approximate index of a method; None for a segment that is searched exactly."""
        if self.entry.recall is None:
            return None
        if self._approximate is None:
            self._approximate = FaissIndex(self.folder / FAISS_FILE, self.vectors, method)
        return self._approximate

    @cached_property
    def _computed_keys(self) -> dict[str, NDArray[np.uint64]]:
        return row_keys(pa.Table.from_batches(self.batches))

    def _key_table(self, kind: str) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Returns keys, ascending, and the row of each (rows,)."""
        path = self.folder / f"{kind}_keys.npy"
        if path.exists():
            keys, rows = open_array(path)
            return keys, rows.view(np.int64)
        keys = self._computed_keys[kind]
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    def keys(self, kind: str) -> NDArray[np.uint64]:
        """Returns the key of each row (rows,)."""
        keys, rows = self._key_table(kind)
        by_row = np.empty_like(keys)
        by_row[rows] = keys
        return by_row

    def find(self, kind: str, keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Returns the rows that have one of the keys and are not removed, ascending, and their keys."""
        ordered, rows = self._key_table(kind)
        keys = np.unique(keys[keys != 0] if kind == "id" else keys)
        starts, stops = (np.searchsorted(ordered, keys, side=side) for side in ("left", "right"))
        counts = stops - starts
        places = np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        found, own = rows[places], ordered[places]
        order = np.argsort(found)
        order = order[~are_among(found[order], self.removed)]
        return found[order], own[order]


def conform(table: pa.Table, schema: pa.Schema | None) -> pa.Table:
    """Casts the columns that a schema has to its types, and puts sentence and position first."""
    names = [SENTENCE, POSITION, *(name for name in table.column_names if name not in (SENTENCE, POSITION))]
    table = table.select(names)
    for place, field in enumerate(table.schema):
        wanted = pa.string() if field.name == SENTENCE else field.type
        if schema is not None and field.name in schema.names:
            wanted = schema.field(field.name).type
        if field.type != wanted:
            try:
                table = table.set_column(place, field.name, table[field.name].cast(wanted))
            except (pa.ArrowException, OSError) as error:
                what = f"the types of the columns are not those of the index: {field.name}: {error}"
                raise InputError(what, remedy="give columns of the same types, or build the index again") from error
    return table


def union_schema(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """Returns the columns of all segments, each with the type that it has first."""
    fields: dict[str, pa.Field] = {}
    for schema in schemas:
        for field in schema:
            if field.name not in fields or pa.types.is_null(fields[field.name].type):
                fields[field.name] = field
    return pa.schema(list(fields.values()))


def with_columns(batch: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """Gives rows all columns of a schema; a column that they lack is null."""
    present = set(batch.schema.names)
    columns = [
        batch.column(field.name).cast(field.type) if field.name in present else pa.nulls(len(batch), field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)
