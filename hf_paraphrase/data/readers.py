"""Read files as Arrow batches whose values keep the type that they have in the file.

Parquet files have types. Columns of CSV are text, with null for an empty field. A column of JSON lines has
the type of its values: text stays text, a date is text, and whole numbers that no integer type holds become text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..artefacts.fsspec_path import FsspecPath
from ..errors import InputError
from ..messages import sanitize_line
from .records import csv_records, json_objects, require_once
from .text_blocks import LineErrors, StrictLines
from .text_files import FLOAT, all_lines, read_lines

BATCH_ROWS = 10_000
_WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"
LINE = "\0line"
"""The name of a column with the line of each row, which readers of CSV and JSON lines have too."""
_KINDS = {type(None): "null", list: "nested", dict: "nested"}
_INT64 = range(-(1 << 63), 1 << 63)


class FileReader:
    """Reads one format. A subclass says how one file is read; the files of a split have the columns of the first."""

    has_lines = False
    """Whether :data:`LINE` can be read."""

    def __init__(self, files: Sequence[Any], options: Mapping[str, Any]) -> None:
        self.files, self.options = list(files), dict(options)
        self.errors: LineErrors = self.options.pop("errors", None) or StrictLines()
        self.schema = self.read_schema()

    def read_schema(self) -> pa.Schema:
        """Return the schema of all files."""
        raise NotImplementedError

    def count(self) -> int:
        """Count the rows; a text format is read once for it."""
        return sum(batch.num_rows for batch in self.batches(self.schema.names[:1]))

    def batches(
        self, columns: Sequence[str], start: int = 0, stop: int | None = None, batch_size: int = BATCH_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """Stream columns of the rows `start` to `stop` of all files."""
        row = 0
        for file in self.files:
            for batch in self.read(file, columns, batch_size):
                begin, row = row, row + batch.num_rows
                part = batch.slice(max(0, start - begin), None if stop is None else max(0, stop - max(begin, start)))
                if part.num_rows:
                    yield part
                if stop is not None and row >= stop:
                    return

    def read(self, file: Any, columns: Sequence[str], batch_size: int) -> Iterator[pa.RecordBatch]:
        """Stream columns of one file."""
        raise NotImplementedError


class ParquetReader(FileReader):
    """Reads Parquet files, and decodes only the row groups and columns that are asked for."""

    _footers: list[pq.FileMetaData]

    def read_schema(self) -> pa.Schema:
        """Return the schema of the first file."""
        self._footers = []
        for file in self.files:
            with open_parquet(file) as opened:
                self._footers.append(opened.metadata)
                if file is self.files[0]:
                    schema = opened.schema_arrow
        return schema

    def count(self) -> int:
        """Count the rows from the footers of the files."""
        return sum(footer.num_rows for footer in self._footers)

    def num_bytes(self) -> int:
        """Return the size of the rows before compression."""
        return sum(
            footer.row_group(group).total_byte_size
            for footer in self._footers
            for group in range(footer.num_row_groups)
        )

    def batches(
        self, columns: Sequence[str], start: int = 0, stop: int | None = None, batch_size: int = BATCH_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """Stream columns of the rows `start` to `stop` of all files."""
        row, stop = 0, self.count() if stop is None else stop
        for file, footer in zip(self.files, self._footers, strict=True):
            ends = [0, *(footer.row_group(group).num_rows for group in range(footer.num_row_groups))]
            begins = [row := row + rows for rows in ends]
            groups = [group for group in range(len(begins) - 1) if begins[group + 1] > start and begins[group] < stop]
            if not groups:
                continue
            _require_columns_of_first(footer.schema.to_arrow_schema().names, columns, self.files[0], file)
            begin = begins[groups[0]]
            for batch in parquet_batches(file, batch_size=batch_size, row_groups=groups, columns=list(columns)):
                part = batch.slice(max(0, start - begin), max(0, stop - max(start, begin)))
                begin += batch.num_rows
                if part.num_rows:
                    yield self._cast(part, file)

    def _cast(self, batch: pa.RecordBatch, file: Any) -> pa.RecordBatch:
        """Cast a batch of a later file to the types of the first."""
        schema = pa.schema([self.schema.field(name) for name in batch.schema.names])
        if batch.schema.equals(schema):
            return batch
        try:
            return batch.cast(schema)
        except (pa.ArrowException, ValueError) as error:
            problem = f"a column has another type than in {self.files[0]}: {error}"
            raise InputError(problem, path=file, remedy="write both files with the same types") from error


class TextReader(FileReader):
    """Reads the lines of text files as the column `text`."""

    def read_schema(self) -> pa.Schema:
        """Return the schema of all text files."""
        return pa.schema([("text", pa.string())])

    def read(self, file: Any, columns: Sequence[str], batch_size: int) -> Iterator[pa.RecordBatch]:
        """Stream the lines of one file."""
        for lines in read_lines(Path(file), StrictLines(), self.options.get("encoding", "utf-8")):
            for begin in range(0, len(lines), batch_size):
                yield pa.record_batch({"text": lines.slice(begin, batch_size)}).select(list(columns))


class CsvReader(FileReader):
    """Reads CSV files, all columns as text; malformed lines go to `errors`.

    The option `numbers` names columns that are numbers where all their values are; with `decimal` or `thousands` these
    are all columns.
    """

    has_lines = True

    def read_schema(self) -> pa.Schema:
        """Return the columns of the headers, which are the same in all files."""
        names = self._header(self.files[0])
        for file in self.files[1:]:
            if {*(others := self._header(file))} != {*names}:
                remedy = f"those of {self.files[0]} are {', '.join(names)}"
                raise InputError(f"the columns are {', '.join(others)}", path=file, line=1, remedy=remedy)
        self.schema = pa.schema([(name, pa.string()) for name in names])
        converted = {"decimal", "thousands"} & {*self.options}
        types = self._number_types([name for name in names if converted or name in self.options.get("numbers", ())])
        self.schema = pa.schema([(name, types.get(name, pa.string())) for name in names])
        return self.schema

    def _number_types(self, candidates: list[str]) -> dict[str, pa.DataType]:
        """Find columns of numbers: labels must be whole numbers in their usual form, so that class 01 stays text."""
        filled: set[str] = set()
        for file in self.files if candidates else ():
            for batch in self.read(file, candidates, BATCH_ROWS):
                for name in candidates:
                    texts = batch.column(name).drop_null()
                    form = _WHOLE if name == "label" else FLOAT
                    texts = texts if name == "label" else self._plain_numbers(pc.utf8_trim_whitespace(texts))
                    if len(texts):
                        filled.add(name)
                    if not pc.all(pc.match_substring_regex(texts, form), min_count=0).as_py():
                        candidates = [other for other in candidates if other != name]
        return {name: pa.int64() if name == "label" else pa.float64() for name in candidates if name in filled}

    def _plain_numbers(self, texts: pa.Array) -> pa.Array:
        """Write numbers with a point and without separators of thousands."""
        if thousands := self.options.get("thousands"):
            texts = pc.replace_substring(texts, thousands, "")
        return pc.replace_substring(texts, self.options.get("decimal", "."), ".")

    def _header(self, file: Any) -> list[str]:
        names = next(self._records(file), (1, []))[1]
        for name in names:
            require_once(names, name, Path(file), "rename or remove one")
        return names

    def _records(self, file: Any) -> Iterator[tuple[int, list[str]]]:
        path = Path(file)
        lines = all_lines(path, self.errors, self.options.get("encoding", "utf-8"))
        return csv_records(lines, path, self.errors, self.options.get("delimiter"))

    def read(self, file: Any, columns: Sequence[str], batch_size: int) -> Iterator[pa.RecordBatch]:
        """Stream columns of one file."""
        records = self._records(file)
        _, header = next(records, (1, []))
        positions = [header.index(name) for name in columns if name != LINE]

        def rows() -> Iterator[tuple[int, list[str]]]:
            for line, fields in records:
                if len(fields) == len(header):
                    yield line, fields
                else:
                    problem = f"{len(fields)} field{'s' * (len(fields) != 1)} where the header has {len(header)}"
                    self.errors.handle(problem, Path(file), line, "fix the line")

        for block in _blocks(rows(), batch_size):
            arrays = {LINE: pa.array([line for line, _ in block], pa.int64())}
            for position in positions:
                texts = pa.array([fields[position] or None for _, fields in block], pa.string())
                if (kind := self.schema.field(header[position]).type) != pa.string():
                    texts = self._plain_numbers(pc.utf8_trim_whitespace(texts)).cast(kind)
                arrays[header[position]] = texts
            yield pa.record_batch({name: arrays[name] for name in columns})


class JsonReader(FileReader):
    """Reads JSON lines, and files that are one JSON list of objects; nested values are structs and lists."""

    has_lines = True

    def read_schema(self) -> pa.Schema:
        """Read all files once for the keys of all objects and for the types of their values."""
        kinds: dict[str, set[str]] = {}
        nested: dict[str, pa.DataType] = {}
        for file in self.files:
            for block in _blocks(self._objects(file), BATCH_ROWS):
                for name in dict.fromkeys(chain.from_iterable(value for _, value in block)):
                    values = [value.get(name) for _, value in block]
                    value_kinds = kinds.setdefault(name, set())
                    value_kinds.update(_kinds_of_values(values))
                    if value_kinds - {"null"} == {"nested"}:
                        nested[name] = _merged(nested.get(name), values)
        self._texts = {name for name, value_kinds in kinds.items() if "str" in value_kinds}
        return pa.schema([(name, _type_of(value_kinds, nested.get(name))) for name, value_kinds in kinds.items()])

    def _objects(self, file: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
        return json_objects(Path(file), self.errors, self.options.get("encoding", "utf-8"))

    def read(self, file: Any, columns: Sequence[str], batch_size: int) -> Iterator[pa.RecordBatch]:
        """Stream columns of one file."""
        schema = pa.schema([self.schema.field(name) for name in columns if name != LINE])
        for block in _blocks(self._objects(file), batch_size):
            try:
                arrays = self._arrays(block, schema)
            except (pa.ArrowException, UnicodeEncodeError):
                block = [entry for entry in block if self._fits(entry, schema, file)]
                arrays = self._arrays(block, schema)
            lines = pa.array([line for line, _ in block], pa.int64())
            yield pa.record_batch({name: lines if name == LINE else arrays[name] for name in columns})

    def _arrays(self, block: list[tuple[int, Mapping[str, Any]]], schema: pa.Schema) -> dict[str, pa.Array]:
        arrays: dict[str, pa.Array] = {}
        for name, kind in zip(schema.names, schema.types, strict=True):
            values = [value.get(name) for _, value in block]
            # Numbers that no type holds are text; another value in a column of texts is a mistake.
            is_number = kind == pa.string() and name not in self._texts
            arrays[name] = pa.array(map(_text_of_number, values) if is_number else values, kind)
        return arrays

    def _fits(self, entry: tuple[int, Mapping[str, Any]], schema: pa.Schema, file: Any) -> bool:
        """Return whether the values of an object have the types of the columns; report any other value."""
        for name in schema.names:
            try:
                self._arrays([entry], pa.schema([schema.field(name)]))
            except UnicodeEncodeError:
                problem = f"{name} has a lone surrogate, which is not a valid character"
            except pa.ArrowException:
                problem = f"`{name}` is not {'text' if name in self._texts else schema.field(name).type}"
                problem += f": {sanitize_line(json.dumps(entry[1].get(name)), 60)}"
            else:
                continue
            self.errors.handle(problem, Path(file), entry[0], "fix the line")
            return False
        return True


READERS: dict[str, Callable[..., FileReader]] = {
    "parquet": ParquetReader,
    "csv": CsvReader,
    "jsonl": JsonReader,
    "text": TextReader,
}
"""What reads the files of each format."""


def _blocks(rows: Iterator[Any], size: int) -> Iterator[list[Any]]:
    block: list[Any] = []
    for row in rows:
        block.append(row)
        if len(block) == size:
            yield block
            block = []
    if block:
        yield block


def _text_of_number(value: Any) -> str | None:
    return None if value is None else json.dumps(value)


def _kinds_of_values(values: list[Any]) -> set[str]:
    types = set(map(type, values))
    kinds = {_KINDS.get(kind, kind.__name__) for kind in types}
    if int in types and any(type(value) is int and value not in _INT64 for value in values):
        kinds.add("long")
    return kinds


def _type_of(kinds: set[str], nested: pa.DataType | None) -> pa.DataType:
    types = {"bool": pa.bool_(), "int": pa.int64(), "float": pa.float64()}
    value_kinds = kinds - {"null"}
    if value_kinds == {"nested"} and nested is not None:
        return nested
    if value_kinds == {"int", "float"}:
        return pa.float64()
    return types.get(next(iter(value_kinds)), pa.string()) if len(value_kinds) == 1 else pa.string()


def _merged(before: pa.DataType | None, values: list[Any]) -> pa.DataType:
    """Return one type for these lists or objects and all earlier ones; text if no type fits."""
    try:
        kind = pa.infer_type(values)
        if before is None:
            return kind
        fields = [pa.schema([("", part)]) for part in (before, kind)]
        return pa.unify_schemas(fields, promote_options="permissive").field(0).type
    except (pa.ArrowException, TypeError, OverflowError):
        return pa.string()


def _require_columns_of_first(present: Sequence[str], columns: Sequence[str], first: Any, file: Any) -> None:
    if missing := [name for name in columns if name not in present]:
        problem = f"missing column{'s' * (len(missing) > 1)} {', '.join(missing)}"
        raise InputError(problem, path=file, remedy=f"give files with the columns of {first}")


def open_parquet(path: Any) -> pq.ParquetFile:
    """Open a Parquet file, at a path or a URL, for use in a `with` statement."""
    with name_damage(path):
        return pq.ParquetFile(path.open("rb") if isinstance(path, FsspecPath) else Path(path))


def parquet_batches(path: Any, **options: Any) -> Iterator[pa.RecordBatch]:
    """Stream the record batches of a Parquet file; `options` go to `iter_batches`."""
    with open_parquet(path) as file, name_damage(path):
        for batch in file.iter_batches(**{"batch_size": BATCH_ROWS, **options}):
            # Check the bytes here, where the file is known.
            batch.validate(full=True)
            yield batch


@contextmanager
def name_damage(path: Any) -> Iterator[None]:
    """Turn the errors of Arrow and of the system into an `InputError` that names the file."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:  # names that are not UTF-8 among them
        problem = f"not a readable Parquet file: {str(error)[:200]}"
        raise InputError(problem, path=path, remedy="copy or re-create it") from error


def plain_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Cast text of any Arrow type, also in dictionaries, to plain strings, which every kernel and writer supports."""
    if batch.schema.types == schema.types:
        return pa.record_batch(batch.columns, schema=schema)
    columns = zip(batch.columns, schema.types, strict=True)
    return pa.record_batch([_cast(column, kind) for column, kind in columns], schema=schema)


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        return _cast(column.dictionary, kind).take(column.indices)
    return column if column.type == kind or pa.types.is_null(kind) else column.cast(kind)
