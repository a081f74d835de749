"""Fields of tab-separated files with their types: a value that does not fit is reported as an error, never guessed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .text_files import LineErrors, read_fields

FLOAT = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
INTEGER = r"^[+-]?[0-9]{1,18}$"


@dataclass(frozen=True)
class Field:
    """One field of a line.

    Attributes:
        name: Its column; `_` leaves it out.
        kind: `pa.string()`, `pa.float64()` or `pa.int64()`.
        missing: Texts that stand for a missing number and become null.
        pattern: A regular expression (RE2) that a text must match as a whole.
        example: What the field looks like, for the message.
    """

    name: str
    kind: pa.DataType = pa.string()
    low: float | None = None
    high: float | None = None
    missing: tuple[str, ...] = ()
    pattern: str | None = None
    example: str = ""

    @property
    def wording(self) -> str:
        """Describes what the field must be."""
        if self.pattern is not None:
            return f"of the form {self.example or self.pattern}"
        words = "a number" if self.kind == pa.float64() else "a whole number"
        if self.low is not None and self.high is not None:
            words += f" from {self.low:g} to {self.high:g}"
        elif self.low is not None:
            words += f" of at least {self.low:g}"
        return words


def parse_column(texts: pa.Array, field: Field) -> tuple[pa.Array, np.ndarray]:
    """Converts a column of texts to the type of a field.

    Args:
        texts: Strings (rows,).
        field: What they must be.

    Returns:
        The typed column (rows,), and which rows fit (rows,), bool; what does not fit is 0 in a column of numbers.
    """
    if field.kind == pa.string():
        if field.pattern is None:
            return texts, np.ones(len(texts), dtype=bool)
        fits = pc.match_substring_regex(texts, f"^(?:{field.pattern})$")
        return texts, fits.fill_null(False).to_numpy(zero_copy_only=False)
    trimmed = pc.utf8_trim_whitespace(texts)
    fits = pc.match_substring_regex(trimmed, FLOAT if field.kind == pa.float64() else INTEGER).fill_null(False)
    numbers = pc.if_else(fits, pc.fill_null(trimmed, "0"), "0").cast(field.kind)
    fits = pc.and_(fits, pc.is_finite(numbers)).fill_null(False)
    if field.low is not None:
        fits = pc.and_(fits, pc.greater_equal(numbers, field.low))
    if field.high is not None:
        fits = pc.and_(fits, pc.less_equal(numbers, field.high))
    if field.missing:
        absent = pc.is_in(trimmed, pa.array(field.missing))
        numbers = pc.if_else(absent, pa.scalar(None, field.kind), numbers)
        fits = pc.or_(fits, absent)
    return numbers, fits.to_numpy(zero_copy_only=False)


def read_typed_fields(
    path: Path,
    fields: Sequence[Field],
    errors: LineErrors,
    *,
    header_lines: int = 0,
    encoding: str = "utf-8",
    remedy: str = "fix the line",
) -> Iterator[tuple[np.ndarray, pa.Table]]:
    """Streams a tab-separated file as typed tables.

    Yields:
        The line numbers (rows,), int64, from 1, and a table of the named fields.
    """
    named = [field for field in fields if field.name != "_"]
    blocks = read_fields(
        path,
        [field.name for field in fields],
        errors,
        header_lines=header_lines,
        encoding=encoding,
        remedy=remedy,
    )
    for lines, texts in blocks:
        good = np.ones(len(lines), dtype=bool)
        columns = []
        for field in named:
            column, fits = parse_column(texts[field.name], field)
            for row in np.flatnonzero(~fits & good):
                value = texts[field.name][int(row)].as_py()
                errors.handle(f"{field.name} `{value}` is not {field.wording}", path, int(lines[row]), remedy)
            good &= fits
            columns.append(column)
        table = pa.table(columns, schema=pa.schema([(field.name, field.kind) for field in named]))
        yield (lines, table) if good.all() else (lines[good], table.filter(pa.array(good)))
