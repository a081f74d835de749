"""Data folders: Parquet shards named as `load_dataset` and the Hub expect (`data/SPLIT-00000-of-00001.parquet`).

:class:`DataFolder` reads one, :func:`write_split` writes one. Memory stays at one record batch.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..artefacts.files import read_json_object
from ..artefacts.remote_paths import to_path
from ..errors import InputError, UsageError
from .parquet_files import BATCH_ROWS, batches_of, open_shard
from .schema import require_columns

ROWS_PER_SHARD = 1_000_000
_SHARD = re.compile(r"^(?P<split>[\w.]+)-(?P<index>\d{5})-of-(?P<count>\d{5})\.parquet$")
_SPLIT = re.compile(r"\w+(\.\w+)*")
_ORDER = {"train": 0, "validation": 1, "test": 2}


class DataFolder:
    """A data folder that was opened: its files are listed and checked once, and only footers are read before rows.

    Args:
        path: The folder, or its address as fsspec knows it, such as s3://bucket/folder.

    Attributes:
        path: The folder.
        splits: The names of its splits, train first.

    Raises:
        InputError: If the folder does not exist or holds no Parquet shards, or its provenance is damaged.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = to_path(path)
        if not self.path.is_dir():
            if self.path.exists():
                raise InputError(
                    "this is a file, not a data folder",
                    path=self.path,
                    remedy="make a data folder of it first, e.g. pairs with hf-paraphrase prepare pairs --tsv FILE",
                )
            raise InputError(
                "no such data folder", path=self.path, remedy="check the path, or make one with hf-paraphrase prepare"
            )
        self._files: dict[str, list[tuple[int, int, Path]]] = {}
        for file in sorted((self.path / "data").glob("*.parquet")):
            if match := _SHARD.match(file.name):
                entry = (int(match["index"]), int(match["count"]), file)
                self._files.setdefault(match["split"], []).append(entry)
        if not self._files:
            raise InputError(
                "not a data folder: it has no data/SPLIT-00000-of-00001.parquet",
                path=self.path,
                remedy="make one with hf-paraphrase prepare",
            )
        if (self.path / "provenance.json").is_file():
            # What is made of the data will take this into its own.
            read_json_object(self.path / "provenance.json")
        self.splits = sorted(self._files, key=lambda name: (_ORDER.get(name, 3), name))
        self._schemas: dict[str, pa.Schema] = {}
        self._counts: dict[str, list[int]] = {}

    @classmethod
    def open(cls, folder: str | os.PathLike[str] | Self) -> Self:
        """Opens a folder, or returns one that is open already."""
        return folder if isinstance(folder, cls) else cls(folder)

    def __repr__(self) -> str:
        return f"DataFolder({str(self.path)!r}, splits={self.splits})"

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def shards(self, split: str = "train") -> list[Path]:
        """Lists the files of a split in order."""
        if split not in self._files:
            raise InputError(f"no split `{split}`", path=self.path, remedy=f"the splits are {', '.join(self.splits)}")
        paths = {index: path for index, _, path in self._files[split]}
        count = self._files[split][-1][1]
        if sorted(paths) != list(range(count)):
            raise InputError(f"{len(paths)} of {count} shards of split `{split}` are there", path=self.path)
        return [paths[index] for index in range(count)]

    def schema(self, split: str = "train") -> pa.Schema:
        """Returns the Arrow schema of a split without metadata."""
        if split not in self._schemas:
            with open_shard(self.shards(split)[0]) as file:
                self._schemas[split] = file.schema_arrow.remove_metadata()
        return self._schemas[split]

    def require(self, *columns: str, split: str = "train") -> pa.Schema:
        """Returns the schema of a split, which has these columns."""
        schema = self.schema(split)
        require_columns(schema.names, columns, str(self.path))
        return schema

    def count(self, split: str = "train") -> int:
        """Counts the rows of a split from the footers of its files."""
        return sum(self._rows_of(split))

    def _rows_of(self, split: str) -> list[int]:
        """Counts the rows of each file of a split."""
        if split not in self._counts:
            counts = []
            for path in self.shards(split):
                with open_shard(path) as file:
                    counts.append(file.metadata.num_rows)
            self._counts[split] = counts
        return self._counts[split]

    def sizes(self) -> list[dict[str, str | int]]:
        """Describes the splits as the `dataset_info` of a card wants them.

        Returns:
            For each split its `name`, its `num_examples`, and as `num_bytes` the size of its columns before
            compression.
        """
        sizes: list[dict[str, str | int]] = []
        for split in self.splits:
            size = 0
            for path in self.shards(split):
                with open_shard(path) as file:
                    groups = range(file.num_row_groups)
                    size += sum(file.metadata.row_group(number).total_byte_size for number in groups)
            sizes.append({"name": split, "num_examples": self.count(split), "num_bytes": size})
        return sizes

    def batches(
        self,
        split: str = "train",
        columns: Sequence[str] | None = None,
        *,
        batch_size: int = BATCH_ROWS,
        rows: np.ndarray | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Streams a split as record batches.

        Args:
            split: The split.
            columns: The columns to read, in this order; all by default.
            batch_size: The most rows of a batch; the end of a file ends a batch too.
            rows: Which rows to give (rows of the split,), bool; all by default.
        """
        begin = 0
        for path in self.shards(split):
            with open_shard(path) as file:
                if columns is not None:
                    require_columns(file.schema_arrow.names, columns, str(path))
                for batch in batches_of(file, path, batch_size=batch_size, columns=columns and list(columns)):
                    if rows is not None:
                        chosen = rows[begin : begin + batch.num_rows]
                        begin += batch.num_rows
                        batch = batch.filter(pa.array(chosen))
                    yield batch

    def table(self, split: str = "train", columns: Sequence[str] | None = None) -> pa.Table:
        """Reads a split, or some of its columns, into memory."""
        schema = self.schema(split)
        if columns is not None:
            schema = pa.schema([self.require(*columns, split=split).field(name) for name in columns])
        return pa.Table.from_batches(self.batches(split, columns), schema=schema)

    def row_range(self, split: str, start: int, stop: int, *, batch_size: int = BATCH_ROWS) -> Iterator[pa.Table]:
        """Streams the rows `start` to `stop` of a split, reading only the row groups that hold them.

        Args:
            split: The split.
            start: The first row.
            stop: The row after the last one.
            batch_size: Rows of a table; the last one has the rest. Where the row groups of the files end does not
                matter, so that several processes can each take their share.
        """
        pending: list[pa.Table] = []
        waiting = 0
        for table in self._pieces(split, start, stop, batch_size):
            pending.append(table)
            waiting += table.num_rows
            while waiting >= batch_size:
                whole = pa.concat_tables(pending)
                yield whole.slice(0, batch_size)
                waiting -= batch_size
                pending = [whole.slice(batch_size)] if waiting else []
        if waiting:
            yield pa.concat_tables(pending)

    def _pieces(self, split: str, start: int, stop: int, batch_size: int) -> Iterator[pa.Table]:
        first = 0
        for path, rows in zip(self.shards(split), self._rows_of(split), strict=True):
            if first >= stop:
                return
            if first + rows <= start:
                first += rows
                continue
            with open_shard(path) as file:
                groups = []
                skipped = None
                place = first
                for number in range(file.num_row_groups):
                    end = place + file.metadata.row_group(number).num_rows
                    if place < stop and end > start:
                        groups.append(number)
                        skipped = place if skipped is None else skipped
                    place = end
                if skipped is not None:
                    for batch in batches_of(file, path, batch_size=batch_size, row_groups=groups):
                        kept = batch.slice(max(0, start - skipped), max(0, stop - max(start, skipped)))
                        skipped += batch.num_rows
                        if kept.num_rows:
                            yield pa.Table.from_batches([kept])
                        if skipped >= stop:
                            break
                first = place


def check_split_name(name: str) -> str:
    """Returns `name` if `datasets` takes it for a split."""
    if not _SPLIT.fullmatch(name) or not name.isascii() or name == "all":
        raise UsageError(f"`{name}` is not a name for a split", remedy="letters, digits and _, e.g. train, dev, test")
    return name


def write_split(
    folder: str | os.PathLike[str],
    split: str,
    batches: Iterable[pa.RecordBatch | pa.Table],
    schema: pa.Schema,
    *,
    rows_per_shard: int = ROWS_PER_SHARD,
    repeating: Sequence[str] | None = None,
) -> int:
    """Streams record batches into the Parquet shards of one split; memory stays at one batch.

    Args:
        folder: The data folder; shards go to its subfolder `data`.
        split: The split's name, e.g. `train`.
        batches: The rows; columns are ordered and cast to `schema`.
        schema: The schema of the shards.
        rows_per_shard: A new shard begins once this many rows are in one.
        repeating: The columns whose values repeat, for which a dictionary is worth building; all by default.

    Returns:
        The number of rows written. An empty split is one shard without rows.
    """
    directory = Path(folder) / "data"
    directory.mkdir(parents=True, exist_ok=True)
    parts: list[Path] = []
    writer: pq.ParquetWriter | None = None
    total = in_shard = 0

    def open_writer() -> pq.ParquetWriter:
        dictionary = True if repeating is None else list(repeating)
        return pq.ParquetWriter(parts[-1], schema, compression="zstd", use_dictionary=dictionary)

    try:
        for batch in batches:
            table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
            if writer is None or in_shard >= rows_per_shard:
                if writer is not None:
                    writer.close()
                parts.append(directory / f".{split}-{len(parts):05d}.parquet")
                writer, in_shard = open_writer(), 0
            if table.num_rows:  # `datasets` cannot read a row group without rows
                writer.write_table(table.select(schema.names).cast(schema))
            total += table.num_rows
            in_shard += table.num_rows
        if writer is None:
            parts.append(directory / f".{split}-00000.parquet")
            writer = open_writer()
    finally:
        if writer is not None:
            writer.close()
    for index, part in enumerate(parts):
        part.rename(directory / f"{split}-{index:05d}-of-{len(parts):05d}.parquet")
    return total
