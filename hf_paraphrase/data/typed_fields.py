"""Columns of texts with their types: a value that does not fit is reported as an error, never guessed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .text_files import Block, LineErrors, read_fields

FLOAT = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
INTEGER = r"^[+-]?[0-9]{1,18}$"
_TRUTH = {"true": "1", "false": "0"}


@dataclass(frozen=True)
class Field:
    """One column; `_` leaves it out, and integers may be written 1.0, True and False.

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
        """Describes what the field must be."""
        if self.pattern is not None:
            return f"of the form {self.example or self.pattern}"
        words = "a number" if self.kind == pa.float64() else "a whole number"
        if self.low is not None and self.high is not None:
            return f"{words} from {self.low:g} to {self.high:g}"
        return words if self.low is None else f"{words} of at least {self.low:g}"


def parse_column(texts: pa.Array, field: Field) -> tuple[pa.Array, np.ndarray]:
    """Converts a column of texts to the type of a field; returns it and which rows fit (rows,), bool."""
    if field.kind == pa.string():
        if field.pattern is None:
            return texts, np.ones(len(texts), dtype=bool)
        fits = pc.match_substring_regex(texts, f"^(?:{field.pattern})$")
        return texts, fits.fill_null(False).to_numpy(zero_copy_only=False)
    texts = pc.utf8_trim_whitespace(texts)
    if field.may_be_null:
        texts = pc.if_else(pc.equal(texts, ""), None, texts)
    if field.kind == pa.int64():
        for word, digit in _TRUTH.items():
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
    """Turns blocks of texts into typed tables with line numbers; rows that do not fit are reported and left out."""
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


def read_typed_fields(
    path: Path,
    fields: Sequence[Field],
    errors: LineErrors,
    *,
    remedy: str = "fix the line",
    **options: Any,
) -> Iterator[tuple[np.ndarray, pa.Table]]:
    """Streams a tab-separated file as typed tables; the options are those of :func:`~.text_files.read_fields`."""
    blocks = read_fields(path, [field.name for field in fields], errors, remedy=remedy, **options)
    return typed(blocks, [field for field in fields if field.name != "_"], path, errors, remedy)


def read_tables(path: Path, fields: Sequence[Field], errors: LineErrors, **options: Any) -> Iterator[pa.Table]:
    """Streams the tables of :func:`read_typed_fields`."""
    return (table for _, table in read_typed_fields(path, fields, errors, **options))
