"""Reads files as Arrow batches, without guessing types.

Parquet files have types. Columns of CSV are text, with null for an empty field. A column of JSON lines has the type of
most of its values: text such as a date stays text. Whole numbers that no common type holds exactly become text.

CSV is read strictly: a quoted field that is not closed within 100 lines, or is followed by anything but the delimiter,
is an error, and the lines after its first one are read again.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..artefacts.fsspec_path import FsspecPath, to_path
from ..errors import InputError, UsageError
from ..messages import sanitize_line
from .text_blocks import LineErrors, StrictLines
from .text_files import LONGEST_RECORD_LINES, all_lines, read_lines

BATCH_ROWS = 10_000
_FORMS = {
    pa.int64(): r"^(0|-?[1-9][0-9]{0,17})$",
    pa.float64(): r"^[+-]?((0|[1-9][0-9]{0,14})(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$",
}
"""The form of numbers that do not change when they are read as a type."""
_TEXT, _EXACT = pa.string(), pa.int32()
"""The types of texts, and of JSON's whole numbers that floating point numbers of 64 bits represent, too."""
LINE = "\0line"
"""The name of a column with the line of each row, which readers of CSV and JSON lines also have."""
csv.field_size_limit(sys.maxsize)


def csv_records(
    lines: Iterator[tuple[int, str]], path: Path, errors: LineErrors, delimiter: str | None = None
) -> Iterator[tuple[int, list[str]]]:
    """Split numbered lines of CSV into records with the numbers of their first lines; report malformed ones.

    The default delimiter is the one that a first line such as `sep=;` names, else the comma, semicolon or tab that
    occurs most often in the header. Blank lines are no records.
    """
    pending = deque(islice(lines, 1))
    if pending and (stated := re.fullmatch(r'"?sep=(.)"?', pending[0][1], re.IGNORECASE)):
        delimiter, pending = delimiter or stated[1], deque(islice(lines, 1))
    delimiter = delimiter or max(",;\t", key=pending[0][1].count if pending else "".count)
    taken: list[tuple[int, str]] = []

    def lines_of_record() -> Iterator[str]:
        while len(taken) < LONGEST_RECORD_LINES and (line := pending.popleft() if pending else next(lines, None)):
            taken.append(line)
            yield f"{line[1]}\n"

    reader = csv.reader(lines_of_record(), delimiter=delimiter, strict=True)
    while True:
        taken.clear()
        try:
            fields = next(reader, None)
        except csv.Error as error:
            is_open = "unexpected end of data" in str(error)
            problem = f"a quoted field is not closed within {len(taken)} lines" if is_open else str(error)
            errors.handle(problem, path, taken[0][0], "close the quote, and double quotes inside quoted fields")
            pending.extendleft(reversed(taken[1:]))
            reader = csv.reader(lines_of_record(), delimiter=delimiter, strict=True)
            continue
        if fields is None:
            return
        if fields:
            yield taken[0][0], fields


def json_objects(path: Path, errors: LineErrors, encoding: str = "utf-8") -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Stream the objects of JSON lines with their line numbers, or of one JSON list with their positions."""
    lines = all_lines(path, errors, encoding)
    first = next(lines, (1, ""))
    if first[1].lstrip().startswith("["):
        try:
            values = json.loads("\n".join([first[1], *(text for _, text in lines)]))
        except (ValueError, RecursionError) as error:
            line = error.lineno if isinstance(error, json.JSONDecodeError) else None
            problem, remedy = f"not a JSON list: {error}", "give one object per line, or one list of objects"
            raise InputError(problem, path=path, line=line, remedy=remedy) from error
        for position, value in enumerate(values, start=1):
            if isinstance(value, dict):
                yield position, value
            else:
                errors.handle(f"item {position} is not a JSON object", path, position, "give a list of objects")
        return
    decode = json.JSONDecoder().raw_decode  # twice as fast as `json.loads`
    for line, text in chain([first], lines):
        if not (text := text.strip()):
            continue
        try:
            value, end = decode(text)
            problem = "something other than {…}" if end == len(text) else f"text behind it: {text[end:][:40]}"
        except (ValueError, RecursionError) as error:
            value, end, problem = None, 0, error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        if isinstance(value, dict) and end == len(text):
            yield line, value
        else:
            errors.handle(f"not a JSON object as expected: {problem}", path, line, "give one object per line")


class FileReader(ABC):
    """Reads files of one format, all with the columns of the first; subclasses implement the reading of one file."""

    has_lines = False
    """Whether :data:`LINE` can be read."""

    def __init__(self, files: Sequence[Any], options: Mapping[str, Any]) -> None:
        self.files, self.options = list(files), dict(options)
        self.errors: LineErrors = self.options.pop("errors", None) or StrictLines()
        self.encoding: str = self.options.get("encoding", "utf-8")
        self.schema = self._read_schema()

    @abstractmethod
    def _read_schema(self) -> pa.Schema:
        """Return the columns of the first file."""

    def _refuse_columns(self, file: Any, names: Sequence[str], first: Sequence[str]) -> NoReturn:
        """Raise for a file that does not have the columns of the first one."""
        remedy = f"give files with the columns of {self.files[0]}: {', '.join(first)}"
        raise InputError(f"the columns are {', '.join(names)}", path=file, remedy=remedy)

    def count(self) -> int:
        """Count the rows, by reading the files once."""
        return sum(batch.num_rows for batch in self.batches(self.schema.names[:1]))

    def batches(
        self, columns: Sequence[str], start: int = 0, stop: int | None = None, batch_size: int = BATCH_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """Stream columns of the rows `start` to `stop` of all files."""
        row = 0
        for file in self.files:
            for batch in self._read(file, columns, batch_size):
                part = _overlap(batch, row, start, stop)
                row += batch.num_rows
                if part.num_rows:
                    yield part
                if stop is not None and row >= stop:
                    return

    def _read(self, file: Any, columns: Sequence[str], batch_size: int) -> Iterator[pa.RecordBatch]:
        """Stream columns of one file; unused if a subclass overrides `batches`."""
        raise NotImplementedError


def _overlap(batch: pa.RecordBatch, row: int, start: int, stop: int | None) -> pa.RecordBatch:
    """Return the rows `start` to `stop` of a batch that begins at `row`."""
    return batch.slice(max(0, start - row), None if stop is None else max(0, stop - max(row, start)))


class ParquetReader(FileReader):
    """Reads Parquet files, and decodes only the row groups and columns that are asked for."""

    def _read_schema(self) -> pa.Schema:
        """Return the schema of the first file, and read the footers of all."""
        self._footers: list[pq.FileMetaData] = []
        schemas: list[pa.Schema] = []
        for file in self.files:
            with _open_parquet(file) as opened:
                self._footers.append(opened.metadata)
                schemas.append(opened.schema_arrow)
            names, first = ([*_field_names(schema)] for schema in (schemas[-1], schemas[0]))
            if not {*names} <= {*first}:  # a cast would drop the fields of objects
                self._refuse_columns(file, names, first)
        return schemas[0]

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
        end, stop = 0, self.count() if stop is None else stop
        schema = pa.schema([self.schema.field(name) for name in columns])
        for file, footer in zip(self.files, self._footers, strict=True):
            groups, row = [], end
            for group in range(footer.num_row_groups):
                begin, end = end, end + footer.row_group(group).num_rows
                if end > start and begin < stop:
                    groups.append(group)
                    row = begin if len(groups) == 1 else row
            if not groups:
                continue
            present = {*columns} & {*footer.schema.to_arrow_schema().names}
            options = {"batch_size": batch_size, "row_groups": groups, "columns": [*present]}
            for batch in _parquet_batches(file, **options):
                part = _overlap(batch, row, start, stop)
                row += batch.num_rows
                if part.num_rows:
                    # As in `datasets`, a column that a later file lacks is null there.
                    found = [part.column(name) if name in present else pa.nulls(len(part)) for name in columns]
                    part = pa.record_batch(found, names=list(columns))
                    problem = f"a column has another type than in {self.files[0]}"
                    yield cast_rows(part, schema, file, problem, "write both files with the same types")


def _field_names(fields: Iterable[pa.Field], prefix: str = "") -> Iterator[str]:
    """Name columns and, at any depth, the fields of objects in them."""
    for field in fields:
        is_item = prefix.endswith("[]")  # items have different names
        name = prefix if is_item else f"{prefix}{field.name}"
        yield name
        nested = [field.type.field(index) for index in range(field.type.num_fields)]
        yield from _field_names(nested, f"{name}." if pa.types.is_struct(field.type) else f"{name}[]")


def cast_rows(rows: Any, schema: pa.Schema, path: Any, problem: str, remedy: str) -> Any:
    """Cast a batch or table to a schema."""
    try:
        return rows if rows.schema.equals(schema) else rows.cast(schema)
    except (pa.ArrowException, ValueError) as error:
        raise InputError(f"{problem}: {error}", path=path, remedy=remedy) from error


class TextReader(FileReader):
    """Reads the lines of text files as the column `text`."""

    def _read_schema(self) -> pa.Schema:
        return pa.schema([("text", pa.string())])

    def _read(self, file: Any, columns: Sequence[str], batch_size: int) -> Iterator[pa.RecordBatch]:
        for lines in read_lines(to_path(file), StrictLines(), self.encoding):
            for begin in range(0, len(lines), batch_size):
                yield pa.record_batch({"text": lines.slice(begin, batch_size)}).select(list(columns))


class CsvReader(FileReader):
    """Reads CSV files, all columns as text; malformed lines go to `errors`.

    Columns named by the option `numbers`, or with `decimal` or `thousands` any column, become numbers if all their
    values are numbers and none would change, as `007` or one with too many digits for a number.
    """

    has_lines = True

    def _read_schema(self) -> pa.Schema:
        """Return the columns of the headers, which are the same in all files."""
        names = self._header(self.files[0])
        for file in self.files[1:]:
            if sorted(others := self._header(file)) != sorted(names):
                self._refuse_columns(file, others, names)
        self.schema = pa.schema([(name, pa.string()) for name in names])
        converted = self._has_marks()
        types = self._number_types([name for name in names if converted or name in self.options.get("numbers", ())])
        return pa.schema([(name, types.get(name, pa.string())) for name in names])

    def _has_marks(self) -> bool:
        """Return whether marks of numbers are given; refuse those that no number can have."""
        given = {name: self.options[name] for name in ("decimal", "thousands") if name in self.options}
        marks = [*({"decimal": "."} | given).values()]
        if len({*marks}) < len(marks) or not all(re.fullmatch(r"[^\d+eE\n-]", mark) for mark in marks):
            problem = f"numbers cannot have the marks `{'` and `'.join(marks)}`"
            raise UsageError(problem, remedy="give two different characters, as --decimal and --thousands")
        return bool(given)

    def _number_types(self, candidates: list[str]) -> dict[str, pa.DataType]:
        """Find columns of numbers: labels must be whole numbers in their usual form, so that class 01 stays text."""
        only = {"score": [pa.float64()], "label": [pa.int64()]}
        kinds = {name: only.get(name, [*_FORMS]) for name in candidates}
        filled: set[str] = set()
        for file in self.files if candidates else ():
            for batch in self._read(file, candidates, BATCH_ROWS):
                for name in filter(kinds.get, candidates):
                    texts = batch.column(name).drop_null()
                    filled |= {name} if len(texts) else set()
                    texts = texts if name == "label" else self._plain_numbers(texts)
                    fits = {kind: pc.match_substring_regex(texts, _FORMS[kind]) for kind in kinds[name]}
                    kinds[name] = [kind for kind in fits if pc.all(fits[kind], min_count=0).as_py()]
        return {name: fitting[0] for name, fitting in kinds.items() if fitting and name in filled}

    def _plain_numbers(self, texts: pa.Array) -> pa.Array:
        """Rewrite numbers with a decimal point and without thousands separators; dates such as 1.2.24 are none."""
        decimal, thousands = self.options.get("decimal", "."), self.options.get("thousands")
        texts = pc.utf8_trim_whitespace(texts)
        if thousands is not None:
            mark, point = re.escape(thousands), re.escape(decimal)
            grouped = f"^[+-]?[0-9]{{1,3}}({mark}[0-9]{{2,3}})*{mark}[0-9]{{3}}({point}[0-9]*)?$"
            is_grouped = pc.match_substring_regex(texts, grouped)
            texts = pc.if_else(is_grouped, pc.replace_substring(texts, thousands, ""), texts)
        if decimal != ".":  # which is then no part of a number
            texts = pc.replace_substring(texts, ".", "_")
        return pc.replace_substring(texts, decimal, ".")

    def _header(self, file: Any) -> list[str]:
        return _named(next(self._records(file), (1, []))[1])

    def _records(self, file: Any) -> Iterator[tuple[int, list[str]]]:
        lines = all_lines(to_path(file), self.errors, self.encoding)
        return csv_records(lines, to_path(file), self.errors, self.options.get("delimiter"))

    def _read(self, file: Any, columns: Sequence[str], batch_size: int) -> Iterator[pa.RecordBatch]:
        records = self._records(file)
        header = _named(next(records, (1, []))[1])

        def rows() -> Iterator[tuple[int, list[str]]]:
            for line, fields in records:
                if len(fields) == len(header):
                    yield line, fields
                else:
                    problem = f"{len(fields)} field{'s' * (len(fields) != 1)} where the header has {len(header)}"
                    self.errors.handle(problem, to_path(file), line, "fix the line")

        stream = rows()
        while block := list(islice(stream, batch_size)):
            arrays = {LINE: pa.array([line for line, _ in block], pa.int64())}
            for name in (name for name in columns if name != LINE):
                position = header.index(name)
                texts = pa.array([fields[position] or None for _, fields in block], pa.string())
                if (kind := self.schema.field(name).type) != pa.string():
                    texts = self._plain_numbers(texts).cast(kind)
                arrays[name] = texts
            yield pa.record_batch({name: arrays[name] for name in columns})


def _named(header: list[str]) -> list[str]:
    """Name unnamed columns, such as the index that pandas writes, as pandas and `datasets` do."""
    return [name or f"Unnamed: {position}" for position, name in enumerate(header)]


class JsonReader(FileReader):
    """Reads JSON lines, and files that are one JSON list of objects; nested values are structs and lists."""

    has_lines = True

    def _read_schema(self) -> pa.Schema:
        """Read all files once for the keys of all objects and for the types of their values."""
        types: dict[str, pa.DataType] = {}
        surplus, self._texts = Counter[str](), dict[str, str]()
        for file in self.files:
            objects = self._objects(file)
            while block := list(islice(objects, BATCH_ROWS)):
                for name in dict.fromkeys(chain.from_iterable(value for _, value in block)):
                    values = [value.get(name) for _, value in block]
                    kinds = [*map(type, values)]
                    if num_texts := kinds.count(str):
                        self._texts.setdefault(name, f"{file}:{block[kinds.index(str)][0]}")
                        values = [value for value in values if not isinstance(value, str)]
                    surplus[name] += len(kinds) - kinds.count(type(None)) - 2 * num_texts
                    types[name] = _common_type(types.get(name, pa.null()), values)
        # The type of most values is that of the column.
        self._texts = {name: line for name, line in self._texts.items() if surplus[name] <= 0 or types[name] == _TEXT}
        types |= dict.fromkeys(self._texts, _TEXT)
        # A column without values, or with an object without any key, which Parquet cannot hold, is text.
        are_text = {name: pa.types.is_null(kind) or "struct<>" in str(kind) for name, kind in types.items()}
        types = {name: pa.int64() if kind == _EXACT else kind for name, kind in types.items()}
        return pa.schema([(name, _TEXT if are_text[name] else kind) for name, kind in types.items()])

    def _objects(self, file: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
        return json_objects(to_path(file), self.errors, self.encoding)

    def _read(self, file: Any, columns: Sequence[str], batch_size: int) -> Iterator[pa.RecordBatch]:
        schema = pa.schema([self.schema.field(name) for name in columns if name != LINE])
        objects = self._objects(file)
        while block := list(islice(objects, batch_size)):
            try:
                arrays = self._arrays(block, schema)
            except (pa.ArrowException, UnicodeEncodeError):
                block = [entry for entry in block if self._fits(entry, schema, file)]
                arrays = self._arrays(block, schema)
            arrays[LINE] = pa.array([line for line, _ in block], pa.int64())
            yield pa.record_batch({name: arrays[name] for name in columns})

    def _arrays(self, block: list[tuple[int, Mapping[str, Any]]], schema: pa.Schema) -> dict[str, pa.Array]:
        arrays: dict[str, pa.Array] = {}
        for name, kind in zip(schema.names, schema.types, strict=True):
            values = [value.get(name) for _, value in block]
            if kind == pa.string() and name not in self._texts:
                # Numbers beyond 64 bits are text; any other value in a column of texts is an error.
                values = [None if value is None else json.dumps(value) for value in values]
            arrays[name] = pa.array(values, kind)
        return arrays

    def _fits(self, entry: tuple[int, Mapping[str, Any]], schema: pa.Schema, file: Any) -> bool:
        """Return whether the values of an object have the types of the columns; report any other value."""
        for name in schema.names:
            remedy = "fix the line"
            try:
                self._arrays([entry], pa.schema([schema.field(name)]))
            except UnicodeEncodeError:
                problem = f"{name} has a lone surrogate, which is not a valid character"
            except pa.ArrowException:
                problem = f"`{name}` is not {'text' if name in self._texts else schema.field(name).type}"
                problem += f": {sanitize_line(json.dumps(entry[1].get(name)), 60)}"
                if name in self._texts:
                    remedy = f"give values of one type: the first text is in {self._texts[name]}"
            else:
                continue
            self.errors.handle(problem, to_path(file), entry[0], remedy)
            return False
        return True


READERS: dict[str, Callable[..., FileReader]] = {
    "parquet": ParquetReader,
    "csv": CsvReader,
    "jsonl": JsonReader,
    "text": TextReader,
}
"""The reader of each format."""


def _common_type(before: pa.DataType, values: list[Any]) -> pa.DataType:
    """Return one type for these values and all earlier ones; text if no type fits."""
    try:
        if {bool, float} <= {*map(type, values)}:  # which Arrow takes for numbers
            return _TEXT
        kind = pa.array(values).type
    except UnicodeEncodeError:
        kind = pa.infer_type(values)
    except (pa.ArrowException, TypeError, OverflowError):
        return _TEXT
    if kind == pa.int64() and all(abs(value or 0) <= 2**53 for value in values):
        kind = _EXACT
    try:
        fields = [pa.schema([("", part)]) for part in (before, kind)]
        unified = pa.unify_schemas(fields, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return _TEXT
    return _TEXT if unified == pa.float64() and pa.int64() in (before, kind) else unified


def _open_parquet(path: Any) -> pq.ParquetFile:
    """Open a Parquet file, at a path or a URL, for use in a `with` statement."""
    with _name_damage(path):
        return pq.ParquetFile(path.open("rb") if isinstance(path, FsspecPath) else Path(path))


def _parquet_batches(path: Any, **options: Any) -> Iterator[pa.RecordBatch]:
    """Stream the record batches of a Parquet file; `options` go to `iter_batches`."""
    with _open_parquet(path) as file, _name_damage(path):
        for batch in file.iter_batches(**options):
            # Check the bytes here, where the file is known.
            batch.validate(full=True)
            yield batch


@contextmanager
def _name_damage(path: Any) -> Iterator[None]:
    """Turn the errors of Arrow and of the system into an `InputError` that names the file."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:  # names that are not UTF-8 among them
        problem = f"not a readable Parquet file: {str(error)[:200]}"
        raise InputError(problem, path=path, remedy="copy or re-create it") from error
