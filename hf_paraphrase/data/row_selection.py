"""Selects rows (first occurrences, held-out parts, samples, a random order), and stores rows on disk until then.

A choice needs 8 bytes per row and never the texts themselves, so corpora larger than memory can be split.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pyarrow as pa

from ..errors import OutputError
from ..text.hashing import are_among

BATCH_ROWS = 50_000
GATHER_BYTES = 64 << 20
"""The size of the rows that one pass over the stored rows collects."""
_SHUFFLING, _HOLDING_OUT, _SAMPLING = 1, 2, 3


def first_occurrences(keys: np.ndarray) -> np.ndarray:
    """Mark the first row of each key: (rows,), bool."""
    first = np.zeros(len(keys), dtype=bool)
    first[np.unique(keys, return_index=True)[1]] = True
    return first


def hold_out(keys: np.ndarray, size: int, seed: int, candidates: np.ndarray | None = None) -> np.ndarray:
    """Draw a held-out part of about `size` candidates, (rows,), bool, in which rows with equal keys stay together.

    Fewer than `size` rows are drawn if the groups of equal keys do not fit exactly.
    """
    candidates = np.ones(len(keys), dtype=bool) if candidates is None else candidates
    groups, counts = np.unique(keys[candidates], return_counts=True)
    drawn: list[int] = []
    left = size
    for group in np.random.default_rng([seed, _HOLDING_OUT]).permutation(len(groups)):
        if left == 0:
            break
        if counts[group] <= left:
            drawn.append(group)
            left -= int(counts[group])
    return are_among(keys, groups[np.sort(np.array(drawn, dtype=np.int64))]) & candidates


def sample(candidates: np.ndarray, size: int, seed: int) -> np.ndarray:
    """Draw `size` of the candidates (rows,), bool, or all if there are fewer: (rows,), bool."""
    rows = np.flatnonzero(candidates)
    drawn = np.zeros_like(candidates)
    if size < len(rows):
        rows = rows[np.random.default_rng([seed, _SAMPLING]).choice(len(rows), size, replace=False)]
    drawn[rows] = True
    return drawn


def shuffled(rows: np.ndarray, seed: int) -> np.ndarray:
    """Return the row numbers in random order."""
    return np.random.default_rng([seed, _SHUFFLING]).permutation(rows)


def take_rows(
    read_batch: Callable[[int], pa.RecordBatch], starts: Sequence[int], rows: np.ndarray, schema: pa.Schema
) -> pa.Table:
    """Gather `rows` in their order from batches; `read_batch` reads only the batches that contain one of them.

    Batch i has the rows `starts[i]` to `starts[i + 1]`. `Table.take` would copy all batches instead.
    """
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    edges = np.searchsorted(ordered, starts)
    parts = [
        read_batch(index).take(pa.array(ordered[edges[index] : edges[index + 1]] - starts[index]))
        for index in np.flatnonzero(np.diff(edges)).tolist()
    ]
    table = pa.Table.from_batches(parts, schema=schema).combine_chunks()
    return table if (np.diff(order) == 1).all() else table.take(pa.array(np.argsort(order)))


class RowStore(AbstractContextManager["RowStore"]):
    """Rows written once to a temporary Arrow file, and then read in any selection and order.

    The file is not mapped into memory: the pages of a mapped file count as memory of the process.
    """

    def __init__(self, schema: pa.Schema, folder: Path | None = None) -> None:
        self.schema = schema
        handle, name = tempfile.mkstemp(prefix=".rows-", suffix=".arrow", dir=folder)
        os.close(handle)
        self.path = Path(name)
        self._writer = pa.ipc.new_file(name, schema)
        self._starts = [0]

    def __len__(self) -> int:
        return self._starts[-1]

    def append(self, rows: pa.Table) -> None:
        """Add rows at the end, before the first reading."""
        try:
            for batch in rows.to_batches(max_chunksize=BATCH_ROWS):
                if batch.num_rows:
                    self._writer.write_batch(batch)
                    self._starts.append(self._starts[-1] + batch.num_rows)
        except OSError as error:
            raise OutputError(f"cannot write temporary rows: {error.strerror or error}", path=self.path) from error

    def gather(self, rows: np.ndarray) -> Iterator[pa.Table]:
        """Stream the rows of the given numbers in the given order, at most 50,000 at a time."""
        self._writer.close()
        # With whole batches the output does not depend on `GATHER_BYTES`.
        bytes_per_row = max(1, self.path.stat().st_size // max(1, len(self)))
        rows_per_table = max(1, GATHER_BYTES // bytes_per_row // BATCH_ROWS) * BATCH_ROWS
        with pa.OSFile(str(self.path), "rb") as file:
            reader = pa.ipc.open_file(file)
            for begin in range(0, len(rows), rows_per_table):
                table = take_rows(reader.get_batch, self._starts, rows[begin : begin + rows_per_table], self.schema)
                for first in range(0, table.num_rows, BATCH_ROWS):
                    yield table.slice(first, BATCH_ROWS)

    def __exit__(self, *_: object) -> None:
        self._writer.close()
        self.path.unlink(missing_ok=True)
