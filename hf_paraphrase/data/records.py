"""Reads the named columns of CSV, JSON lines and Parquet files as texts, a block at a time, with line numbers.

CSV is read by the `csv` module, strictly: quotes are doubled inside quoted fields, and a quoted field that is not
closed within 100 lines, or is followed by anything but the delimiter, is an error that does not swallow the lines
after it. The delimiter, a comma, semicolon or tab, is that of the header. Blank lines are no records.
"""

from __future__ import annotations

import csv
import json
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import InputError
from ..inputs import delimiter_of
from .folder import batches_of, open_parquet
from .schema import holds_values, is_text
from .text_files import Block, LineErrors, StrictLines, read_lines, without_returns

_BLOCK_ROWS = 50_000
_TEXTS = ("sentence", "sentence1", "sentence2")
_LONGEST_RECORD_LINES = 100
csv.field_size_limit(sys.maxsize)


def column_names(path: Path, kind: str) -> list[str]:
    """Lists the columns of a file: its header, its schema, or the keys of its first object."""
    if kind == "parquet":
        with open_parquet(path) as file:
            return list(file.schema_arrow.names)
    errors = StrictLines()
    if kind == "csv":
        return next(csv_records(_numbered(path, errors), path, errors), (1, []))[1]
    for _, text in _numbered(path, errors):
        return list(_json_object(text, path, errors) or {})
    return []


def read_records(
    path: Path, kind: str, columns: Mapping[str, str], errors: LineErrors, *, optional: Sequence[str] = ()
) -> Iterator[Block]:
    """Streams columns of a `csv`, `jsonl` or `parquet` file as texts; `columns` are their names in the file.

    Of those that are `optional` a value is null where a JSON object lacks it or has a list or an object.
    """
    if kind == "jsonl":
        return read_objects(_objects(path, columns, errors, optional), path, columns, errors)
    return _read_csv(path, columns, errors) if kind == "csv" else _read_parquet(path, columns)


def _read_csv(path: Path, columns: Mapping[str, str], errors: LineErrors) -> Iterator[Block]:
    records = csv_records(_numbered(path, errors), path, errors)
    line, header = next(records, (1, []))
    places = [_place(header, name, theirs, path, line) for name, theirs in columns.items()]

    def rows() -> Iterator[tuple[int, list[str | None]]]:
        for number, fields in records:
            if len(fields) == len(header):
                yield number, [fields[place] for place in places]
            else:
                message = f"{len(fields)} field{'s' if len(fields) > 1 else ''} where the header has {len(header)}"
                errors.handle(message, path, number, "fix the line")

    return _blocks(list(columns), rows())


def csv_records(lines: Iterator[tuple[int, str]], path: Path, errors: LineErrors) -> Iterator[tuple[int, list[str]]]:
    """Splits numbered lines of CSV into records with the numbers of their first lines; malformed ones are reported."""
    # Lines that were looked at in vain for a closing quote are read again.
    waiting: deque[tuple[int, str]] = deque()
    delimiter = ""
    while (first := waiting.popleft() if waiting else next(lines, None)) is not None:
        number, text = first
        delimiter = delimiter or delimiter_of(text)
        record = [text]
        taken: list[tuple[int, str]] = []
        try:
            while (fields := _split(record, delimiter)) is None:
                more = waiting.popleft() if waiting else next(lines, None)
                if more is not None:
                    taken.append(more)
                if more is None or len(record) == _LONGEST_RECORD_LINES:
                    raise csv.Error(f"a quoted field is not closed within {len(record)} lines")
                record.append(more[1])
        except csv.Error as error:
            errors.handle(str(error), path, number, "close the quote, and double quotes inside quoted fields")
            waiting.extendleft(reversed(taken))
            continue
        if fields:
            yield number, fields


def _split(lines: list[str], delimiter: str) -> list[str] | None:
    """Splits one record over some lines; None if a quoted field is not closed."""
    if len(lines) == 1 and '"' not in lines[0]:
        return lines[0].split(delimiter) if lines[0] else []
    try:
        return next(csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True))
    except csv.Error as error:
        if "unexpected end of data" in str(error):
            return None
        raise


def _numbered(path: Path, errors: LineErrors) -> Iterator[tuple[int, str]]:
    number = 1
    for lines in read_lines(path, errors):
        yield from ((line, text) for line, text in enumerate(lines.to_pylist(), start=number) if text is not None)
        number += len(lines)


def _place(present: list[str], name: str, theirs: str, path: Path, line: int = 1) -> int:
    """Finds a wanted column among those that there are."""
    if present.count(theirs) != 1:
        raise InputError(
            f"{'no' if theirs not in present else 'more than one'} column `{theirs}` in the header",
            path=path,
            line=line,
            remedy=f"name it with --columns {name}=…; the header has {', '.join(map('`{}`'.format, present))}",
        )
    return present.index(theirs)


def _objects(
    path: Path, columns: Mapping[str, str], errors: LineErrors, optional: Sequence[str]
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Streams the objects of JSON lines with their line numbers."""
    keys = [columns[name] for name in optional]
    for line, text in _numbered(path, errors):
        if text.strip() and (value := _json_object(text, path, errors, line)) is not None:
            plain = {key: value[key] for key in keys if isinstance(value.get(key), str | int | float)}
            yield line, {**value, **dict.fromkeys(keys), **plain}


def read_objects(
    objects: Iterable[tuple[int, Mapping[str, Any]]], path: Path, columns: Mapping[str, str], errors: LineErrors
) -> Iterator[Block]:
    """Streams values of numbered JSON objects as texts."""

    def rows() -> Iterator[tuple[int, list[str | None]]]:
        for number, value in objects:
            try:
                yield number, [_json_text(name, value, theirs) for name, theirs in columns.items()]
            except ValueError as error:
                errors.handle(f"not a JSON object as expected: {error}", path, number, "fix it")

    return _blocks(list(columns), rows())


def _json_object(text: str, path: Path, errors: LineErrors, line: int = 1) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
        if isinstance(value, dict):
            return value
        problem = "something other than {…}"
    except (ValueError, RecursionError) as error:
        problem = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
    errors.handle(f"not a JSON object as expected: {problem}", path, line, "give one object a line")
    return None


def _json_text(name: str, values: Mapping[str, Any], key: str) -> str | None:
    if key not in values:
        raise ValueError(f"no key `{key}` among {', '.join(map(str, values)) or 'none'}")
    value = values[key]
    if value is None:
        return None
    if name in _TEXTS and not isinstance(value, str):
        raise ValueError(f"{name} is not a text")
    if not isinstance(value, str | int | float):
        raise ValueError(f"{name} is a list or an object")
    text = value if isinstance(value, str) else json.dumps(value)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name} has a lone surrogate, which is not a valid character") from error
    return text


def _read_parquet(path: Path, columns: Mapping[str, str]) -> Iterator[Block]:
    if not path.is_file():
        raise InputError("no such file", path=path, remedy="check the path")
    with open_parquet(path) as file:
        for name, theirs in columns.items():
            _place(file.schema_arrow.names, name, theirs, path)
        wanted = list(dict.fromkeys(columns.values()))
        yield from numbered_texts(batches_of(file, path, batch_size=_BLOCK_ROWS, columns=wanted), columns, path)


def numbered_texts(
    tables: Iterable[pa.Table | pa.RecordBatch], columns: Mapping[str, str], path: str | Path
) -> Iterator[Block]:
    """Streams columns of tables as texts, with the numbers of the rows from 1."""
    row = 1
    for table in tables:
        texts = {name: _column_text(name, table.column(theirs), path) for name, theirs in columns.items()}
        yield np.arange(row, row + table.num_rows), texts
        row += table.num_rows


def _column_text(name: str, column: pa.Array | pa.ChunkedArray, path: str | Path) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    fits = is_text(column.type) or pa.types.is_null(column.type)
    if not fits and (name in _TEXTS or not holds_values(column.type)):
        raise InputError(
            f"column for {name} is of type {column.type}, not text", path=path, remedy="name it with --columns"
        )
    return without_returns(column.cast(pa.string()))


def _blocks(names: list[str], rows: Iterable[tuple[int, list[str | None]]]) -> Iterator[Block]:
    """Puts rows with their line numbers into blocks of columns."""
    stream = iter(rows)
    while block := list(islice(stream, _BLOCK_ROWS)):
        columns = zip(*(values for _, values in block), strict=True)
        texts = {
            name: without_returns(pa.array(column, pa.string())) for name, column in zip(names, columns, strict=True)
        }
        yield np.array([line for line, _ in block], np.int64), texts
