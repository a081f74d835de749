"""One state of an index: its segments as a single list of rows, which searches read while others change the folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..data.row_selection import take_rows
from ..errors import UsageError
from ..settings import Option
from ..vectors.exact_search import find_nearest
from ..vectors.faiss_index import KINDS
from ..vectors.similarity import check_counts
from .bm25 import Bm25
from .filters import select_rows
from .manifest import Manifest
from .segments import (
    KEYS,
    Rows,
    Segment,
    locate,
)

_ATTEMPTS = 5
_ROWS_PER_BATCH = 10_000
METHODS = ("exact", "approximate", *KINDS)


class Vectors:
    """The vectors of all segments as one matrix (rows, dim); indexing by a slice or an array copies rows."""

    ndim = 2

    def __init__(self, parts: Sequence[NDArray[np.float32]], dimension: int) -> None:
        self._parts, self._starts = parts, np.cumsum([0, *map(len, parts)])
        self.shape = (int(self._starts[-1]), dimension)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | NDArray[np.int64]) -> NDArray[np.float32]:
        rows = np.arange(*rows.indices(len(self))) if isinstance(rows, slice) else rows
        vectors = np.empty((len(rows), self.shape[1]), np.float32)
        for part, positions, own in locate(self._starts, rows):
            vectors[positions] = self._parts[part][own]
        return vectors


class Snapshot:
    """The open segments of one manifest.

    Rows are numbered from 0 over all segments, removed rows included, until segments are merged.

    Attributes:
        manifest: The manifest of the folder.
        table: All rows, removed rows included, with the columns of all segments.
        vectors: Their vectors.
        removed: The removed rows, ascending.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.manifest = manifest
        self.segments = [Segment(folder, entry, manifest) for entry in manifest.segments]
        self.starts = np.cumsum([0, *(entry.rows for entry in manifest.segments)])
        self.vectors = Vectors([segment.vectors for segment in self.segments], manifest.dimension)
        removed = [segment.removed + start for segment, start in zip(self.segments, self.starts, strict=False)]
        self.removed: NDArray[np.int64] = np.concatenate([np.empty(0, np.int64), *removed])
        self.table = pa.concat_tables([segment.table for segment in self.segments], promote_options="default")
        self._batches = self.table.to_batches()
        self._batch_starts = np.cumsum([0, *map(len, self._batches)]).tolist()

    @classmethod
    def open(cls, folder: Path) -> Snapshot:
        """Open the current state of an index folder."""
        for attempt in range(_ATTEMPTS):
            manifest = Manifest.read_from(folder)
            try:
                return cls(folder, manifest)
            except Exception:
                # Another process may have merged segments and removed their files.
                if attempt + 1 == _ATTEMPTS or Manifest.read_from(folder) == manifest:
                    raise
        raise AssertionError

    def __len__(self) -> int:
        return self.manifest.rows

    @cached_property
    def live_rows(self) -> NDArray[np.int64] | None:
        """The rows that are not removed, ascending; None if no row is removed."""
        return np.setdiff1d(np.arange(len(self.table)), self.removed) if len(self.removed) else None

    def take(self, rows: NDArray[np.int64]) -> pa.Table:
        """Return some rows (rows,) in their order, with all columns."""
        return take_rows(self._batches.__getitem__, self._batch_starts, rows, self.table.schema)

    def select(self, filters: str | Sequence[str]) -> NDArray[np.int64]:
        """Return the rows that pass all filters, ascending; see :func:`~.filters.select_rows`."""
        return np.setdiff1d(select_rows(self.table, filters), self.removed, assume_unique=True)

    def find(self, kind: str, keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Return the live rows that have one of the keys, ascending, and their keys."""
        parts = [segment.find(kind, keys) for segment in self.segments]
        rows = [rows + start for (rows, _), start in zip(parts, self.starts, strict=False)]
        return np.concatenate(rows), np.concatenate([own for _, own in parts])

    @cached_property
    def text_keys(self) -> NDArray[np.uint64]:
        """Hashes of all texts (rows,), equal for texts that differ in case and spacing only."""
        return np.concatenate([segment.keys("text") for segment in self.segments])

    @cached_property
    def bm25(self) -> Bm25:
        """The words of all segments; removed rows count in the frequencies until their segment is merged."""
        return Bm25([segment.words for segment in self.segments])

    def search_vectors(
        self,
        vectors: NDArray[np.float32],
        k: int,
        *,
        method: str | None = None,
        nprobe: int | None = None,
        candidate_rows: NDArray[np.int64] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Find the rows with the highest cosine to each query.

        Args:
            vectors: Unit or zero vectors (queries, dim).
            k: Neighbors per query.
            method: `exact`, or the kind of approximate search of the index, which is the default.
            nprobe: Inverted lists to read per query.
            candidate_rows: Compare these rows only, ascending.

        Returns:
            Rows and cosines, each (queries, min(k, rows)), by descending cosine and then by row; padded with -1 and 0.
        """
        check_counts(k=k, **({} if nprobe is None else {"nprobe": nprobe}))
        Option(choices=METHODS).check("method", method)
        own = self.manifest.method
        if method not in (None, "exact"):
            if candidate_rows is not None:
                raise UsageError("a filtered search compares all rows that pass", remedy="leave --method out")
            if own == "exact" or method not in ("approximate", own):
                remedy = "search exactly, or build the index again"
                raise UsageError(f"the index is built for the method {own}, not {method}", remedy=remedy)
        is_exact = method == "exact" or candidate_rows is not None
        allowed = self.live_rows if candidate_rows is None else candidate_rows
        names = "queries", "the vectors of the index"
        parts: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
        for segment, start in zip(self.segments, self.starts.tolist(), strict=False):
            approximate = None if is_exact else segment.approximate
            if approximate is not None:
                rows, cosines = approximate.search(vectors, min(k, len(segment.vectors)), nprobe, segment.removed)
            else:
                part = None
                if allowed is not None:
                    first, stop = np.searchsorted(allowed, (start, start + segment.entry.rows))
                    part = allowed[first:stop] - start
                rows, cosines = find_nearest(
                    vectors, segment.vectors, k, candidate_rows=part, skip_zero=True, are_unit=True, names=names
                )
            parts.append((np.where(rows < 0, -1, rows + start), cosines))
        rows, cosines = (np.concatenate(side, axis=1) for side in zip(*parts, strict=True))
        order = np.lexsort((rows, np.where(rows < 0, 2.0, -cosines)), axis=1)[:, : min(k, len(self))]
        return np.take_along_axis(rows, order, axis=1), np.take_along_axis(cosines, order, axis=1)

    def live_parts(self, first: int) -> Iterator[Rows]:
        """Yield the rows of the segments from `first` on, without the removed ones, for a new segment."""
        for segment, start in zip(self.segments[first:], self.starts[first:].tolist(), strict=False):
            keys = {name: segment.keys(name) for name in KEYS}
            live = np.setdiff1d(np.arange(segment.entry.rows), segment.removed, assume_unique=True)
            for begin in range(0, len(live), _ROWS_PER_BATCH):
                rows = live[begin : begin + _ROWS_PER_BATCH]
                yield self.take(rows + start), segment.vectors[rows], {name: keys[name][rows] for name in KEYS}

    def without(self, rows: NDArray[np.int64]) -> Manifest:
        """Write new lists of removed rows (rows,), ascending, and return the manifest that names them."""
        entries = list(self.manifest.segments)
        for part, _, own in locate(self.starts, rows):
            segment = self.segments[part]
            removed = np.union1d(segment.removed, own)
            name = f"removed-{len(removed)}.npy"
            with (segment.folder / name).open("wb") as stream:
                np.save(stream, removed)
                stream.flush()
                os.fsync(stream.fileno())
            zero_rows = segment.entry.zero_rows - int((~segment.vectors[own].any(axis=1)).sum())
            entries[part] = replace(segment.entry, removed=name, num_removed=len(removed), zero_rows=zero_rows)
        return replace(self.manifest, segments=tuple(entries))
