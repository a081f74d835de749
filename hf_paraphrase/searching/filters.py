"""Filters of a search: conditions on the columns of the corpus, such as `year>=2020 AND (source=news OR source=web)`.

    filter    = clause {OR clause}
    clause    = condition {AND condition}
    condition = (filter) | column operator value
    operator  = `=`, `==`, `!=`, `<`, `<=`, `>` or `>=`

A value in quotes may contain anything; a doubled quote in it means one. A value without quotes ends before AND, OR
or a closing parenthesis, and contains no second condition. Parsing time is linear in the length of the filter.
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
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": pc.equal,
    "==": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_SYNTAX = "write COLUMN=VALUE, or one of != < <= > >= for =, and join conditions with AND, OR and parentheses"
_AND, _OR = re.compile(r"\s*AND(?=[\s(]|$)\s*"), re.compile(r"\s*OR(?=[\s(]|$)\s*")
_OPEN, _CLOSE = re.compile(r"\s*\("), re.compile(r"\s*\)")
_COMPARISON = re.compile(r"([^<>=!]*)([<>=]=?|!=)\s*")
_QUOTED = re.compile(r"'((?:[^']|'')*)'|\"((?:[^\"]|\"\")*)\"")
_END_OF_VALUE = re.compile(r"\s(?=(?:AND|OR)(?:\s|\(|$))|\)|$")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?\d+")
_FORMATTED_NUMBER = re.compile(r"\d[\d.,' \u00a0\u202f]*")
_TRUTHS = {"true": True, "false": False, "1": True, "0": False}


def select_rows(table: pa.Table, filters: str | Sequence[str]) -> NDArray[np.int64]:
    """Return the rows of a table that pass all filters, ascending.

    The type of a column decides how its values compare. Numbers compare as numbers, and booleans as booleans. A date
    or time compares up to the precision of the filter, for instance by its day. In a text column, `=` and `!=` compare
    texts, so that `code=7` does not find `007`; `<`, `<=`, `>` and `>=` compare numbers if the value in the filter is
    a number, and texts otherwise. A missing value passes no filter.

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
        """Return which rows pass (rows,)."""
        passes = self._disjunction(0)
        if self._text[self._position :].strip():
            raise self._error()
        return passes

    def _error(self) -> UsageError:
        shown = self._text if len(self._text) <= 80 else f"{self._text[:80]}…"
        return UsageError(f"not a filter: {shown!r}", remedy=_SYNTAX)

    def _skip(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self._text, self._position)
        if match is not None:
            self._position = match.end()
        return match

    def _disjunction(self, depth: int) -> NDArray[np.bool_]:
        if depth > _MAX_DEPTH:
            what = f"a filter with more than {_MAX_DEPTH} nested parentheses"
            raise UsageError(what, remedy="give a simpler filter")
        passes = self._conjunction(depth)
        while self._skip(_OR):
            passes = passes | self._conjunction(depth)
        return passes

    def _conjunction(self, depth: int) -> NDArray[np.bool_]:
        passes = self._condition(depth)
        while self._skip(_AND):
            passes = passes & self._condition(depth)
        return passes

    def _condition(self, depth: int) -> NDArray[np.bool_]:
        if self._skip(_OPEN):
            passes = self._disjunction(depth + 1)
            if not self._skip(_CLOSE):
                raise self._error()
            return passes
        comparison = self._skip(_COMPARISON)
        if comparison is None or not (name := comparison[1].strip()):
            raise self._error()
        operator, quote = comparison[2], self._text[self._position : self._position + 1]
        if quote in ("'", '"'):
            quoted = self._skip(_QUOTED)
            if quoted is None:
                raise UsageError(f"a value without its closing {quote}: {self._text!r:.80}", remedy=_SYNTAX)
            value = quoted[quoted.lastindex or 1].replace(2 * quote, quote)
        else:
            end = _END_OF_VALUE.search(self._text, self._position)
            first, self._position = self._position, len(self._text) if end is None else end.start()
            value = self._text[first : self._position].strip()
            names = "|".join(map(re.escape, self._table.column_names))
            if re.search(rf"\s(?:{names})\s*(?:[<>]|!?=)", value):  # `a!=1 a!=2` would compare `a` with `1 a!=2`
                remedy = "put AND or OR between conditions, and a value that contains one in quotes"
                raise UsageError(f"a second condition in the value {value[:80]!r}", remedy=remedy)
        return _compare(self._column(name), name, operator, value, is_quoted=quote in ("'", '"'))

    def _column(self, name: str) -> pa.ChunkedArray:
        names = self._table.column_names
        if name not in names:
            unquoted = name.strip("'\"`")
            is_quoted = unquoted != name and unquoted in names
            remedy = f"write {unquoted} without quotes" if is_quoted else f"its columns are {', '.join(names)}"
            raise UsageError(f"the index has no column {name[:80]!r}", remedy=remedy)
        column = self._table.column(name)
        return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _compare(column: pa.ChunkedArray, name: str, operator: str, value: str, *, is_quoted: bool) -> NDArray[np.bool_]:
    kind, compare, is_equality = column.type, _OPERATORS[operator], operator in ("=", "==", "!=")
    is_number = not is_quoted and _NUMBER.fullmatch(value) is not None
    what = f"{name}{operator}{value[:80]} compares a column of type {kind} with a text"
    if pa.types.is_boolean(kind):
        truth = None if is_quoted else _TRUTHS.get(value.lower())
        if truth is None:
            raise UsageError(what, remedy="give true or false")
        return _mask(compare(column, truth))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        if not is_number:
            raise UsageError(what, remedy="give a number without quotes, such as 1200.5")
        return _compare_numbers(column, operator, value)
    if pa.types.is_temporal(kind):
        return _mask(compare(pc.utf8_slice_codeunits(column.cast(pa.string()), 0, max(1, len(value))), value))
    if pa.types.is_null(kind):
        return np.zeros(len(column), bool)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        raise UsageError(f"the column {name} of type {kind} cannot be filtered", remedy="filter by another column")
    column = column.cast(pa.string())
    if is_equality or not is_number:
        # `12.000,00` is a number to its writer and would be compared as a text.
        if not is_equality and not is_quoted and _FORMATTED_NUMBER.fullmatch(value):
            remedy = f"write the number without separators, such as 12000.5, or {name}{operator}'{value}' for texts"
            raise UsageError(f"{name}{operator}{value} compares with a number that is not plain", remedy=remedy)
        return _mask(compare(column, value))
    texts = column.to_pylist()
    wrong = next((text for text in texts if text is not None and not _NUMBER.fullmatch(text.strip())), None)
    if wrong is not None:
        what = f"{name}{operator}{value} compares numbers, and {name} has the text {wrong[:80]!r}"
        raise UsageError(what, remedy=f"write {name}{operator}'{value}' to compare texts")
    numbers = pa.array([None if text is None else float(text) for text in texts], pa.float64())
    return _compare_numbers(pa.chunked_array([numbers]), operator, value)


def _compare_numbers(column: pa.ChunkedArray, operator: str, value: str) -> NDArray[np.bool_]:
    """Compare integers exactly, and floats with the number as their type has it."""
    compare = _OPERATORS[operator]
    if pa.types.is_integer(column.type) and _WHOLE.fullmatch(value):
        try:
            return _mask(compare(column, pa.scalar(int(value), column.type)))
        except (pa.ArrowInvalid, OverflowError):  # all values of the type are on one side of the number
            passes = operator == "!=" or operator[0] == (">" if value.startswith("-") else "<")
            return np.asarray(column.is_valid().to_numpy(), bool) & passes
    to_type = column.type.to_pandas_dtype() if pa.types.is_floating(column.type) else float
    numbers = column.cast(pa.float64(), safe=False)
    return _mask(pc.and_(compare(numbers, float(to_type(value))), pc.invert(pc.is_nan(numbers))))


def _mask(passes: pa.ChunkedArray) -> NDArray[np.bool_]:
    return np.asarray(passes.fill_null(False).to_numpy(), bool)
