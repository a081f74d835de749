"""Lines and tab-separated fields of text files in blocks of a few megabytes, as Arrow strings or typed tables.

`text_blocks` states the rules for lines. A value that does not fit its type is an error, never guessed.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, islice, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import InputError
from ..messages import log
from .schema import is_text, plain_name, usual_pair_columns
from .text_blocks import PLAIN_OR_COMPRESSED as PLAIN_OR_COMPRESSED
from .text_blocks import LineErrors as LineErrors
from .text_blocks import StrictLines as StrictLines
from .text_blocks import decoded_lines, empty_file, read_blocks, whole_lines

Block = tuple[np.ndarray, dict[str, pa.Array]]
"""Line numbers (rows,), int64, from 1, and for each column strings (rows,), null where the file has no value."""

FLOAT = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
INTEGER = r"^[+-]?[0-9]{1,18}$"
LONGEST_RECORD_LINES = 100
_BLOCK_ROWS = 50_000
# A quotation within a quoted field opens and closes with a doubled quote; "A.""B." is two quotations without a space.
_PAIR = r'""[^"\t]*""[^"\t]*'
_FIELD = rf'([^"\t]*|"[^"\t]*({_PAIR})*")'
_DOUBLED_QUOTES = rf'^({_FIELD}\t)*"[^"\t]*({_PAIR})+"(\t{_FIELD})*$'


def read_lines(path: Path, errors: LineErrors, encoding: str = "utf-8") -> Iterator[pa.Array]:
    """Stream the lines of a file in blocks; a skipped line, which is not UTF-8, is null."""
    first_line = 1
    for block in whole_lines(read_blocks(path, encoding), path):
        lines = _decode(block, path, first_line, errors)
        first_line += len(lines)
        yield lines
    if first_line == 1:
        raise empty_file(path)


def _decode(block: bytes, path: Path, first_line: int, errors: LineErrors) -> pa.Array:
    # Arrow checks the bytes without a copy; `bytes.decode` would copy them, and Arrow copy them back.
    offsets = pa.py_buffer(np.array([0, len(block)], np.int32))
    text = pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(block)])
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array(decoded_lines(block, path, first_line, errors), pa.string())
    lines = pc.split_pattern(text, "\n").values
    return without_returns(lines) if b"\r" in block else lines


def without_returns(texts: pa.Array) -> pa.Array:
    """Remove carriage returns before line ends from strings; others become spaces."""
    if not pc.any(pc.match_substring(texts, "\r"), min_count=0).as_py():
        return texts
    return pc.replace_substring(pc.replace_substring_regex(texts, r"\r+(\n|\z)", r"\1"), "\r", " ")


def texts_of_column(name: str, column: pa.Array, path: str | Path, remedy: str) -> pa.Array:
    """Return a column of sentences as plain strings with uniform line ends."""
    if not is_text(column.type) and not pa.types.is_null(column.type):
        raise InputError(f"column for {name} is of type {column.type}, not text", path=path, remedy=remedy)
    return without_returns(column.cast(pa.string()))


def all_lines(path: Path, errors: LineErrors, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Stream the lines with their numbers, which count from 1."""
    line_number = 1
    for lines in read_lines(path, errors, encoding):
        yield from ((line, text) for line, text in enumerate(lines.to_pylist(), start=line_number) if text is not None)
        line_number += len(lines)


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Stream the lines that are not blank with their numbers, which count from 1."""
    return ((line_number, line) for line_number, line in all_lines(path, StrictLines()) if line.strip(" \t"))


def first_line_of(path: Path, encoding: str = "utf-8") -> str:
    """Return the first line of a file; an empty text where it is not UTF-8."""
    return next((block[0].as_py() or "" for block in read_lines(path, LineErrors("skip"), encoding)), "")


def blocks_of(names: Sequence[str], rows: Iterable[tuple[int, Sequence[str | None]]]) -> Iterator[Block]:
    """Put rows with their line numbers into blocks of columns."""
    stream = iter(rows)
    while block := list(islice(stream, _BLOCK_ROWS)):
        columns = zip(*(values for _, values in block), strict=True)
        texts = {name: without_returns(pa.array(each, pa.string())) for name, each in zip(names, columns, strict=True)}
        yield np.array([line for line, _ in block], np.int64), texts


def read_aligned(paths: Sequence[Path], names: Sequence[str], errors: LineErrors) -> Iterator[Block]:
    """Stream the lines of aligned files that can be read in all of them, as columns of these names."""
    errors.aligned_with |= dict.fromkeys(paths[1:], paths[0])
    none = pa.array([], pa.string())
    streams = [read_lines(path, errors) for path in paths]
    pending: list[pa.Array] = [none for _ in paths]
    line = 1
    while True:
        pending = [block if len(block) else next(stream, none) for block, stream in zip(pending, streams, strict=True)]
        length = min(map(len, pending))
        if length == 0:
            break
        aligned = [block.slice(0, length) for block in pending]
        readable = np.logical_and.reduce([texts.is_valid().to_numpy(zero_copy_only=False) for texts in aligned])
        columns = {name: texts.filter(pa.array(readable)) for name, texts in zip(names, aligned, strict=True)}
        yield np.flatnonzero(readable) + line, columns
        pending = [block.slice(length) for block in pending]
        line += length
    counts = [line - 1 + len(block) + sum(map(len, stream)) for block, stream in zip(pending, streams, strict=True)]
    shortest, longest = int(np.argmin(counts)), int(np.argmax(counts))
    if counts[shortest] != counts[longest]:
        problem = f"{counts[shortest]} lines, but {paths[longest]} has {counts[longest]}"
        remedy = "the two files must be aligned line by line"
        raise InputError(problem, path=paths[shortest], line=counts[shortest], remedy=remedy)


def read_fields(
    path: Path,
    columns: Sequence[str],
    errors: LineErrors,
    *,
    header_lines: int = 0,
    remedy: str = "fix the line, or name the fields with --columns (`_` for one to leave out)",
    may_be_quoted: bool = False,
    encoding: str = "utf-8",
) -> Iterator[Block]:
    """Stream the named fields of a tab-separated file without header, quoting or escapes.

    A field named `_` is left out, and may be absent at the end. Lines that can only be CSV with tabs and quotes are
    malformed if they `may_be_quoted`.
    """
    blocks = read_lines(path, errors, encoding)
    first_line = 1
    for texts in _without_quoted(blocks, path, columns, errors) if may_be_quoted else blocks:
        lines = np.arange(first_line, first_line + len(texts))
        first_line += len(texts)
        header = max(0, header_lines + 1 - int(lines[0])) if len(lines) else 0
        yield _split_lines(lines[header:], texts.slice(header), path, columns, errors, remedy)


def _split_lines(
    lines: np.ndarray, texts: pa.Array, path: Path, columns: Sequence[str], errors: LineErrors, remedy: str
) -> Block:
    """Split numbered lines at tabs; report and drop lines with the wrong number of fields."""
    minimum, maximum = _num_fields(columns)
    num_fields = count_fields(texts, "\t")
    good = (num_fields >= minimum) & (num_fields <= maximum)
    expected = str(maximum) if minimum == maximum else f"{minimum} to {maximum}"
    for index in np.flatnonzero(~good & (num_fields > 0)):
        fields_text = "no tab" if num_fields[index] == 1 else f"{num_fields[index]} fields"
        problem = f"{fields_text} where {expected} tab-separated fields are expected ({', '.join(columns[:minimum])})"
        errors.handle(problem, path, int(lines[index]), remedy)
    fields = pc.split_pattern(texts if good.all() else texts.filter(pa.array(good)), "\t")
    return lines[good], {name: pc.list_element(fields, index) for index, name in enumerate(columns) if name != "_"}


def _num_fields(columns: Sequence[str]) -> tuple[int, int]:
    """Return the minimum and the maximum number of fields on a line."""
    return max(index for index, name in enumerate(columns) if name != "_") + 1, len(columns)


def count_fields(lines: pa.Array, separator: str) -> np.ndarray:
    """Count the fields of each line (lines,); -1 for a null."""
    return pc.count_substring(lines, separator).fill_null(-2).to_numpy(zero_copy_only=False) + 1


def _without_quoted(
    blocks: Iterable[pa.Array], path: Path, columns: Sequence[str], errors: LineErrors
) -> Iterator[pa.Array]:
    """Report lines that can only be CSV with quotes, and make them null.

    Such a line has doubled quotes within a quoted field and no other quotes, or is part of a quoted field over several
    lines and has itself a wrong number of fields. Quotes in any other line are text.
    """
    minimum, maximum = _num_fields(columns)
    rest, first_line = pa.array([], pa.string()), 1
    for block in chain(blocks, [None]):
        lines = rest if block is None else pa.concat_arrays([rest, block])
        quotes = pc.count_substring(lines, '"').fill_null(0).to_numpy(zero_copy_only=False)
        bad, end = np.zeros(len(lines), dtype=bool), len(lines)
        doubled, odd = np.flatnonzero(quotes > 5), np.flatnonzero(quotes % 2)
        bad[doubled] = pc.match_substring_regex(lines.take(pa.array(doubled)), _DOUBLED_QUOTES)
        opens = pc.match_substring_regex(lines.take(pa.array(odd)), '(^|\t)"').to_pylist()
        for is_open, (begin, close) in zip(opens, pairwise([*odd.tolist(), len(lines)]), strict=True):
            if not is_open or bad[begin] or close - begin >= LONGEST_RECORD_LINES:
                continue
            if close == len(lines):
                # The closing quote may be in the next block.
                end = len(lines) if block is None else begin
            elif _is_quoted_record(lines.slice(begin, close + 1 - begin).to_pylist(), range(minimum, maximum + 1)):
                bad[begin : close + 1] = True
        for index in np.flatnonzero(bad[:end]):
            problem = "quoted fields, which a tab-separated file cannot have"
            errors.handle(problem, path, first_line + int(index), "give it as --csv")
        lines, rest = lines.slice(0, end), lines.slice(end)
        yield pc.if_else(pa.array(bad[:end]), pa.scalar(None, pa.string()), lines) if bad[:end].any() else lines
        first_line += end


def _is_quoted_record(lines: list[str | None], num_fields: range) -> bool:
    if None in lines or all(line.count("\t") + 1 in num_fields for line in lines if line is not None):
        return False
    try:
        records = list(csv.reader((f"{line}\n" for line in lines), delimiter="\t", strict=True))
    except csv.Error:
        return False
    return len(records) == 1 and len(records[0]) in num_fields


def read_tsv(
    path: Path,
    columns: Sequence[str],
    errors: LineErrors,
    *,
    header: str,
    names: Iterable[str] = (),
    encoding: str = "utf-8",
) -> Iterator[Block]:
    """Stream the named fields of a tab-separated file; a header is left out, logged and counted as `header`."""
    header_names = header_of(path, [*columns, *names], encoding) if header == "auto" else None
    if header_names is not None:
        names_shown = " | ".join(header_names)
        log(f"{path}: the first line, `{names_shown}`, is a header and is left out (--header no keeps it)")
    lines = int(header == "yes" or header_names is not None)
    errors.left_out["header"] += lines
    yield from read_fields(path, columns, errors, header_lines=lines, may_be_quoted=True, encoding=encoding)


def header_of(path: Path, names: Iterable[str] = (), encoding: str = "utf-8") -> list[str] | None:
    """Return the fields of the first line if it is a header: all are in `names`, or two are usual names of pairs."""
    fields = [field.strip().strip('"') for field in first_line_of(path, encoding).split("\t")]
    plain = [plain_name(field) for field in fields]
    is_named = len(plain) > 1 and {*map(plain_name, names)}.issuperset(plain)
    sides = ({"source", "target"}, {"src", "tgt"}, {"src", "trg"})
    is_header = is_named or any(pair.issubset(plain) for pair in sides) or usual_pair_columns(plain)
    return fields if is_header and len(set(plain)) == len(plain) else None


@dataclass(frozen=True)
class Field:
    """The name, type and valid values of a column; the name `_` drops it. Integers may be written 1.0, True and False.

    A text must match the whole `pattern` (RE2); the message has the `example`. A number that may be null may be blank.
    """

    name: str
    kind: pa.DataType = pa.string()
    low: float | None = None
    high: float | None = None
    pattern: str | None = None
    example: str = ""
    may_be_null: bool = False

    @property
    def wording(self) -> str:
        """Describe the valid values."""
        if self.pattern is not None:
            return f"of the form {self.example or self.pattern}"
        words = "a number" if self.kind == pa.float64() else "a whole number"
        if self.low is not None and self.high is not None:
            return f"{words} from {self.low:g} to {self.high:g}"
        return words if self.low is None else f"{words} of at least {self.low:g}"


def parse_column(texts: pa.Array, field: Field) -> tuple[pa.Array, np.ndarray]:
    """Convert a column of texts to the type of a field; return it and which rows fit (rows,), bool."""
    if field.kind == pa.string():
        if field.pattern is None:
            return texts, np.ones(len(texts), dtype=bool)
        fits = pc.match_substring_regex(texts, f"^(?:{field.pattern})$")
        return texts, fits.fill_null(False).to_numpy(zero_copy_only=False)
    texts = pc.utf8_trim_whitespace(texts)
    if field.may_be_null:
        texts = pc.if_else(pc.equal(texts, ""), None, texts)
    if field.kind == pa.int64():
        for word, digit in (("true", "1"), ("false", "0")):
            texts = pc.if_else(pc.equal(pc.utf8_lower(texts), word), digit, texts)
        texts = pc.replace_substring_regex(texts, r"^([+-]?[0-9]+)\.0*$", r"\1")
    fits = pc.match_substring_regex(texts, FLOAT if field.kind == pa.float64() else INTEGER).fill_null(False)
    numbers = pc.if_else(fits, pc.fill_null(texts, "0"), "0").cast(field.kind)
    fits = pc.and_(fits, pc.is_finite(numbers))
    if field.low is not None:
        fits = pc.and_(fits, pc.greater_equal(numbers, field.low))
    if field.high is not None:
        fits = pc.and_(fits, pc.less_equal(numbers, field.high))
    if field.may_be_null and texts.null_count:
        numbers, fits = pc.if_else(texts.is_valid(), numbers, None), pc.or_(fits, texts.is_null())
    return numbers, fits.to_numpy(zero_copy_only=False)


def typed(
    blocks: Iterable[Block], fields: Sequence[Field], path: Path, errors: LineErrors, remedy: str = "fix the line"
) -> Iterator[tuple[np.ndarray, pa.Table]]:
    """Turn blocks of texts into typed tables with line numbers; rows that do not fit are reported and left out."""
    fields = [field for field in fields if field.name != "_"]
    schema = pa.schema([(field.name, field.kind) for field in fields])
    for lines, texts in blocks:
        good = np.ones(len(lines), dtype=bool)
        columns = []
        for field in fields:
            column, fits = parse_column(texts[field.name], field)
            for row in np.flatnonzero(~fits & good):
                value = texts[field.name][int(row)].as_py()
                errors.handle(f"{field.name} `{value}` is not {field.wording}", path, int(lines[row]), remedy)
            good &= fits
            columns.append(column)
        table = pa.table(columns, schema=schema)
        yield (lines, table) if good.all() else (lines[good], table.filter(pa.array(good)))


def read_tables(
    path: Path, fields: Sequence[Field], errors: LineErrors, *, remedy: str = "fix the line", header_lines: int = 0
) -> Iterator[pa.Table]:
    """Stream a tab-separated file as typed tables."""
    blocks = read_fields(path, [field.name for field in fields], errors, remedy=remedy, header_lines=header_lines)
    return (table for _, table in typed(blocks, fields, path, errors, remedy))


def read_aligned_tables(
    paths: Sequence[Path], fields: Sequence[Sequence[Field]], errors: LineErrors, remedy: str = "fix the line"
) -> Iterator[tuple[np.ndarray, pa.Table]]:
    """Stream tab-separated files that are aligned line by line as one typed table, with line numbers."""
    for numbers, sides in read_aligned(paths, [str(path) for path in paths], errors):
        parts: list[tuple[np.ndarray, pa.Table]] = []
        for path, own in zip(paths, fields, strict=True):
            names = [field.name for field in own]
            block = _split_lines(numbers, sides[str(path)], path, names, errors, remedy)
            parts += typed([block], own, path, errors, remedy)
        lines = reduce(np.intersect1d, [lines for lines, _ in parts])
        tables = [table.filter(pa.array(np.isin(own, lines))) for own, table in parts]
        yield lines, pa.table({name: table.column(name) for table in tables for name in table.column_names})
