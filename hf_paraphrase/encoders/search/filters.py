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
        if not is_number(column.type):
            passes &= [_passes(item, compare, value, number) for item in column.to_pylist()]
        elif pa.types.is_boolean(column.type) and value.lower() in _TRUTHS:
            passes &= [item is not None and compare(item, _TRUTHS[value.lower()]) for item in column.to_pylist()]
        elif number is not None:
            values = np.array(column.cast(pa.float64()).to_pylist(), np.float64)
            passes &= compare(values, number) & ~np.isnan(values)
        else:
            raise UsageError(f"{text!r} compares a column of type {column.type} with a text", remedy="give a number")
    return np.flatnonzero(passes)


def _passes(item: Any, compare: Callable[[Any, Any], bool], value: str, number: float | None) -> bool:
    if item is None:
        return False
    own = None if number is None else _number(item)
    return compare(str(item), value) if own is None else compare(own, number)


def _number(value: Any) -> float | None:
    try:
        return float(value) if math.isfinite(float(value)) else None
    except (TypeError, ValueError):
        return None
