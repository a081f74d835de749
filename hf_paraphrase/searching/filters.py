"""Filters of a search: comparisons of a column of the corpus with a value, `year>=2020` or `source=tatoeba`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..data.schema import COMPARISONS, is_number
from ..errors import UsageError

_FILTER = re.compile(r"\s*(?P<column>[^<>=!]+?)\s*(?P<operator><=|>=|!=|==|=|<|>)\s*(?P<value>.*?)\s*", re.DOTALL)
_TRUTHS = {"true": True, "false": False, "1": True, "0": False}
_WHOLE = re.compile(r"\s*[+-]?\d+\s*")


def passing_rows(table: pa.Table, filters: str | Sequence[str]) -> NDArray[np.int64]:
    """Returns the rows of a table that pass all filters, in rising order.

    Two numbers are compared as numbers, also where a column of texts holds them, and all else as text, so that dates
    written as 2020-12-31 are in order; of a date or time as much is compared as the filter has, such as the day. A
    missing value passes no filter.
    """
    passes = np.ones(len(table), bool)
    for text in [filters] if isinstance(filters, str) else filters:
        match = _FILTER.fullmatch(text)
        if match is None:
            raise UsageError(f"not a filter: {text!r}", remedy="write COLUMN=VALUE, or one of != < <= > >= for =")
        if match["column"] not in table.schema.names:
            columns = ", ".join(table.schema.names)
            raise UsageError(f"the index has no column {match['column']!r}", remedy=f"its columns are {columns}")
        column, compare, value = table.column(match["column"]), COMPARISONS[match["operator"]], match["value"]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        number = _TRUTHS.get(value.lower()) if pa.types.is_boolean(column.type) else _number(value)
        if not is_number(column.type):
            # A day is that of a time, and a year that of a day.
            length = len(value) if pa.types.is_temporal(column.type) and value else None
            passes &= [_passes(item, compare, value, number, length) for item in column.to_pylist()]
            continue
        if number is None:
            problem = f"{text!r} compares a column of type {column.type} with a text"
            raise UsageError(problem, remedy="give a number, or true or false")
        # Floats do not hold all integers of 64 bits.
        is_exact = pa.types.is_integer(column.type) and isinstance(number, int)
        column = column if is_exact else column.cast(pa.float64(), safe=False)
        values = column.fill_null(0).to_numpy()
        passes &= compare(values, number) & column.is_valid().to_numpy() & ~np.isnan(values)
    return np.flatnonzero(passes)


def _passes(
    item: Any, compare: Callable[[Any, Any], bool], value: str, number: float | None, length: int | None
) -> bool:
    if item is None:
        return False
    own = None if number is None else _number(item)
    return compare(str(item)[:length], value) if own is None else compare(own, number)


def _number(value: Any) -> float | None:
    """Reads a number, a whole one as an integer, which Python compares with floats exactly."""
    try:
        if isinstance(value, str) and _WHOLE.fullmatch(value):
            return int(value)
        return float(value) if math.isfinite(float(value)) else None
    except (TypeError, ValueError):
        return None
