"""One state of an index: its segments as a single list of rows, which searches read while others change the folder."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import UsageError
from ..settings import Option
from ..vectors.exact_search import find_nearest
from ..vectors.faiss_index import KINDS
from ..vectors.similarity import check_counts
from .bm25 import Bm25
from .manifest import SEGMENTS_FOLDER, Manifest
from .segments import Segment, union_schema, with_columns

_ATTEMPTS = 5
METHODS = ("exact", "approximate", *KINDS)


class Vectors:
    """The vectors of all segments as one matrix (rows, dim), read by slices or by lists of rows."""

    ndim = 2

    def __init__(self, parts: Sequence[NDArray[np.float32]], dimension: int) -> None:
        self._parts, self._starts = parts, np.cumsum([0, *map(len, parts)])
        self.shape = (int(self._starts[-1]), dimension)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | NDArray[np.int64]) -> NDArray[np.float32]:
        if isinstance(rows, slice):
            first, stop, _ = rows.indices(len(self))
            spans = zip(self._parts, self._starts.tolist(), strict=False)
            parts = [part[max(0, first - start) : max(0, stop - start)] for part, start in spans]
            parts = [part for part in parts if len(part)]
            return parts[0] if len(parts) == 1 else np.concatenate([np.empty((0, self.shape[1]), np.float32), *parts])
        vectors = np.empty((len(rows), self.shape[1]), np.float32)
        segments = np.searchsorted(self._starts, rows, side="right") - 1
        for segment in np.unique(segments).tolist():
            places = np.flatnonzero(segments == segment)
            vectors[places] = self._parts[segment][rows[places] - self._starts[segment]]
        return vectors


class Snapshot:
    """The segments that a manifest names, opened at once.

    Rows are numbered from 0 over all segments, removed rows included, until segments are merged.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.manifest = manifest
        self.segments = [
            Segment(folder / SEGMENTS_FOLDER / entry.name if entry.name else folder, entry, manifest.dimension)
            for entry in manifest.segments
        ]
        self.starts = np.cumsum([0, *(entry.rows for entry in manifest.segments)])
        self.schema = union_schema(segment.schema for segment in self.segments)
        self.vectors = Vectors([segment.vectors for segment in self.segments], manifest.dimension)

    @classmethod
    def open(cls, folder: Path) -> Snapshot:
        """Opens the current state; segments that another process merges at this moment are looked up again."""
        for attempt in range(_ATTEMPTS):
            manifest = Manifest.read_from(folder)
            try:
                return cls(folder, manifest)
            except Exception:
                if attempt + 1 == _ATTEMPTS or Manifest.read_from(folder) == manifest:
                    raise
        raise AssertionError

    def __len__(self) -> int:
        return self.manifest.rows

    @cached_property
    def live_rows(self) -> NDArray[np.int64] | None:
        """The rows that are not removed, ascending; None if no row is removed."""
        if not any(entry.num_removed for entry in self.manifest.segments):
            return None
        return np.concatenate([self._global(place, each.live_rows()) for place, each in enumerate(self.segments)])

    def _global(self, segment: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return rows + self.starts[segment]

    @property
    def table(self) -> pa.Table:
        """The rows that are not removed, with all columns."""
        tables = [with_columns(batch, self.schema) for segment in self.segments for batch in segment.batches]
        table = pa.concat_tables(tables)
        return table if self.live_rows is None else table.take(pa.array(self.live_rows))

    def take(self, rows: NDArray[np.int64]) -> pa.Table:
        """Returns some rows (rows,) in their order, with all columns."""
        segments = np.searchsorted(self.starts, rows, side="right") - 1
        tables: list[pa.Table] = []
        for part in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(segments)) + 1):
            if len(part):
                number = int(segments[part[0]])
                batches = self.segments[number].take(rows[part] - self.starts[number])
                tables += [with_columns(batch, self.schema) for batch in batches]
        return pa.concat_tables(tables) if tables else self.schema.empty_table()

    def find(self, kind: str, keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Returns the rows that have one of the keys and are not removed, ascending, and their keys."""
        parts = [segment.find(kind, keys) for segment in self.segments]
        rows = [self._global(number, rows) for number, (rows, _) in enumerate(parts)]
        return np.concatenate(rows), np.concatenate([own for _, own in parts])

    @cached_property
    def text_keys(self) -> NDArray[np.uint64]:
        """The same number (rows,) for texts that differ in case and spacing only."""
        return np.concatenate([segment.keys("text") for segment in self.segments])

    @cached_property
    def bm25(self) -> Bm25:
        """The words of all segments; removed rows count in the frequencies until their segment is merged."""
        return Bm25([segment.words for segment in self.segments])

    def open_all(self) -> None:
        """Opens every file, so that the folder may disappear."""
        for segment in self.segments:
            segment.approximate(self.manifest.method)
        _ = self.bm25, self.text_keys

    def search_vectors(
        self,
        vectors: NDArray[np.float32],
        k: int,
        *,
        method: str | None = None,
        nprobe: int | None = None,
        candidate_rows: NDArray[np.int64] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Finds the rows of the highest cosine to each unit or zero vector; see :meth:`~.index.SearchIndex.search`.

        Args:
            vectors: Unit or zero vectors (queries, dim).
            k: Neighbors per query.
            method: `exact`, or the kind of approximate search of the index; by default the latter, if there is one.
            nprobe: Inverted lists to read per query.
            candidate_rows: The only rows that are compared, ascending.

        Returns:
            Rows and cosines, each (queries, min(k, rows)), the nearest first and of equal cosines the earlier row; -1
            and 0 where there are fewer.
        """
        check_counts(k=k)
        Option(choices=METHODS).check("method", method)
        own = self.manifest.method
        if method not in (None, "exact"):
            if candidate_rows is not None:
                raise UsageError("a filtered search compares all rows that pass", remedy="leave --method out")
            if own == "exact" or method not in ("approximate", own):
                remedy = "search exactly, or build the index again"
                raise UsageError(f"the index is built for the method {own}, not {method}", remedy=remedy)
        is_exact = method == "exact" or own == "exact" or candidate_rows is not None
        if nprobe is not None:
            check_counts(nprobe=nprobe)
        allowed = self.live_rows if candidate_rows is None else candidate_rows
        parts: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
        for number, segment in enumerate(self.segments):
            approximate = None if is_exact else segment.approximate(own)
            if approximate is not None:
                rows, cosines = approximate.search(vectors, min(k, len(segment.vectors)), nprobe, segment.removed)
            else:
                part = None
                if allowed is not None:
                    first, stop = np.searchsorted(allowed, self.starts[number : number + 2])
                    part = allowed[first:stop] - self.starts[number]
                names = "queries", "the vectors of the index"
                rows, cosines = find_nearest(
                    vectors, segment.vectors, k, candidate_rows=part, skip_zero=True, are_unit=True, names=names
                )
            parts.append((np.where(rows < 0, -1, rows + self.starts[number]), cosines))
        rows, cosines = (np.concatenate(side, axis=1) for side in zip(*parts, strict=True))
        order = np.lexsort((rows, np.where(rows < 0, 2.0, -cosines)), axis=1)[:, : min(k, len(self))]
        return np.take_along_axis(rows, order, axis=1), np.take_along_axis(cosines, order, axis=1)
