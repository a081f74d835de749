"""Records: named columns of CSV, JSON lines and Parquet files as texts, and rows of any layout with all columns.

CSV is read by the `csv` module, strictly: a quoted field that is not closed within 100 lines, or is followed by
anything but the delimiter, is an error that does not swallow the lines after it. The delimiter, a comma, semicolon or
tab, is that of the header. Blank lines are no records.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import InputError, UsageError
from ..inputs import dataset_builder, delimiter_of, input_state, opening_rows
from .folder import BATCH_ROWS, DataFolder, batches_of, open_parquet
from .schema import columns_there, holds_values, is_text, require_columns, require_texts, usual_pair_columns
from .text_blocks import DEFAULT_COLUMNS, check_readable, kind_of_rows, lines_of_text
from .text_files import LONGEST_RECORD_LINES, Block, LineErrors, StrictLines, all_lines, without_returns

_BLOCK_ROWS = 50_000
csv.field_size_limit(sys.maxsize)


def schema_of_file(path: Path, kind: str | None) -> pa.Schema:
    """Returns the schema of a file: that of Parquet, or texts in the columns of a header or of the first object."""
    if kind == "parquet":
        with open_parquet(path) as file:
            return file.schema_arrow
    names, errors = ["text"], StrictLines()
    if kind == "csv":
        names = next(csv_records(all_lines(path, errors), path, errors), (1, []))[1]
    elif kind == "jsonl":
        names = next((list(value) for _, value in _objects(path, errors)), [])
    return pa.schema([(name, pa.string()) for name in names])


def read_records(
    path: Path,
    kind: str,
    columns: Mapping[str, str],
    errors: LineErrors,
    *,
    optional: Sequence[str] = (),
    remedy: str = "rename the column",
) -> Iterator[Block]:
    """Streams columns of a `csv`, `jsonl` or `parquet` file as texts; `columns` are their names in the file.

    Those that are `optional` may be absent in a JSON object; the `remedy` is for a column that does not fit.
    """
    if kind == "parquet":
        present = schema_of_file(path, kind).names
        for theirs in columns.values():
            _require_once(present, theirs, path, remedy)
        tables = batches_of(path, batch_size=_BLOCK_ROWS, columns=list(dict.fromkeys(columns.values())))
        return numbered_texts(tables, columns, path, remedy)
    objects = _objects(path, errors) if kind == "jsonl" else _csv_objects(path, columns, errors, remedy)
    return read_objects(objects, path, columns, errors, optional=optional)


def _csv_objects(
    path: Path, columns: Mapping[str, str], errors: LineErrors, remedy: str
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Streams the records of CSV with their line numbers."""
    records = csv_records(all_lines(path, errors), path, errors)
    line, header = next(records, (1, []))
    for theirs in columns.values():
        _require_once(header, theirs, path, remedy, line)
    for number, fields in records:
        if len(fields) == len(header):
            yield number, dict(zip(header, fields, strict=True))
        else:
            message = f"{len(fields)} field{'s' if len(fields) > 1 else ''} where the header has {len(header)}"
            errors.handle(message, path, number, "fix the line")


def csv_records(lines: Iterator[tuple[int, str]], path: Path, errors: LineErrors) -> Iterator[tuple[int, list[str]]]:
    """Splits numbered lines of CSV into records with the numbers of their first lines; malformed ones are reported."""
    # Lines that were looked at in vain for a closing quote are read again.
    waiting = deque(islice(lines, 1))
    taken: list[tuple[int, str]] = []

    def lines_of_record() -> Iterator[str]:
        while len(taken) < LONGEST_RECORD_LINES and (line := waiting.popleft() if waiting else next(lines, None)):
            taken.append(line)
            yield f"{line[1]}\n"

    delimiter = delimiter_of(waiting[0][1] if waiting else "")
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


def _require_once(present: list[str], theirs: str, path: Path, remedy: str, line: int = 1) -> None:
    if present.count(theirs) != 1:
        problem = f"{'no' if theirs not in present else 'more than one'} column `{theirs}` in the header"
        remedy = f"{remedy}; {columns_there(present)}"
        raise InputError(problem, path=path, line=line, remedy=remedy)


def _objects(path: Path, errors: LineErrors) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Streams the objects of JSON lines with their line numbers."""
    for line, text in all_lines(path, errors):
        if not text.strip():
            continue
        try:
            value = json.loads(text)
            problem = "something other than {…}"
        except (ValueError, RecursionError) as error:
            value, problem = None, error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        if isinstance(value, dict):
            yield line, value
        else:
            errors.handle(f"not a JSON object as expected: {problem}", path, line, "give one object per line")


def read_objects(
    objects: Iterable[tuple[int, Mapping[str, Any]]],
    path: Path,
    columns: Mapping[str, str],
    errors: LineErrors,
    *,
    optional: Sequence[str] = (),
) -> Iterator[Block]:
    """Streams values of numbered JSON objects as texts; `optional` ones may be absent."""

    def rows() -> Iterator[tuple[int, list[str | None]]]:
        for number, value in objects:
            try:
                yield number, [_json_text(name, value, key, name in optional) for name, key in columns.items()]
            except ValueError as error:
                errors.handle(f"not the expected object: {error}", path, number, "fix the line")

    return blocks_of(list(columns), rows())


def json_types(path: Path, names: Sequence[str]) -> dict[str, pa.DataType]:
    """Returns the types of the columns of JSON lines of which all values are numbers, or all true or false."""
    kinds: dict[str, set[type]] = {name: set() for name in names}
    for _, values in _objects(path, StrictLines()):
        for name, found in kinds.items():
            value = values.get(name)
            # As a text a whole number may be of any length.
            found.add(str if type(value) is int and abs(value) >= 1 << 63 else type(value))
    types = [({bool}, pa.bool_()), ({int}, pa.int64()), ({int, float}, pa.float64()), ({float}, pa.float64())]
    return {name: kind for name, found in kinds.items() for those, kind in types if found - {type(None)} == those}


def _json_text(name: str, values: Mapping[str, Any], key: str, is_optional: bool) -> str | None:
    value = values.get(key)
    if value is None:
        if key not in values and not is_optional:
            raise ValueError(f"no key `{key}` among {', '.join(map(str, values)) or 'none'}")
        return None
    if name in DEFAULT_COLUMNS and not isinstance(value, str):
        raise ValueError(f"the value of `{key}` is not text")
    if not isinstance(value, str | int | float):
        if is_optional:
            return None
        raise ValueError(f"{name} is a list or an object")
    text = value if isinstance(value, str) else json.dumps(value)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name} has a lone surrogate, which is not a valid character") from error
    return text


def streamed_tables(dataset: str, split: str, subset: str | None = None) -> Generator[pa.Table]:
    """Streams the rows of whatever `load_dataset` opens as tables."""
    with opening_rows(dataset):
        rows = dataset_builder(dataset, subset).as_streaming_dataset(split)
        yield from rows.with_format("arrow").iter(batch_size=_BLOCK_ROWS)


def numbered_texts(
    tables: Iterable[pa.Table | pa.RecordBatch], columns: Mapping[str, str], path: str | Path, remedy: str
) -> Iterator[Block]:
    """Streams columns of tables as texts, with the numbers of the rows from 1."""
    row = 1
    for table in tables:
        texts = {name: _column_text(name, table.column(theirs), path, remedy) for name, theirs in columns.items()}
        yield np.arange(row, row + table.num_rows), texts
        row += table.num_rows


def _column_text(name: str, column: pa.Array | pa.ChunkedArray, path: str | Path, remedy: str) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    fits = is_text(column.type) or pa.types.is_null(column.type)
    if not fits and (name in DEFAULT_COLUMNS or not holds_values(column.type)):
        raise InputError(f"column for {name} is of type {column.type}, not text", path=path, remedy=remedy)
    return without_returns(column.cast(pa.string()))


def blocks_of(names: list[str], rows: Iterable[tuple[int, Sequence[str | None]]]) -> Iterator[Block]:
    """Puts rows with their line numbers into blocks of columns."""
    stream = iter(rows)
    while block := list(islice(stream, _BLOCK_ROWS)):
        columns = zip(*(values for _, values in block), strict=True)
        texts = {
            name: without_returns(pa.array(column, pa.string())) for name, column in zip(names, columns, strict=True)
        }
        yield np.array([line for line, _ in block], np.int64), texts


def open_rows(inputs: Sequence[str], cache: Path, *, split: str = "train", subset: str | None = None) -> pa.Table:
    """Opens text, CSV, JSON lines or Parquet files of one kind, or one folder or name on the Hub.

    The table is mapped into memory. What is read without `datasets` is written to the cache.
    """
    paths = [Path(item) for item in inputs]
    are_files = len(paths) > 1 or paths[0].is_file()
    is_path = paths[0].suffix or inputs[0].count("/") > 1 or inputs[0].startswith(("/", "."))
    if not are_files and is_path and not paths[0].is_dir():
        raise InputError("no such file or folder", path=inputs[0], remedy="check the path")
    with opening_rows(inputs[0]):
        if are_files:
            return _rows_of_files(paths, cache, split)
        if paths[0].is_dir() and subset is None and "." in split:
            # A configuration and a split, as the files of our folders are called; to load_dataset they are two names.
            return _mapped(DataFolder(paths[0]).shards(split), "parquet", cache)
        # Of a name on the Hub the subset and of a folder its files.
        builder = dataset_builder(inputs[0], subset)
        if paths[0].is_dir() and builder.name == "csv":
            if split not in builder.config.data_files:
                raise ValueError(f"there is no split {split}")
            return _mapped([Path(file) for file in builder.config.data_files[split]], "csv", cache)
        builder.download_and_prepare()
        return builder.as_dataset(split).with_format("arrow")[:]


def _rows_of_files(paths: Sequence[Path], cache: Path, split: str) -> pa.Table:
    for path in paths:
        check_readable(path)
    kind, *others = {kind_of_rows(path) for path in paths}
    if others:
        raise UsageError("the files are of several kinds", path=paths[-1], remedy="give files of one kind")
    if kind != "jsonl":
        return _mapped(paths, kind, cache)
    import datasets

    for path in paths:
        # That all is UTF-8 is not checked by the reader of JSON.
        for _ in lines_of_text(path):
            pass
    files = {split: [str(path) for path in paths]}
    return datasets.load_dataset("json", data_files=files, split=split, cache_dir=str(cache)).with_format("arrow")[:]


def _mapped(paths: Sequence[Path], kind: str | None, cache: Path) -> pa.Table:
    """Copies text, Parquet, or CSV files, whose values are all text, into one Arrow file, and maps it."""
    schema = schema_of_file(paths[0], kind)
    for path in paths:
        if {*(names := schema_of_file(path, kind).names)} != {*schema.names}:
            remedy = f"those of {paths[0]} are {', '.join(schema.names)}"
            raise InputError(f"the columns are {', '.join(names)}", path=path, line=1, remedy=remedy)
    cache.mkdir(parents=True, exist_ok=True)
    place = cache / f"{input_state(paths)}.arrow"
    temporary = place.with_name(f"{place.name}.{os.urandom(4).hex()}")
    with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
        for path in paths:
            try:
                for table in _tables(path, kind, schema.names):
                    writer.write(table.select(schema.names).cast(schema))
            except pa.ArrowInvalid as error:
                remedy = f"give columns of the types of {paths[0]}"
                raise InputError(f"a value does not fit: {error}", path=path, remedy=remedy) from error
    temporary.replace(place)
    return pa.ipc.open_stream(pa.memory_map(str(place))).read_all()


def _tables(path: Path, kind: str | None, names: Sequence[str]) -> Iterator[pa.Table | pa.RecordBatch]:
    if kind is None:
        yield from (pa.table({"text": lines}) for lines in lines_of_text(path))
    elif kind == "csv":
        records = read_records(path, kind, {name: name for name in names}, StrictLines())
        yield from (pa.table(columns) for _, columns in records)
    else:
        yield from batches_of(path)


def text_columns(rows: Any, columns: Sequence[str], name: str) -> list[str]:
    """Returns the columns of texts: those given, else those of the usual names, else the only one that holds text."""
    schema = rows.schema if isinstance(rows, pa.Table) else rows.features.arrow_schema
    if columns:
        require_columns(schema.names, columns, name)
        require_texts(schema, name, columns)
        return list(columns)
    texts = [field.name for field in schema if is_text(field.type) or pa.types.is_null(field.type)]
    usual = [column for column in DEFAULT_COLUMNS if column in texts] or [*usual_pair_columns(texts).values()]
    if not usual and len(texts) != 1:
        require_texts(schema, name, [column for column in DEFAULT_COLUMNS if column in schema.names])
        remedy = f"name one; {columns_there(schema.names)}"
        problem = f"no text column is called {', '.join(DEFAULT_COLUMNS)}"
        raise InputError(problem, path=name, remedy=remedy)
    return usual or texts


def texts_of(rows: Any, columns: Sequence[str]) -> pa.ChunkedArray:
    """Returns the texts of all rows; those of several columns are joined by a space."""
    if not isinstance(rows, pa.Table):
        rows = rows.select_columns(list(columns)).with_format("arrow")[:]
    parts = [pa.chunked_array([], pa.string())]
    for table in arrow_tables(rows):
        texts = [table.column(column).cast(pa.string()).fill_null("") for column in columns]
        parts.append(texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, " "))
    return pa.chunked_array([chunk for part in parts for chunk in part.chunks], pa.string())


def arrow_tables(rows: pa.Table, chosen: np.ndarray | None = None) -> Iterator[pa.Table]:
    """Streams the rows of a table, or the chosen ones (rows,), bool, in tables of at most 10,000."""
    for start in range(0, len(rows), BATCH_ROWS):
        table = rows.slice(start, BATCH_ROWS)
        part = table if chosen is None else table.filter(pa.array(chosen[start : start + BATCH_ROWS]))
        if part.num_rows:
            yield part
