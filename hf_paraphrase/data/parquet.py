"""Reading of a data folder for one thing at a time; what looks at a folder twice opens a :class:`DataFolder`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from .folder import BATCH_ROWS, DataFolder
from .folder import check_split_name as check_split_name
from .folder import damage_named as damage_named
from .folder import open_shard as open_shard
from .folder import write_split as write_split


def shard_paths(folder: str | os.PathLike[str], split: str) -> list[Path]:
    """See :meth:`DataFolder.shards`."""
    return DataFolder(folder).shards(split)


def split_names(folder: str | os.PathLike[str]) -> list[str]:
    """See :class:`DataFolder`."""
    return DataFolder(folder).splits


def iterate_batches(
    folder: str | os.PathLike[str],
    split: str = "train",
    columns: Sequence[str] | None = None,
    *,
    batch_size: int = BATCH_ROWS,
) -> Iterator[pa.RecordBatch]:
    """See :meth:`DataFolder.batches`."""
    yield from DataFolder(folder).batches(split, columns, batch_size=batch_size)


def read_table(folder: str | os.PathLike[str], split: str = "train", columns: Sequence[str] | None = None) -> pa.Table:
    """See :meth:`DataFolder.table`."""
    return DataFolder(folder).table(split, columns)


def read_schema(folder: str | os.PathLike[str], split: str = "train") -> pa.Schema:
    """See :meth:`DataFolder.schema`."""
    return DataFolder(folder).schema(split)


def count_rows(folder: str | os.PathLike[str], split: str = "train") -> int:
    """See :meth:`DataFolder.count`."""
    return DataFolder(folder).count(split)


def split_sizes(folder: str | os.PathLike[str]) -> list[dict[str, str | int]]:
    """See :meth:`DataFolder.sizes`."""
    return DataFolder(folder).sizes()
