"""Reads the named columns of CSV, JSON lines and Parquet files as texts, a block at a time, with line numbers.

The CSV reader follows RFC 4180 (commas, a header, quotes doubled inside quoted fields) and is strict where others
guess: a quoted field that is not closed within 100 lines, or is followed by anything but a comma, is an error and does
not swallow the lines after it; a lone carriage return is text. Line ends inside a quoted field come as line feeds.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import InputError
from ..parquet_files import batches_of, open_parquet
from ..text_files import LineErrors, read_lines

Block = tuple[np.ndarray, dict[str, pa.Array]]
"""Line numbers (rows,), and for each column strings (rows,), null where the file has no value."""

_BLOCK_ROWS = 50_000
_LONGEST_RECORD_LINES = 100
_REMEDY = "fix the line"


def read_csv(path: Path, columns: Mapping[str, str], errors: LineErrors) -> Iterator[Block]:
    """Streams columns of a CSV file with a header."""
    records = _records(path, errors)
    line, header = next(records, (1, []))
    places = _places(header, columns, path, line)
    names = list(places)
    lines: list[int] = []
    rows: list[list[str]] = []
    for line, fields in records:
        if len(fields) != len(header):
            message = f"{len(fields)} field{'s' if len(fields) > 1 else ''} where the header has {len(header)}"
            errors.handle(message, path, line, _REMEDY)
            continue
        lines.append(line)
        rows.append([fields[place] for place in places.values()])
        if len(lines) == _BLOCK_ROWS:
            yield _block(lines, names, rows)
            lines, rows = [], []
    yield _block(lines, names, rows)


def split_record(text: str) -> list[str] | None:
    """Splits one CSV record.

    Returns:
        The fields; None if a quoted field is not closed, so that the record continues in the next line.
    """
    fields: list[str] = []
    position = 0
    while True:
        if text.startswith('"', position):
            parts: list[str] = []
            position += 1
            while True:
                end = text.find('"', position)
                if end < 0:
                    return None
                parts.append(text[position:end])
                position = end + 1
                if not text.startswith('"', position):
                    break
                parts.append('"')
                position += 1
            fields.append("".join(parts))
            if position == len(text):
                return fields
            if text[position] != ",":
                raise ValueError(f"`{text[position]}` after the closing quote of field {len(fields)}")
        else:
            end = text.find(",", position)
            fields.append(text[position:] if end < 0 else text[position:end])
            if end < 0:
                return fields
            position = end
        position += 1


def _records(path: Path, errors: LineErrors) -> Iterator[tuple[int, list[str]]]:
    """Returns the records with the lines on which they begin; malformed ones are reported and left out."""
    source = _numbered(path, errors)
    # Lines that were looked at in vain for a closing quote wait here to be read again.
    waiting: deque[tuple[int, str | None]] = deque()
    while True:
        number, text = waiting.popleft() if waiting else next(source, (0, None))
        if number == 0:
            return
        if text is None:
            continue
        record = [text]
        taken: list[tuple[int, str | None]] = []
        try:
            fields = split_record(text)
            while fields is None and len(record) < _LONGEST_RECORD_LINES:
                following = waiting.popleft() if waiting else next(source, (0, None))
                if following[0]:
                    taken.append(following)
                if following[1] is None:
                    break
                record.append(following[1])
                fields = split_record("\n".join(record))
            if fields is None:
                raise ValueError(f"a quoted field is not closed within {len(record)} lines")
        except ValueError as error:
            errors.handle(str(error), path, number, "close the quote, and double quotes inside quoted fields")
            waiting.extendleft(reversed(taken))
            continue
        yield number, fields


def _numbered(path: Path, errors: LineErrors) -> Iterator[tuple[int, str | None]]:
    number = 1
    for lines in read_lines(path, errors):
        yield from enumerate(lines.to_pylist(), start=number)
        number += len(lines)


def _places(header: list[str], columns: Mapping[str, str], path: Path, line: int) -> dict[str, int]:
    """Finds the wanted columns in a header."""
    places = {}
    for name, raw in columns.items():
        if header.count(raw) != 1:
            raise InputError(
                f"{'no' if raw not in header else 'more than one'} column `{raw}` in the header",
                path=path,
                line=line,
                remedy=f"name it with --columns {name}=…; the header has {', '.join(map('`{}`'.format, header))}",
            )
        places[name] = header.index(raw)
    return places


def read_jsonl(path: Path, columns: Mapping[str, str], errors: LineErrors) -> Iterator[Block]:
    """Streams values of a file with one JSON object a line."""
    names = list(columns)
    number = 1
    for texts in read_lines(path, errors):
        lines: list[int] = []
        rows: list[list[str | None]] = []
        for line, text in enumerate(texts.to_pylist(), start=number):
            if text is None:
                continue
            try:
                rows.append(_json_values(text, columns))
            except (ValueError, RecursionError) as error:
                message = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
                errors.handle(f"not a JSON object as expected: {message}", path, line, "give one object a line")
                continue
            lines.append(line)
        number += len(texts)
        yield _block(lines, names, rows)


def _json_values(text: str, columns: Mapping[str, str]) -> list[str | None]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("something other than {…}")
    missing = [key for key in columns.values() if key not in value]
    if missing:
        raise ValueError(f"no key `{missing[0]}` among {', '.join(map(str, value)) or 'none'}")
    return [_json_text(name, value[key]) for name, key in columns.items()]


def _json_text(name: str, value: Any) -> str | None:
    if value is None:
        return None
    if name.startswith("sentence") and not isinstance(value, str):
        raise ValueError(f"{name} is not a text")
    if isinstance(value, bool):
        return str(int(value)) if name == "label" else str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if not isinstance(value, str):
        raise ValueError(f"{name} is a list or an object")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name} has a lone surrogate, which is not a valid character") from error
    return value


def read_parquet(path: Path, columns: Mapping[str, str], errors: LineErrors) -> Iterator[Block]:
    """Streams columns of a Parquet file; rows count from 1."""
    if not path.is_file():
        raise InputError("no such file", path=path, remedy="check the path")
    with open_parquet(path) as file:
        _places(file.schema_arrow.names, columns, path, 1)
        row = 1
        for batch in batches_of(file, path, batch_size=_BLOCK_ROWS, columns=list(dict.fromkeys(columns.values()))):
            texts = {name: _parquet_text(name, batch.column(raw), path) for name, raw in columns.items()}
            yield np.arange(row, row + batch.num_rows), texts
            row += batch.num_rows


def _parquet_text(name: str, column: pa.Array, path: Path) -> pa.Array:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)
    if pa.types.is_boolean(kind) and name == "label":
        column = pc.cast(column, pa.int64())
    elif not text and (
        name.startswith("sentence")
        or not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))
    ):
        raise InputError(f"column for {name} is of type {kind}, not text", path=path, remedy="name it with --columns")
    return column.cast(pa.string())


def _block(lines: list[int], names: list[str], rows: list[Any]) -> Block:
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return (
        np.array(lines, dtype=np.int64),
        {name: pa.array(list(column), pa.string()) for name, column in zip(names, columns, strict=True)},
    )
