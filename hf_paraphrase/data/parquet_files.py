"""Opens Parquet files with errors that name the file, and streams their batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import InputError
from .schema import require_texts

BATCH_ROWS = 10_000


def open_parquet(path: Path) -> pq.ParquetFile:
    """Opens a Parquet file, at a path or a URL, for use in a `with` statement."""
    with damage_named(path):
        return pq.ParquetFile(path if isinstance(path, Path) else path.open("rb"))


def open_shard(path: Path) -> pq.ParquetFile:
    """Opens a Parquet file whose columns of sentences are text, for use in a `with` statement."""
    file = open_parquet(path)
    try:
        require_texts(file.schema_arrow, str(path))
    except BaseException:
        file.close()
        raise
    return file


def batches_of(
    file: pq.ParquetFile,
    path: Path,
    *,
    batch_size: int = BATCH_ROWS,
    row_groups: Sequence[int] | None = None,
    columns: Sequence[str] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Streams the record batches of an open file."""
    groups = list(range(file.num_row_groups)) if row_groups is None else list(row_groups)
    options: dict[str, Any] = {"batch_size": batch_size, "row_groups": groups, "columns": columns and list(columns)}
    with damage_named(path):
        for batch in file.iter_batches(**options):
            # Otherwise nothing looks at the bytes before someone wants a text, far from here.
            batch.validate(full=True)
            yield batch


def table_of(
    file: pq.ParquetFile, path: Path, columns: Sequence[str], *, row_groups: Sequence[int] | None = None
) -> pa.Table:
    """Reads columns of an open file into memory, in the order in which they are asked for."""
    schema = pa.schema([file.schema_arrow.field(name) for name in columns])
    batches = batches_of(file, path, row_groups=row_groups, columns=columns)
    return pa.Table.from_batches([batch.select(list(columns)) for batch in batches], schema)


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Turns the errors of Arrow and of the system into an `InputError` that names the file."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:  # names that are not UTF-8 among them
        raise InputError(
            f"not a readable Parquet file: {str(error)[:200]}", path=path, remedy="copy or re-create it"
        ) from error
