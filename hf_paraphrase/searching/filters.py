"""Filters of a search: conditions on the columns of the corpus, such as `year>=2020 AND (source=news OR source=web)`.

A filter is read from left to right in time linear in its length:

    filter    = clause {OR clause}
    clause    = condition {AND condition}
    condition = (filter) | column operator value
    operator  = `=`, `==`, `!=`, `<`, `<=`, `>` or `>=`

A value in quotes may contain anything; within quotes two quotes stand for one. A value without quotes ends before AND,
OR or a closing parenthesis, and contains no second condition.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import UsageError

MAX_LENGTH = 10_000
_MAX_DEPTH = 50
_OPERATORS = {
    "=": pc.equal,
    "==": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_SYNTAX = "write COLUMN=VALUE, or one of != < <= > >= for =, and join conditions with AND, OR and parentheses"
_OPERATOR = re.compile(r"[<>=!]=?")
_END_OF_VALUE = re.compile(r"\s(?=(?:AND|OR)(?:\s|\(|$))|\)")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?\d+")
_TRUTHS = {"true": True, "false": False, "1": True, "0": False}


def select_rows(table: pa.Table, filters: str | Sequence[str]) -> NDArray[np.int64]:
    """Returns the rows of a table that pass all filters, ascending.

    The type of a column decides how its values compare. Numbers compare as numbers, and true and false as such. A date
    or time compares up to the precision of the filter, for instance by its day. In a column of texts, `=` and `!=`
    compare texts, so that `code=7` does not find `007`; the other operators compare numbers if the filter has a
    number, and texts otherwise. A missing value passes no filter.

    Args:
        table: The table.
        filters: One filter or several.

    Raises:
        UsageError: A filter is malformed, names an unknown column, or compares a column with a value of another type.
    """
    passes = np.ones(len(table), bool)
    for text in [filters] if isinstance(filters, str) else filters:
        passes &= _Parser(text, table).parse()
    return np.flatnonzero(passes)


class _Parser:
    """Reads one filter and evaluates it on a table while it reads."""

    def __init__(self, text: str, table: pa.Table) -> None:
        if len(text) > MAX_LENGTH:
            what = f"a filter of {len(text):,} characters, more than {MAX_LENGTH:,}"
            raise UsageError(what, remedy="give a shorter filter")
        self._text, self._table, self._position = text, table, 0

    def parse(self) -> NDArray[np.bool_]:
        """Returns which rows pass (rows,)."""
        passes = self._either(0)
        if self._position < len(self._text):
            raise self._error()
        return passes

    def _error(self) -> UsageError:
        shown = self._text if len(self._text) <= 80 else f"{self._text[:80]}…"
        return UsageError(f"not a filter: {shown!r}", remedy=_SYNTAX)

    def _skip_spaces(self) -> None:
        while self._position < len(self._text) and self._text[self._position].isspace():
            self._position += 1

    def _has(self, word: str) -> bool:
        """Steps over a word if it comes next."""
        self._skip_spaces()
        end = self._position + len(word)
        follows = self._text[end : end + 1]
        if self._text[self._position : end] != word or (
            word.isalpha() and follows not in ("", "(") and follows.strip()
        ):
            return False
        self._position = end
        self._skip_spaces()
        return True

    def _either(self, depth: int) -> NDArray[np.bool_]:
        passes = self._both(depth)
        while self._has("OR"):
            passes = passes | self._both(depth)
        return passes

    def _both(self, depth: int) -> NDArray[np.bool_]:
        passes = self._condition(depth)
        while self._has("AND"):
            passes = passes & self._condition(depth)
        return passes

    def _condition(self, depth: int) -> NDArray[np.bool_]:
        if depth > _MAX_DEPTH:
            raise UsageError(
                f"a filter with more than {_MAX_DEPTH} nested parentheses", remedy="give a simpler filter"
            )
        if self._has("("):
            passes = self._either(depth + 1)
            if not self._has(")"):
                raise self._error()
            return passes
        operator = _OPERATOR.search(self._text, self._position)
        if operator is None or operator.group() == "!":
            raise self._error()
        name = self._text[self._position : operator.start()].strip()
        self._position = operator.end()
        self._skip_spaces()
        value, is_quoted = self._value()
        column = self._column(name)
        return _compare(column, name, operator.group(), value, is_quoted)

    def _value(self) -> tuple[str, bool]:
        quote = self._text[self._position : self._position + 1]
        if quote not in ("'", '"') or not quote:
            end = _END_OF_VALUE.search(self._text, self._position)
            first, self._position = self._position, len(self._text) if end is None else end.start()
            value = self._text[first : self._position].strip()
            names = "|".join(map(re.escape, self._table.column_names))
            if re.search(rf"\s(?:{names})\s*(?:[<>]|!?=)", value):  # `a!=1 a!=2` would compare `a` with `1 a!=2`
                remedy = "put AND or OR between conditions, and a value that contains one in quotes"
                raise UsageError(f"a second condition in the value {value[:80]!r}", remedy=remedy)
            return value, False
        parts = []
        while True:
            end_of_part = self._text.find(quote, self._position + 1)
            if end_of_part < 0:
                raise UsageError(f"a value without its closing {quote}: {self._text!r:.80}", remedy=_SYNTAX)
            parts.append(self._text[self._position + 1 : end_of_part])
            self._position = end_of_part + 1
            if self._text[self._position : self._position + 1] != quote:
                return quote.join(parts), True

    def _column(self, name: str) -> pa.ChunkedArray:
        if not name:
            raise self._error()
        names = self._table.schema.names
        if name not in names:
            remedy = f"its columns are {', '.join(names)}"
            if name[0] in "'\"`" and name.strip("'\"`") in names:
                remedy = f"write {name.strip(chr(39) + chr(34) + '`')} without quotes"
            raise UsageError(f"the index has no column {name[:80]!r}", remedy=remedy)
        column = self._table.column(name)
        return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _compare(column: pa.ChunkedArray, name: str, operator: str, value: str, is_quoted: bool) -> NDArray[np.bool_]:
    kind, compare = column.type, _OPERATORS[operator]
    if pa.types.is_boolean(kind):
        truth = None if is_quoted else _TRUTHS.get(value.lower())
        if truth is None:
            raise _type_error(name, kind, operator, value, "true or false")
        return _mask(compare(column, truth))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        if is_quoted or not _NUMBER.fullmatch(value):
            raise _type_error(name, kind, operator, value, "a number without quotes, such as 1200.5")
        return _compare_numbers(column, operator, value)
    if pa.types.is_temporal(kind):
        return _mask(compare(pc.utf8_slice_codeunits(column.cast(pa.string()), 0, max(1, len(value))), value))
    if pa.types.is_null(kind):
        return np.zeros(len(column), bool)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        raise UsageError(f"the column {name} of type {kind} cannot be filtered", remedy="filter by another column")
    column = column.cast(pa.string())
    if compare in (pc.equal, pc.not_equal) or is_quoted or not _NUMBER.fullmatch(value):
        if compare not in (pc.equal, pc.not_equal) and not is_quoted and value[:1].isdigit():
            _refuse_formatted_number(name, operator, value)
        return _mask(compare(column, value))
    texts = column.to_pylist()
    wrong = next((text for text in texts if text is not None and not _NUMBER.fullmatch(text.strip())), None)
    if wrong is not None:
        what = f"{name}{operator}{value} compares numbers, and {name} has the text {wrong[:80]!r}"
        raise UsageError(what, remedy=f"write {name}{operator}'{value}' to compare texts")
    numbers = pa.array([None if text is None else float(text) for text in texts], pa.float64())
    return _compare_numbers(pa.chunked_array([numbers]), operator, value)


def _refuse_formatted_number(name: str, operator: str, value: str) -> None:
    """Refuses `12.000,00`, which is a number to its writer and would be compared as a text; dates are texts."""
    if re.fullmatch(r"\d[\d.,' \u00a0\u202f]*", value):
        remedy = f"write the number without separators, such as 12000.5, or {name}{operator}'{value}' for texts"
        raise UsageError(f"{name}{operator}{value} compares with a number that is not plain", remedy=remedy)


def _compare_numbers(column: pa.ChunkedArray, operator: str, value: str) -> NDArray[np.bool_]:
    """Compares exactly where both sides are integers, which floats of 64 bits do not all represent."""
    compare: Callable[[Any, Any], Any] = _OPERATORS[operator]
    if pa.types.is_integer(column.type) and _WHOLE.fullmatch(value):
        whole = int(value)
        bits = column.type.bit_width
        low, high = (0, 2**bits - 1) if column.type in _UNSIGNED else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        if low <= whole <= high:
            return _mask(compare(column, pa.scalar(whole, column.type)))
        # No value of the type equals the number, and all are on one side of it.
        passes = operator == "!=" or (operator[0] == ("<" if whole > high else ">"))
        return np.asarray(column.is_valid().to_numpy(), bool) & passes
    numbers = column.cast(pa.float64(), safe=False)
    is_number = pc.invert(pc.is_nan(numbers))
    return _mask(pc.and_(compare(numbers, float(value)), is_number))


_UNSIGNED = {pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()}


def _mask(passes: pa.ChunkedArray) -> NDArray[np.bool_]:
    return np.asarray(passes.fill_null(False).to_numpy(), bool)


def _type_error(name: str, kind: pa.DataType, operator: str, value: str, wanted: str) -> UsageError:
    return UsageError(
        f"{name}{operator}{value[:80]} compares a column of type {kind} with a text", remedy=f"give {wanted}"
    )
