"""Rows that wait on disk while it is decided what becomes of them: what every corpus read from raw files has."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa

from .closeable import Closeable
from .row_store import RowStore


class TemporaryRows(Closeable):
    """A folder of row stores that goes when it is closed. Use it as a context manager.

    Args:
        prefix: How the folder's name begins.
        work: The folder in which it is made; the system's for temporary files if None.
    """

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
