"""Data folders: Parquet shards named as `load_dataset` and the Hub expect (`data/SPLIT-00000-of-00001.parquet`)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..artefacts.json_files import read_json_object
from ..artefacts.plain_files import check_plain
from ..errors import InputError, UsageError
from .schema import require_columns, require_texts

ROWS_PER_SHARD = 1_000_000
_ROWS_PER_BYTE = 10_000
"""More than a million times the same row take up: a footer that claims more is a lie that would fill the memory."""
_SHARD = re.compile(r"^(?P<split>[\w.]+)-(?P<index>\d{5})-of-(?P<count>\d{5})\.parquet$")

_SPLIT = re.compile(r"\w+(\.\w+)*")


def check_split_name(name: str) -> str:
    """Returns `name` if `datasets` takes it for a split.

    Raises:
        UsageError: If it does not.
    """
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


def shard_paths(folder: str | os.PathLike[str], split: str) -> list[Path]:
    """Lists the shards of a split in order.

    Raises:
        InputError: If the folder is not a data folder, lacks the split, or lacks one of its shards.
    """
    folder = Path(folder)
    splits = split_names(folder)
    if split not in splits:
        raise InputError(f"no split `{split}`", path=folder, remedy=f"the splits are {', '.join(splits)}")
    found = {}
    count = 0
    for path in (folder / "data").glob("*.parquet"):
        match = _SHARD.match(path.name)
        if match and match["split"] == split:
            found[int(match["index"])] = path
            count = int(match["count"])
    if sorted(found) != list(range(count)):
        raise InputError(f"{len(found)} of {count} shards of split `{split}` are there", path=folder)
    _check_plain(folder)
    return [found[index] for index in range(count)]


def split_names(folder: str | os.PathLike[str]) -> list[str]:
    """Lists the splits of a data folder, train first.

    Raises:
        InputError: If the folder does not exist or holds no Parquet shards.
    """
    folder = Path(folder)
    if not folder.is_dir():
        if folder.exists():
            raise InputError(
                "this is a file, not a data folder",
                path=folder,
                remedy="make a data folder of it first, e.g. pairs with hf-paraphrase prepare pairs --tsv FILE",
            )
        raise InputError("no such data folder", path=folder)
    names = {match["split"] for path in (folder / "data").glob("*.parquet") if (match := _SHARD.match(path.name))}
    if not names:
        raise InputError(
            "not a data folder: it has no data/SPLIT-00000-of-00001.parquet",
            path=folder,
            remedy="make one with hf-paraphrase prepare",
        )
    order = {"train": 0, "validation": 1, "test": 2}
    return sorted(names, key=lambda name: (order.get(name, 3), name))


def open_shard(path: Path) -> pq.ParquetFile:
    """Opens a Parquet file whose columns of sentences are text, for use in a `with` statement.

    Raises:
        InputError: If it is missing, cut off or no Parquet file, claims more rows than it can hold, or has sentences
            that are no text.
    """
    with damage_named(path):
        file = pq.ParquetFile(path)
    try:
        rows = file.metadata.num_rows
        if not 0 <= rows <= _ROWS_PER_BYTE * path.stat().st_size:
            raise InputError(f"its {path.stat().st_size:,} bytes claim to be {rows:,} rows", path=path)
        require_texts(file.schema_arrow, str(path))
    except BaseException:
        file.close()
        raise
    return file


def batches_of(file: pq.ParquetFile, path: Path, **options: Any) -> Iterator[pa.RecordBatch]:
    """Streams the record batches of an open file, with the arguments of its `iter_batches`.

    Raises:
        InputError: If the data are damaged.
    """
    with damage_named(path):
        yield from file.iter_batches(**options)


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Turns what Arrow raises for damaged data into an error that names the file.

    Raises:
        InputError: For the errors of Arrow and of the system.
    """
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"not a readable Parquet file: {str(error)[:200]}", path=path, remedy="copy or make it again"
        ) from error


def _check_plain(folder: Path) -> None:
    """Checks that nothing in a data folder leads out of it, and that its provenance can be read later on."""
    paths = [folder / "data", *sorted((folder / "data").glob("*.parquet"))]
    paths += [path for name in ("README.md", "provenance.json") if os.path.lexists(path := folder / name)]
    check_plain(folder, paths)
    if (folder / "provenance.json").is_file():
        read_json_object(folder / "provenance.json")


def iterate_batches(
    folder: str | os.PathLike[str],
    split: str = "train",
    columns: Sequence[str] | None = None,
    *,
    batch_size: int = 10_000,
) -> Iterator[pa.RecordBatch]:
    """Streams a split as record batches of at most `batch_size` rows.

    Raises:
        InputError: For a missing split or column, or a shard that is not Parquet.
    """
    for path in shard_paths(folder, split):
        with open_shard(path) as file:
            if columns is not None:
                require_columns(file.schema_arrow.names, columns, str(path))
            yield from batches_of(file, path, batch_size=batch_size, columns=columns and list(columns))


def read_table(folder: str | os.PathLike[str], split: str = "train", columns: Sequence[str] | None = None) -> pa.Table:
    """Reads a split, or some of its columns, into memory.

    Raises:
        InputError: As :func:`iterate_batches`.
    """
    schema = read_schema(folder, split)
    if columns is not None:
        require_columns(schema.names, columns, str(folder))
        schema = pa.schema([schema.field(name) for name in columns])
    return pa.Table.from_batches(iterate_batches(folder, split, columns), schema=schema)


def read_schema(folder: str | os.PathLike[str], split: str = "train") -> pa.Schema:
    """Returns the Arrow schema of a split without metadata.

    Raises:
        InputError: If the split's first shard is not readable.
    """
    path = shard_paths(folder, split)[0]
    with open_shard(path) as file:
        return file.schema_arrow.remove_metadata()


def count_rows(folder: str | os.PathLike[str], split: str = "train") -> int:
    """Counts the rows of a split from the shards' footers.

    Raises:
        InputError: For a missing split or a shard that is not Parquet.
    """
    total = 0
    for path in shard_paths(folder, split):
        with open_shard(path) as file:
            total += file.metadata.num_rows
    return total


def split_sizes(folder: str | os.PathLike[str]) -> list[dict[str, str | int]]:
    """Describes the splits of a data folder as the `dataset_info` of a card wants them.

    Returns:
        For each split its `name`, its `num_examples`, and as `num_bytes` the size of its columns before compression.
    """
    sizes: list[dict[str, str | int]] = []
    for split in split_names(folder):
        rows = size = 0
        for path in shard_paths(folder, split):
            with open_shard(path) as file:
                footer = file.metadata
                rows += footer.num_rows
                size += sum(footer.row_group(index).total_byte_size for index in range(footer.num_row_groups))
        sizes.append({"name": split, "num_examples": rows, "num_bytes": size})
    return sizes
