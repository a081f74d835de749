"""Rows that wait on disk while it is decided what becomes of them: any selection, in any order, with flat memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa

from ..errors import OutputError

BATCH_ROWS = 50_000
GATHER_BYTES = 64 << 20
"""How much is gathered in one reading of the file, where rows are wanted in another order than theirs."""


class Closeable:
    """A context manager that closes itself, whether the block ended well or not."""

    def close(self) -> None:
        """Lets go of what is held; may be called again."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class RowStore(Closeable):
    """Rows written once, in batches, to an uncompressed Arrow file that is then read batch by batch.

    The file is not mapped into memory: the pages of a mapped file count as memory of the process.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self.schema = schema
        self._writer: pa.ipc.RecordBatchFileWriter | None = pa.ipc.new_file(str(path), schema)
        self._starts = [0]
        self._file: pa.OSFile | None = None
        self._reader: pa.ipc.RecordBatchFileReader | None = None
        self._gathered_rows = BATCH_ROWS

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

    def batches(self, columns: list[str] | None = None) -> Iterator[tuple[int, pa.Table]]:
        """Streams all rows in order, each batch with the number of its first row."""
        reader = self._open()
        for index in range(reader.num_record_batches):
            table = pa.Table.from_batches([reader.get_batch(index)])
            yield self._starts[index], table if columns is None else table.select(columns)

    def gather(self, rows: np.ndarray) -> Iterator[pa.Table]:
        """Streams the rows of the given numbers in the given order, at most 50,000 at a time."""
        self._open()
        for begin in range(0, len(rows), self._gathered_rows):
            table = self._take(rows[begin : begin + self._gathered_rows])
            for first in range(0, table.num_rows, BATCH_ROWS):
                yield table.slice(first, BATCH_ROWS)

    def close(self) -> None:
        """Removes the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._reader = None
        if self._file is not None:
            self._file.close()
            self._file = None
        self.path.unlink(missing_ok=True)

    def _open(self) -> pa.ipc.RecordBatchFileReader:
        if self._reader is None:
            if self._writer is not None:
                self._writer.close()
                self._writer = None
            self._file = pa.OSFile(str(self.path), "rb")
            self._reader = pa.ipc.open_file(self._file)
            # Whole batches of output, so that the size of a reading changes nothing in what comes out.
            size = self.path.stat().st_size // max(1, len(self))
            self._gathered_rows = max(1, GATHER_BYTES // max(1, size) // BATCH_ROWS) * BATCH_ROWS
        return self._reader

    def _take(self, rows: np.ndarray) -> pa.Table:
        reader = self._open()
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


class TemporaryRows(Closeable):
    """A folder of row stores that goes when it is closed. Use it as a context manager."""

    def __init__(self, prefix: str, work: Path | None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix=prefix, dir=work, ignore_cleanup_errors=True)
        self._opened: list[RowStore] = []

    def _new_store(self, name: str, schema: pa.Schema) -> RowStore:
        """Opens a store for rows of a schema in a file of the folder."""
        store = RowStore(Path(self._folder.name) / name, schema)
        self._opened.append(store)
        return store

    def close(self) -> None:
        """Removes the temporary rows."""
        for store in self._opened:
            store.close()
        self._folder.cleanup()
