"""Filters of a search: comparisons of a column of the corpus with a value, `year>=2020` or `source=tatoeba`."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...data.schema import is_number
from ...errors import UsageError

_FILTER = re.compile(r"\s*(?P<column>[^<>=!]+?)\s*(?P<operator><=|>=|!=|==|=|<|>)\s*(?P<value>.*?)\s*", re.DOTALL)
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TRUTHS = {"true": True, "false": False}


def passing_rows(table: pa.Table, filters: Sequence[str]) -> NDArray[np.int64]:
    """Returns the rows of a table that pass all filters, in rising order.

    Two numbers are compared as numbers, also where a column of texts holds them, and all else as text, so that dates
    written as 2020-12-31 are in order. A missing value passes no filter.
    """
    passes = np.ones(len(table), bool)
    for text in filters:
        match = _FILTER.fullmatch(text)
        if match is None:
            raise UsageError(f"not a filter: {text!r}", remedy="write COLUMN=VALUE, or one of != < <= > >= for =")
        if match["column"] not in table.schema.names:
            columns = ", ".join(table.schema.names)
            raise UsageError(f"the index has no column {match['column']!r}", remedy=f"its columns are {columns}")
        column, compare, value = table.column(match["column"]), _OPERATORS[match["operator"]], match["value"]
        number = _number(value)
        if pa.types.is_boolean(column.type):
            if value.lower() not in _TRUTHS:
                raise UsageError(f"{text!r} compares a column of truth values", remedy="give true or false")
            number = _TRUTHS[value.lower()]
        elif number is None and is_number(column.type):
            raise UsageError(f"{text!r} compares a column of type {column.type} with a text", remedy="give a number")
        passes &= [_passes(item, compare, value, number) for item in _plain(column).to_pylist()]
    return np.flatnonzero(passes)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Returns times as text, whatever their unit, and all else as it is."""
    return column.cast(pa.string()) if pa.types.is_timestamp(column.type) else column


def _passes(item: Any, compare: Callable[[Any, Any], bool], value: str, number: float | None) -> bool:
    if item is None:
        return False
    own = None if number is None else _number(item)
    return compare(str(item), value) if own is None else compare(own, number)


def _number(value: Any) -> int | float | None:
    """Reads a whole number as such: floats do not hold all of 64 bits, and Python compares the two exactly."""
    try:
        if isinstance(value, int) or not math.isfinite(float(value)):
            return value if isinstance(value, int) else None
        return int(value) if isinstance(value, str) and _WHOLE.fullmatch(value) else float(value)
    except (TypeError, ValueError):
        return None
