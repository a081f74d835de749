"""Parquet files of others: opened and read in memory that depends on their own size, whatever they claim.

A dictionary of a few kilobytes can stand for gigabytes: one long text, packed, and a number for each of the rows that
have it. So the headers of the pages are looked at before a file is read (`artefacts/parquet_pages.py`), batches are
made short where texts are long, and a file may not become more than :func:`~..artefacts.untrusted_files.most_unpacked`
allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..artefacts.parquet_pages import DICTIONARY, Page, RowGroup, pages, row_groups
from ..artefacts.untrusted_files import most_unpacked, open_plain
from ..errors import InputError
from .schema import require_texts

BATCH_ROWS = 10_000
_ROWS_PER_BYTE = 10_000
"""More than a million times the same row take up: a footer that claims more is a lie that would fill the memory."""
_BATCH_BYTES = 64 << 20
_REMEDY = "copy or make it again"


def open_parquet(path: Path) -> pq.ParquetFile:
    """Opens a Parquet file, for use in a `with` statement.

    Raises:
        InputError: If it is missing, not a plain file, cut off, no Parquet file, or claims more rows than it can hold.
    """
    open_plain(path).close()
    with damage_named(path):
        file = pq.ParquetFile(_source(path))
    rows = file.metadata.num_rows
    if not 0 <= rows <= _ROWS_PER_BYTE * path.stat().st_size:
        file.close()
        raise InputError(f"its {path.stat().st_size:,} bytes claim to be {rows:,} rows", path=path)
    return file


def open_shard(path: Path) -> pq.ParquetFile:
    """Opens a Parquet file whose columns of sentences are text, for use in a `with` statement.

    Raises:
        InputError: As :func:`open_parquet`, and if it has sentences that are no text.
    """
    file = open_parquet(path)
    try:
        require_texts(file.schema_arrow, str(path))
    except BaseException:
        file.close()
        raise
    return file


def row_groups_of(file: pq.ParquetFile, path: Path) -> list[RowGroup]:
    """Reads how large the row groups of an open file are, and where their columns lie.

    Raises:
        InputError: If its footer is damaged.
    """
    with open_plain(path) as stream:
        try:
            found = row_groups(stream)
            if len(found) != file.num_row_groups or sum(group.rows for group in found) != file.metadata.num_rows:
                raise ValueError("its row groups have other rows than the file")
            if any(len(group.columns) != len(file.schema) for group in found):
                raise ValueError("a row group has other columns than the file")
        except (ValueError, OSError) as error:
            raise _unreadable(path, error) from error
    return found


def batches_of(
    file: pq.ParquetFile,
    path: Path,
    *,
    batch_size: int = BATCH_ROWS,
    row_groups: Sequence[int] | None = None,
    columns: Sequence[str] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Streams the record batches of an open file.

    Args:
        file: The file.
        path: Its path.
        batch_size: The most rows of a batch; fewer where texts are very long.
        row_groups: The row groups to read; all by default.
        columns: The columns to read; all by default.

    Raises:
        InputError: If the data are damaged, hold text that is no UTF-8, or become far more than a file of that size
            can hold.
    """
    groups = list(range(file.num_row_groups)) if row_groups is None else list(row_groups)
    size = path.stat().st_size
    most, total = most_unpacked(size), 0
    longest = _longest_value(file, path, groups, columns, batch_size, most)
    rows = max(1, min(batch_size, _BATCH_BYTES // max(1, longest)))
    options: dict[str, Any] = {"batch_size": rows, "row_groups": groups, "columns": columns and list(columns)}
    with damage_named(path):
        for batch in file.iter_batches(**options):
            total += batch.nbytes
            if total > most:
                raise _too_large(path, size, most)
            # Nothing looks at the bytes before someone wants a text, far from here.
            batch.validate(full=True)
            yield batch


def table_of(
    file: pq.ParquetFile, path: Path, columns: Sequence[str], *, row_groups: Sequence[int] | None = None
) -> pa.Table:
    """Reads columns of an open file into memory, in the order in which they are asked for.

    Raises:
        InputError: As :func:`batches_of`.
    """
    schema = pa.schema([file.schema_arrow.field(name) for name in columns])
    batches = batches_of(file, path, row_groups=row_groups, columns=columns)
    return pa.Table.from_batches([batch.select(list(columns)) for batch in batches], schema)


def _source(path: Path) -> Any:
    """Returns what Arrow opens: a path here, and of an address the stream."""
    return path if isinstance(path, Path) else open_plain(path)


def _longest_value(
    file: pq.ParquetFile, path: Path, groups: Sequence[int], columns: Sequence[str] | None, rows: int, most: int
) -> int:
    """Finds how long the values of dictionaries may be, in bytes.

    Raises:
        InputError: If the pages of a column become far more than the file can hold, or are damaged.
    """
    longest = 0
    leaves = [file.schema.column(number).max_repetition_level > 0 for number in range(len(file.schema))]
    found = row_groups_of(file, path)
    with open_plain(path) as stream:
        try:
            for group in groups:
                for repeated, column in zip(leaves, found[group].columns, strict=True):
                    if columns is not None and column.name not in columns:
                        continue
                    unpacked, values, dictionary = _totals(pages(stream, column.begin, column.length))
                    if unpacked > most or (repeated and values * max(8, dictionary) > most):
                        raise _too_large(path, path.stat().st_size, most)
                    if column.is_text and rows * dictionary > _BATCH_BYTES:
                        dictionary = _longest_text(path, group, column.path, dictionary)
                    longest = max(longest, dictionary if column.is_text else 0)
        except (ValueError, OSError) as error:
            raise _unreadable(path, error) from error
    return longest


def _totals(found: Iterator[Page]) -> tuple[int, int, int]:
    """Adds up the unpacked bytes and the values of the pages of a column, and gives the bytes of its dictionary."""
    unpacked = values = dictionary = 0
    for place, page in enumerate(found):
        unpacked += page.unpacked
        if page.kind != DICTIONARY:
            values += page.values
        elif place:
            raise ValueError("a dictionary behind the values that it is for")
        else:
            dictionary = page.unpacked
    return unpacked, values, dictionary


def _longest_text(path: Path, group: int, name: str, size: int) -> int:
    """Finds the length of the longest value of a column's dictionary, at most its `size`, in bytes."""
    with damage_named(path), pq.ParquetFile(_source(path), read_dictionary=[name]) as file:
        for batch in file.iter_batches(batch_size=1, row_groups=[group], columns=[name]):
            column = batch.column(0)
            if isinstance(column, pa.DictionaryArray) and len(column.dictionary):
                return int(pc.max(pc.binary_length(column.dictionary)).as_py() or 0)
            return size
    return 0


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(f"not a readable Parquet file: {str(error)[:200]}", path=path, remedy=_REMEDY)


def _too_large(path: Path, size: int, most: int) -> InputError:
    return InputError(
        f"its {size:,} bytes become more than {most >> 20:,} MiB, which no text of its size does",
        path=path,
        remedy="write it anew without dictionaries, if you trust it",
    )


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Turns what Arrow raises for damaged data into an error that names the file.

    Raises:
        InputError: For the errors of Arrow and of the system.
    """
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:  # names that are no UTF-8 among them
        raise _unreadable(path, error) from error
