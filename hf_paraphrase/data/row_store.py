"""A temporary store of rows on disk that gives any selection of them back in any order, with flat memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa

from ..errors import OutputError

BATCH_ROWS = 50_000


class RowStore:
    """Rows written once, in batches, to an uncompressed Arrow file that is then mapped into memory.

    Args:
        path: The file; it is removed by :meth:`close`.
        schema: Of the rows.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self.schema = schema
        self._writer: pa.ipc.RecordBatchFileWriter | None = pa.ipc.new_file(str(path), schema)
        self._starts = [0]
        self._mapped: pa.MemoryMappedFile | None = None
        self._reader: pa.ipc.RecordBatchFileReader | None = None

    def __len__(self) -> int:
        return self._starts[-1]

    def append(self, rows: pa.Table) -> None:
        """Adds rows at the end.

        Raises:
            OutputError: If the disk is full or not writable.
        """
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
        for begin in range(0, len(rows), BATCH_ROWS):
            yield self._take(rows[begin : begin + BATCH_ROWS])

    def close(self) -> None:
        """Removes the file; tables that were given out must not be used any longer."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._reader = None
        if self._mapped is not None:
            self._mapped.close()
            self._mapped = None
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> RowStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self) -> pa.ipc.RecordBatchFileReader:
        if self._reader is None:
            if self._writer is not None:
                self._writer.close()
                self._writer = None
            self._mapped = pa.memory_map(str(self.path))
            self._reader = pa.ipc.open_file(self._mapped)
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
