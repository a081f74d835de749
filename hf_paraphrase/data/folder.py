"""Data folders: reads any data set with splits, and writes Parquet shards as `load_dataset` and the Hub expect them.

:class:`DataFolder` is a data set whose splits are listed; its rows come through :func:`~.rows.open_rows`.
:func:`write_split` writes the shards `data/SPLIT-00000-of-00001.parquet`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..artefacts.fsspec_path import to_path
from ..errors import UsageError
from .layout import ORDER as ORDER
from .layout import find_layout
from .readers import BATCH_ROWS as BATCH_ROWS
from .rows import Rows, open_rows


class DataFolder:
    """A data set with a list of its splits; only footers and headers are read before rows.

    Args:
        source: Any source of :func:`~.rows.open_rows`.

    Attributes:
        path: The folder, file or URL, or the name of a dataset on the Hub as a path.
        splits: The names of its splits, train first.
    """

    def __init__(self, source: Any) -> None:
        self._source = source
        is_name = isinstance(source, str | os.PathLike)
        self.path = to_path(source) if is_name else Path(type(source).__name__)
        self._layout = find_layout(source)
        self.splits = self._layout.splits
        self._rows: dict[str, Rows] = {}

    def __repr__(self) -> str:
        return f"DataFolder({str(self.path)!r}, splits={self.splits})"

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def rows(self, split: str = "train") -> Rows:
        """Open a split."""
        if split not in self._rows:
            if split in self.splits or "." not in split:
                self._rows[split] = Rows(self._source, self._layout, split)
            else:
                self._rows[split] = open_rows(self._source, split)
        return self._rows[split]

    def schema(self, split: str = "train") -> pa.Schema:
        """Return the Arrow schema of a split; its metadata have the names of classes."""
        return self.rows(split).schema

    def class_names(self, column: str, split: str = "train") -> list[str]:
        """Return the names of the classes 0, 1, … of a column; empty for any other column."""
        return self.rows(split).class_names.get(column, [])

    def require(self, *columns: str, split: str = "train") -> pa.Schema:
        """Check that a split has these columns, and return its schema."""
        return self.rows(split).require(*columns)

    def count(self, split: str = "train") -> int:
        """Count the rows of a split."""
        return self.rows(split).count()

    def sizes(self) -> list[dict[str, str | int]]:
        """Return the `name`, `num_examples` and `num_bytes` (before compression) of each split for a card."""
        return [
            {"name": split, "num_examples": self.count(split), "num_bytes": self.rows(split).num_bytes()}
            for split in self.splits
        ]

    def batches(
        self,
        split: str = "train",
        columns: Sequence[str] | None = None,
        *,
        batch_size: int = BATCH_ROWS,
        rows: np.ndarray | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Stream columns of a split as record batches; `rows` (rows of the split,), bool, selects rows."""
        return self.rows(split).batches(columns, batch_size=batch_size, keep=rows)

    def table(self, split: str = "train", columns: Sequence[str] | None = None) -> pa.Table:
        """Read a split, or some of its columns, into memory."""
        return self.rows(split).read(columns)


def check_split_name(name: str) -> str:
    """Return a name for a split as `datasets` accepts it: `en-fr.test` becomes `en_fr.test`; refuse any other name."""
    configuration, point, split = name.rpartition(".")
    name = re.sub(r"[^\w.]", "_", configuration, flags=re.ASCII) + point + split
    if not re.fullmatch(r"\w+(\.\w+)*", name, re.ASCII) or name == "all":
        raise UsageError(f"`{name}` is not a name for a split", remedy="letters, digits and _, e.g. train, dev, test")
    return name


def write_split(
    folder: str | os.PathLike[str],
    split: str,
    batches: Iterable[pa.RecordBatch | pa.Table],
    schema: pa.Schema,
    *,
    rows_per_shard: int = 1_000_000,
) -> int:
    """Stream rows into the Parquet shards `data/SPLIT-*` of a folder; return the number of rows.

    Columns are ordered and cast to the schema.
    """
    split = check_split_name(split)
    directory = Path(folder) / "data"
    directory.mkdir(parents=True, exist_ok=True)
    parts: list[Path] = []
    total = in_shard = 0
    with ExitStack() as stack:
        # A split without rows has a shard as well.
        for batch in chain([schema.empty_table()], batches):
            if not parts or in_shard >= rows_per_shard:
                stack.close()
                parts.append(directory / f".{split}-{len(parts):05d}.parquet")
                writer = stack.enter_context(pq.ParquetWriter(parts[-1], schema, compression="zstd"))
                in_shard = 0
            if batch.num_rows:  # `datasets` cannot read a row group without rows
                writer.write(batch.select(schema.names).cast(schema))
                total += batch.num_rows
                in_shard += batch.num_rows
    for index, part in enumerate(parts):
        part.rename(directory / f"{split}-{index:05d}-of-{len(parts):05d}.parquet")
    return total
