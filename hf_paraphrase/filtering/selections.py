"""Selections: predicates on columns, written as `overlap_1<=0.7` or `5<=length<=30`.

The grammar, with white space allowed between its parts:

    selection  = column operator number | number operator column | number operator column operator number
    operator   = "<=" | "<" | ">=" | ">" | "==" | "!="
    column     = a letter or "_", then letters, digits and "_"
    number     = a decimal number, with sign and exponent if need be

With two numbers the operators point the same way (`1<x<=2`, `2>x>=1`). Several selections are and-ed. A missing value
or NaN satisfies no selection, `!=` included.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ..errors import UsageError
from .measures.registry import measurable_columns, measures_of
from .pair_batch import numeric_column

_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_OPERATOR = r"<=|>=|==|!=|<|>"
_SELECTION = re.compile(
    rf"\s*(?:(?P<left>{_NUMBER})\s*(?P<left_operator>{_OPERATOR})\s*)?"
    r"(?P<column>[^\W\d]\w*)"
    rf"(?:\s*(?P<right_operator>{_OPERATOR})\s*(?P<right>{_NUMBER}))?\s*",
    re.ASCII,
)
_FUNCTIONS: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
}
_MIRRORED = {"<=": ">=", "<": ">", ">=": "<=", ">": "<", "==": "==", "!=": "!="}
_REMEDY = "write for example overlap_1<=0.7 or 5<=length<=30, in quotes"


@dataclass(frozen=True)
class Selection:
    """One predicate on one column.

    Attributes:
        text: What the user wrote.
        column: The column it looks at.
        conditions: One or two pairs of operator and number, the column's value standing on the left.
    """

    text: str
    column: str
    conditions: tuple[tuple[str, float], ...]

    def mask(self, values: np.ndarray) -> np.ndarray:
        """Tells which values satisfy all conditions: bool (rows,); NaN never does."""
        kept = ~np.isnan(values)
        for name, number in self.conditions:
            kept &= _FUNCTIONS[name](values, number)
        return kept


def parse_selection(text: str) -> Selection:
    """Parses one selection.

    Raises:
        UsageError: Naming what was written, if it does not follow the grammar.
    """
    match = _SELECTION.fullmatch(text)
    if match is None or (match["left"] is None and match["right"] is None):
        raise UsageError(f"--keep: cannot read `{text}`", remedy=_REMEDY)
    conditions: list[tuple[str, float]] = []
    if match["left"] is not None:
        conditions.append((_MIRRORED[match["left_operator"]], _finite(match["left"], text)))
    if match["right"] is not None:
        conditions.append((match["right_operator"], _finite(match["right"], text)))
    if len(conditions) == 2 and _direction(match["left_operator"]) * _direction(match["right_operator"]) != 1:
        raise UsageError(f"--keep: the two comparisons of `{text}` do not point the same way", remedy=_REMEDY)
    return Selection(text=text.strip(), column=match["column"], conditions=tuple(conditions))


def _finite(number: str, text: str) -> float:
    value = float(number)
    if not np.isfinite(value):
        raise UsageError(f"--keep: the number in `{text}` is too large", remedy=_REMEDY)
    return value


def _direction(name: str) -> int:
    return {"<": -1, ">": 1}.get(name[0], 0)


def check_selections(selections: Sequence[Selection], schema: pa.Schema) -> None:
    """Checks that every selection looks at a number that is a column or can be measured.

    Args:
        selections: The predicates.
        schema: The columns of the pairs.

    Raises:
        UsageError: Naming the selection, and the columns that exist or can be computed.
    """
    for selection in selections:
        check_columns([selection.column], schema, f"--keep `{selection.text}`")


def check_columns(columns: Sequence[str], schema: pa.Schema, wanted_by: str) -> None:
    """Checks that columns hold numbers, or can be measured.

    Args:
        columns: Their names.
        schema: The columns of the pairs.
        wanted_by: What looks at them, for messages.

    Raises:
        UsageError: Naming the first that is neither, and the columns that exist or can be computed.
    """
    measurable = measurable_columns(schema.names)
    for column in columns:
        if column in schema.names:
            kind = schema.field(column).type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
                raise UsageError(
                    f"{wanted_by}: the column {column} holds {kind}, not numbers", remedy="compare a column of numbers"
                )
        elif column not in measurable:
            can = sorted(set(measurable) - set(schema.names))
            raise UsageError(
                f"{wanted_by}: there is no column {column}",
                remedy=f"the columns are {', '.join(schema.names)}"
                + (f"; computed on demand: {', '.join(can)}" * bool(can))
                + ("; hf-paraphrase score can add it" * bool(measures_of([column]))),
            )


def apply_selection(selection: Selection, table: pa.Table) -> np.ndarray:
    """Tells which rows of a table satisfy a selection: bool (rows,)."""
    return selection.mask(numeric_column(table, selection.column))
