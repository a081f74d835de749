"""Records of CSV and JSON lines: their fields with line numbers, and named columns of them as texts.

CSV is read by the `csv` module, strictly: a quoted field that is not closed within 100 lines, or is followed by
anything but the delimiter, is an error that does not swallow the lines after it. The header shows the delimiter: a
comma, semicolon or tab. Blank lines are no records.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import InputError
from .schema import columns_there, is_text
from .text_blocks import DEFAULT_COLUMNS
from .text_files import LONGEST_RECORD_LINES, Block, LineErrors, all_lines, without_returns

_BLOCK_ROWS = 50_000
_DECODE = json.JSONDecoder().raw_decode
_SEPARATOR = re.compile(r"sep=(.)")
csv.field_size_limit(sys.maxsize)


def csv_records(
    lines: Iterator[tuple[int, str]], path: Path, errors: LineErrors, delimiter: str | None = None
) -> Iterator[tuple[int, list[str]]]:
    """Split numbered lines of CSV into records with the numbers of their first lines; malformed ones are reported.

    Without `delimiter`, a first line such as `sep=;` names it; else the most frequent one in the header counts.
    """
    # Lines that were looked at in vain for a closing quote are read again.
    waiting = deque(islice(lines, 1))
    if waiting and (stated := _SEPARATOR.fullmatch(waiting[0][1])):
        delimiter, waiting = delimiter or stated[1], deque(islice(lines, 1))
    taken: list[tuple[int, str]] = []

    def lines_of_record() -> Iterator[str]:
        while len(taken) < LONGEST_RECORD_LINES and (line := waiting.popleft() if waiting else next(lines, None)):
            taken.append(line)
            yield f"{line[1]}\n"

    delimiter = delimiter or find_delimiter(waiting[0][1] if waiting else "")
    reader = csv.reader(lines_of_record(), delimiter=delimiter, strict=True)
    while True:
        taken.clear()
        try:
            fields = next(reader, None)
        except csv.Error as error:
            is_open = "unexpected end of data" in str(error)
            problem = f"a quoted field is not closed within {len(taken)} lines" if is_open else str(error)
            errors.handle(problem, path, taken[0][0], "close the quote, and double quotes inside quoted fields")
            waiting.extendleft(reversed(taken[1:]))
            reader = csv.reader(lines_of_record(), delimiter=delimiter, strict=True)
            continue
        if fields is None:
            return
        if fields:
            yield taken[0][0], fields


def find_delimiter(header: str) -> str:
    """Return the delimiter that the header of a CSV file has most often: a comma, semicolon or tab."""
    return max(",;\t", key=header.count)


def require_once(present: list[str], theirs: str, path: Path, remedy: str, line: int = 1) -> None:
    """Check that a header has a column exactly once."""
    if present.count(theirs) != 1:
        problem = f"{'no' if theirs not in present else 'more than one'} column `{theirs}` in the header"
        remedy = f"{remedy}; {columns_there(present)}"
        raise InputError(problem, path=path, line=line, remedy=remedy)


def json_objects(path: Path, errors: LineErrors, encoding: str = "utf-8") -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Stream the objects of JSON lines with their line numbers, or of one JSON list with their positions."""
    lines = all_lines(path, errors, encoding)
    first = next(lines, None)
    if first is not None and first[1].lstrip().startswith("["):
        yield from _objects_of_list("\n".join([first[1], *(text for _, text in lines)]), path, errors)
        return
    for line, text in chain([first] if first else [], lines):
        if not (text := text.strip()):
            continue
        try:
            # `json.loads` takes twice as long.
            value, end = _DECODE(text)
            problem = "something other than {…}" if end == len(text) else f"text behind it: {text[end:][:40]}"
        except (ValueError, RecursionError) as error:
            value, end, problem = None, 0, error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        if isinstance(value, dict) and end == len(text):
            yield line, value
        else:
            errors.handle(f"not a JSON object as expected: {problem}", path, line, "give one object per line")


def _objects_of_list(text: str, path: Path, errors: LineErrors) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        problem, remedy = f"not a JSON list: {error}", "give one object per line, or one list of objects"
        raise InputError(problem, path=path, line=line, remedy=remedy) from error
    for position, value in enumerate(values, start=1):
        if isinstance(value, dict):
            yield position, value
        else:
            errors.handle(f"item {position} is not a JSON object", path, position, "give a list of objects")


def read_objects(
    objects: Iterable[tuple[int, Mapping[str, Any]]],
    path: Path,
    columns: Mapping[str, str],
    errors: LineErrors,
) -> Iterator[Block]:
    """Stream values of numbered JSON objects as texts, null for absent ones, lists and objects."""

    def rows() -> Iterator[tuple[int, list[str | None]]]:
        for position, value in objects:
            try:
                yield position, [_json_text(name, value.get(key)) for name, key in columns.items()]
            except ValueError as error:
                errors.handle(f"not the expected object: {error}", path, position, "fix the line")

    return blocks_of(list(columns), rows())


def _json_text(name: str, value: object) -> str | None:
    if value is not None and name in DEFAULT_COLUMNS and not isinstance(value, str):
        raise ValueError(f"the value of `{name}` is not text")
    if not isinstance(value, str | int | float):
        return None
    text = value if isinstance(value, str) else json.dumps(value)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name} has a lone surrogate, which is not a valid character") from error
    return text


def texts_of_column(name: str, column: pa.Array, path: str | Path, remedy: str) -> pa.Array:
    """Return a column of sentences as strings with one kind of line end."""
    if not is_text(column.type) and not pa.types.is_null(column.type):
        raise InputError(f"column for {name} is of type {column.type}, not text", path=path, remedy=remedy)
    return without_returns(column.cast(pa.string()))


def blocks_of(names: list[str], rows: Iterable[tuple[int, Sequence[str | None]]]) -> Iterator[Block]:
    """Put rows with their line numbers into blocks of columns."""
    stream = iter(rows)
    while block := list(islice(stream, _BLOCK_ROWS)):
        columns = zip(*(values for _, values in block), strict=True)
        texts = {
            name: without_returns(pa.array(column, pa.string())) for name, column in zip(names, columns, strict=True)
        }
        yield np.array([line for line, _ in block], np.int64), texts
