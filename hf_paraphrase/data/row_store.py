"""Rows that wait on disk while it is decided what becomes of them: any selection, in any order, with flat memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pyarrow as pa

from ..errors import OutputError

BATCH_ROWS = 50_000
GATHER_BYTES = 64 << 20
"""How much is gathered in one reading of the file, where rows are wanted in another order than theirs."""


class RowStore(AbstractContextManager["RowStore"]):
    """Rows written once, in batches, to a temporary Arrow file that is then read batch by batch.

    The file is not mapped into memory: the pages of a mapped file count as memory of the process.

    Args:
        schema: Of the rows.
        folder: Where the file is made; the system's temporary folder by default.
    """

    def __init__(self, schema: pa.Schema, folder: Path | None = None) -> None:
        self.schema = schema
        handle, name = tempfile.mkstemp(prefix=".rows-", suffix=".arrow", dir=folder)
        os.close(handle)
        self.path = Path(name)
        self._writer: pa.ipc.RecordBatchFileWriter | None = pa.ipc.new_file(name, schema)
        self._starts = [0]
        self._file: pa.OSFile | None = None
        self._reader: pa.ipc.RecordBatchFileReader | None = None

    def __len__(self) -> int:
        return self._starts[-1]

    def append(self, rows: pa.Table) -> None:
        """Adds rows at the end."""
        assert self._writer is not None, "the store is already being read"
        try:
            for batch in rows.to_batches(max_chunksize=BATCH_ROWS):
                if batch.num_rows:
                    self._writer.write_batch(batch)
                    self._starts.append(self._starts[-1] + batch.num_rows)
        except OSError as error:
            raise OutputError(f"cannot write temporary rows: {error.strerror or error}", path=self.path) from error

    def gather(self, rows: np.ndarray) -> Iterator[pa.Table]:
        """Streams the rows of the given numbers in the given order, at most 50,000 at a time."""
        reader = self._open()
        # Whole batches of output, so that the size of a reading changes nothing in what comes out.
        bytes_per_row = max(1, self.path.stat().st_size // max(1, len(self)))
        most = max(1, GATHER_BYTES // bytes_per_row // BATCH_ROWS) * BATCH_ROWS
        for begin in range(0, len(rows), most):
            table = self._take(reader, rows[begin : begin + most])
            for first in range(0, table.num_rows, BATCH_ROWS):
                yield table.slice(first, BATCH_ROWS)

    def __exit__(self, *_: object) -> None:
        for opened in (self._writer, self._file):
            if opened is not None:
                opened.close()
        self._writer = self._file = self._reader = None
        self.path.unlink(missing_ok=True)

    def _open(self) -> pa.ipc.RecordBatchFileReader:
        if self._reader is None:
            if self._writer is not None:
                self._writer.close()
                self._writer = None
            self._file = pa.OSFile(str(self.path), "rb")
            self._reader = pa.ipc.open_file(self._file)
        return self._reader

    def _take(self, reader: pa.ipc.RecordBatchFileReader, rows: np.ndarray) -> pa.Table:
        order = np.argsort(rows, kind="stable")
        ordered = rows[order]
        starts = np.asarray(self._starts)
        edges = np.searchsorted(ordered, starts)
        parts = [
            reader.get_batch(int(index)).take(pa.array(ordered[edges[index] : edges[index + 1]] - starts[index]))
            for index in np.flatnonzero(np.diff(edges))
        ]
        table = pa.Table.from_batches(parts, schema=self.schema).combine_chunks()
        if (np.diff(order) == 1).all():
            return table
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return table.take(pa.array(back))
