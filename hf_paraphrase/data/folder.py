"""Data folders: Parquet shards named as `load_dataset` and the Hub expect (`data/SPLIT-00000-of-00001.parquet`).

:class:`DataFolder` reads one, and Parquet files of others (`train.parquet`, `test/0000.parquet`, a single file), whose
pairs may have the usual names of the Hub; `datasets` makes Parquet of other files and of what is on the Hub.
:func:`write_split` writes one. Memory stays at one record batch.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..artefacts.remote_paths import to_path
from ..errors import InputError, UsageError
from ..inputs import dataset_folder, repository_of
from .schema import require_columns, require_texts, usual_pair_columns
from .text_blocks import kind_of_records

BATCH_ROWS = 10_000
_SHARD = re.compile(r"^(?P<split>[\w.]+)-(?P<index>\d+)-of-(?P<count>\d+)(-[0-9a-f]+)?\.parquet$")
_SPLITS_OF_OTHERS = {"train": "train", "validation": "validation", "valid": "validation", "dev": "dev", "test": "test"}
ORDER = {"train": 0, "validation": 1, "test": 2}


class DataFolder:
    """A data folder that was opened: its files are listed and checked once, and only footers are read before rows.

    `path` is the folder or a Parquet, JSON lines or CSV file, its URL as fsspec knows it, such as
    s3://bucket/folder, or as text a dataset on the Hub, `owner/name` or `owner/name/subset`; `splits` are the names of
    its splits, train first. With `lists` a column of sentences may hold lists of them.
    """

    def __init__(self, path: str | os.PathLike[str], *, lists: bool = False) -> None:
        self.path = to_path(path)
        is_text = self.path.is_file() and kind_of_records(Path(self.path.name)) is None
        if is_text or (not self.path.exists() and repository_of(path) is None):
            problem = "this is a file, not a data folder" if is_text else "no such data folder"
            remedy = "make one, e.g. with hf-paraphrase prepare pairs --tsv FILE"
            raise InputError(problem, path=self.path, remedy=remedy)
        self._files = _parquet_files(self.path)
        if not self._files:
            inside = [file for pattern in ("[!.]*", "*/[!.]*") for file in self.path.glob(pattern)]
            # Any folder may have JSON about it, as provenance.json.
            tables = [Path(file.name) for file in inside if not file.name.endswith(".json")]
            if self.path.is_dir() and not {"csv", "jsonl"} & {*map(kind_of_records, tables)}:
                problem = "not a data folder: it has no Parquet files, such as data/train-00000-of-00001.parquet"
                remedy = "make one with hf-paraphrase prepare, of other files with prepare pairs --dataset FOLDER"
                raise InputError(problem, path=self.path, remedy=remedy)
            self._files = _parquet_files(dataset_folder(path))
        self.splits = sorted(self._files, key=lambda name: (ORDER.get(name, 3), name))
        self._lists = lists
        self._schemas: dict[str, pa.Schema] = {}
        # For each split the names in its files of the sides of pairs.
        self._theirs: dict[str, dict[str, str]] = {}
        self._footers: dict[str, list[pq.FileMetaData]] = {}

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
        files = self._files[split]
        count = files[-1][1]
        if [index for index, _, _ in files] != list(range(count)):
            raise InputError(f"split `{split}` has {len(files)} of {count} shards", path=self.path, remedy="copy all")
        return [path for _, _, path in files]

    def schema(self, split: str = "train") -> pa.Schema:
        """Returns the Arrow schema of a split without metadata."""
        if split not in self._schemas:
            with open_parquet(self.shards(split)[0]) as file:
                schema = file.schema_arrow.remove_metadata()
            is_bitext = {"source", "target"} <= set(schema.names)
            theirs = {} if is_bitext else usual_pair_columns(schema.names)
            ours = {name: ours for ours, name in theirs.items()}
            schema = pa.schema([field.with_name(ours.get(field.name, field.name)) for field in schema])
            require_texts(schema, str(self.path), lists=self._lists)
            self._theirs[split], self._schemas[split] = theirs, schema
        return self._schemas[split]

    def require(self, *columns: str, split: str = "train") -> pa.Schema:
        """Returns the schema of a split, which has these columns."""
        schema = self.schema(split)
        require_columns(schema.names, columns, str(self.path))
        return schema

    def count(self, split: str = "train") -> int:
        """Counts the rows of a split from the footers of its files."""
        return sum(footer.num_rows for footer in self._footers_of(split))

    def _footers_of(self, split: str) -> list[pq.FileMetaData]:
        """Reads the footer of each file of a split."""
        if split not in self._footers:
            footers = []
            for path in self.shards(split):
                with open_parquet(path) as file:
                    footers.append(file.metadata)
            self._footers[split] = footers
        return self._footers[split]

    def sizes(self) -> list[dict[str, str | int]]:
        """Returns the `name`, `num_examples` and `num_bytes` (before compression) of each split for a card."""
        sizes: list[dict[str, str | int]] = []
        for split in self.splits:
            footers = self._footers_of(split)
            groups = (footer.row_group(number) for footer in footers for number in range(footer.num_row_groups))
            size = sum(group.total_byte_size for group in groups)
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
        """Streams columns of a split, or of those of its rows (rows of the split,), bool, as record batches."""
        begin = 0
        for batch in self._read(split, columns, batch_size, 0, sys.maxsize):
            if rows is not None:
                chosen = rows[begin : begin + batch.num_rows]
                begin += batch.num_rows
                batch = batch.filter(pa.array(chosen))
            yield batch

    def _read(
        self, split: str, columns: Sequence[str] | None, batch_size: int, start: int, stop: int
    ) -> Iterator[pa.RecordBatch]:
        """Streams the rows `start` to `stop` under our names; only row groups that have any are read."""
        schema = self.schema(split)
        names = schema.names if columns is None else list(columns)
        theirs = [self._theirs[split].get(name, name) for name in names]
        row = 0
        for path, footer in zip(self.shards(split), self._footers_of(split), strict=True):
            begin, row = row, row + footer.num_rows
            if begin == row or begin >= stop or row <= start:
                continue
            require_columns(footer.schema.to_arrow_schema().names, theirs, str(path))
            sizes = [footer.row_group(number).num_rows for number in range(footer.num_row_groups)]
            ends = begin + np.cumsum(sizes)
            groups = np.flatnonzero((ends > start) & (ends - sizes < stop))
            first = int(ends[groups[0]] - sizes[groups[0]])
            for batch in batches_of(path, batch_size=batch_size, row_groups=groups.tolist(), columns=theirs):
                kept = batch.slice(max(0, start - first), max(0, stop - max(start, first)))
                first += batch.num_rows
                if kept.num_rows:
                    yield kept.select(theirs).rename_columns(names)
                if first >= stop:
                    break

    def table(self, split: str = "train", columns: Sequence[str] | None = None) -> pa.Table:
        """Reads a split, or some of its columns, into memory."""
        schema = self.schema(split)
        if columns is not None:
            schema = pa.schema([self.require(*columns, split=split).field(name) for name in columns])
        return pa.Table.from_batches(self.batches(split, columns), schema=schema)

    def row_range(self, split: str, start: int, stop: int, *, batch_size: int = BATCH_ROWS) -> Iterator[pa.Table]:
        """Streams the rows `start` to `stop` of a split in tables of `batch_size`, wherever its row groups end."""
        rows = self.schema(split).empty_table()
        for batch in self._read(split, None, batch_size, start, stop):
            rows = pa.concat_tables([rows, pa.Table.from_batches([batch])])
            while rows.num_rows >= batch_size:
                yield rows.slice(0, batch_size)
                rows = rows.slice(batch_size)
        if rows.num_rows:
            yield rows


def _parquet_files(path: Path) -> dict[str, list[tuple[int, int, Path]]]:
    """Lists for each split the Parquet files with their numbers and how many there should be."""
    if path.is_file():
        return {"train": [(0, 1, path)]} if path.name.endswith(".parquet") else {}
    files: dict[str, list[tuple[int, int, Path]]] = {}
    others: dict[str, list[Path]] = {}
    for folder in (path / "data", path):
        for file in sorted(folder.glob("*.parquet")):
            if match := _SHARD.match(file.name):
                files.setdefault(match["split"], []).append((int(match["index"]), int(match["count"]), file))
            elif not file.name.startswith("."):
                begin = re.split(r"[^a-z]", file.name.lower())[0]
                others.setdefault(_SPLITS_OF_OTHERS.get(begin, "train"), []).append(file)
        if files or others:
            break
    else:
        for name, split in _SPLITS_OF_OTHERS.items():
            others.setdefault(split, []).extend(sorted((path / name).glob("*.parquet")))
    for split, paths in others.items():
        if paths and split not in files:
            files[split] = [(number, len(paths), file) for number, file in enumerate(paths)]
    return files


def check_split_name(name: str) -> str:
    """Returns `name` if `datasets` takes it for a split."""
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
    repeating: Sequence[str] | None = None,
) -> int:
    """Streams rows into the Parquet shards `data/SPLIT-*` of a folder; returns how many they are.

    Columns are ordered and cast to the schema. For the `repeating` ones, all by default, a dictionary is built.
    """
    directory = Path(folder) / "data"
    directory.mkdir(parents=True, exist_ok=True)
    parts: list[Path] = []
    writer: pq.ParquetWriter | None = None
    total = in_shard = 0
    dictionary = True if repeating is None else list(repeating)
    try:
        # Without rows there is a shard as well.
        for batch in chain([schema.empty_table()], batches):
            if writer is None or in_shard >= rows_per_shard:
                if writer is not None:
                    writer.close()
                parts.append(directory / f".{split}-{len(parts):05d}.parquet")
                writer = pq.ParquetWriter(parts[-1], schema, compression="zstd", use_dictionary=dictionary)
                in_shard = 0
            if batch.num_rows:  # `datasets` cannot read a row group without rows
                writer.write(batch.select(schema.names).cast(schema))
                total += batch.num_rows
                in_shard += batch.num_rows
    finally:
        if writer is not None:
            writer.close()
    for index, part in enumerate(parts):
        part.rename(directory / f"{split}-{index:05d}-of-{len(parts):05d}.parquet")
    return total


def open_parquet(path: Path) -> pq.ParquetFile:
    """Opens a Parquet file, at a path or a URL, for use in a `with` statement."""
    with damage_named(path):
        return pq.ParquetFile(path if isinstance(path, Path) else path.open("rb"))


def batches_of(path: Path, **options: Any) -> Iterator[pa.RecordBatch]:
    """Streams the record batches of a Parquet file; the options are those of `iter_batches`."""
    with open_parquet(path) as file, damage_named(path):
        for batch in file.iter_batches(**{"batch_size": BATCH_ROWS, **options}):
            # Otherwise nothing looks at the bytes before someone wants a text, far from here.
            batch.validate(full=True)
            yield batch


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Turns the errors of Arrow and of the system into an `InputError` that names the file."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:  # names that are not UTF-8 among them
        problem = f"not a readable Parquet file: {str(error)[:200]}"
        raise InputError(problem, path=path, remedy="copy or re-create it") from error
