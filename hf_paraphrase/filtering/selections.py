"""Selections: predicates on columns, written as `overlap_1<=0.7` or `5<=length<=30`, or called by their names.

A name refers to a function in :data:`~hf_paraphrase.registry.SELECTIONS`. Its parameters have the names of the columns
that it uses: numbers arrive as float64 (rows,) with NaN for missing values, texts as a list with empty strings for
missing ones. It returns which rows to keep, bool (rows,).

The grammar of comparisons, with white space allowed between their parts:

    comparison = column operator number | number operator column | number operator column operator number
                 | column equality text | column ["not"] "in" ["("] text {"," text} [")"]
    operator   = "<=" | "<" | ">=" | ">" | equality
    equality   = "==" | "=" | "!="
    column     = a letter or "_", then letters, digits and "_"; or any name between backquotes (`my column`)
    number     = a decimal number, with sign and exponent if need be

With two numbers both comparisons hold, as in Python (`1<x<=2`). Text may be quoted; a column of text is compared
with the literal text (`language=en`, `domain in news,law`), a column of classes with their names or numbers. Several
selections must all hold. A missing value, NaN or the class -1 satisfies no comparison, not even `!=`.
"""

from __future__ import annotations

import inspect
import operator as of
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..data.schema import class_names_of, is_number, is_text
from ..errors import UsageError, choice_of
from ..registry import SELECTIONS
from ..text.normalization import normalize_text
from ..text.words import tokenize
from .measures import SIDES, find_sides, read_numeric
from .measuring import find_measures, list_measurable_columns

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_NAME = r"[^\W\d]\w*"
_COLUMN = rf"(?P<column>{_NAME}|`[^`]+`)"
_OPERATOR = r"<=|>=|==|!=|=|<|>"
_SELECTION = re.compile(
    rf"\s*(?:(?P<left>{_NUMBER})\s*(?P<left_operator>{_OPERATOR})\s*)?"
    rf"{_COLUMN}(?:\s*(?P<right_operator>{_OPERATOR})\s*(?P<right>{_NUMBER}))?\s*"
)
_TEXT_SELECTION = re.compile(
    rf"\s*{_COLUMN}(?:\s*(?P<operator>==|!=|=)|\s+(?P<not>not\s+)?in\s)\s*"
    r"(?P<texts>(?:\"[^\"]*\"|'[^']*'|[^<>=!])+)",
    re.DOTALL,
)
_ENTRY = r"""\s*(?:"[^"]*"|'[^']*')\s*(?=,|$)|[^,]+"""
"""An entry of a list of texts; a comma in quotes does not end it."""
_BRACKETED = re.compile(r"""\s*[(\[]((?:"[^"]*"|'[^']*'|[^()\[\]])*)[)\]]\s*""")
_QUOTED = re.compile(r"""(['"])(.*)\1""", re.DOTALL)
_COMPARISONS: dict[str, Callable[[Any, Any], Any]]
_COMPARISONS = {"<=": of.le, "<": of.lt, ">=": of.ge, ">": of.gt, "==": of.eq, "=": of.eq, "!=": of.ne}
_MIRROR = str.maketrans("<>", "><")


def different(sentence1: Sequence[str], sentence2: Sequence[str]) -> np.ndarray:
    """Keep the pairs whose sentences differ by more than case, spacing and invisible characters."""
    sides = ([tokenize(normalize_text(text)) for text in side] for side in (sentence1, sentence2))
    return np.array([one != two for one, two in zip(*sides, strict=True)], bool)


@dataclass(frozen=True)
class Selection:
    """One predicate on columns: a comparison of one column with numbers, or a function of the registry.

    Attributes:
        text: The selection as the user wrote it.
        columns: The columns it uses.
        conditions: One or two pairs of operator and number of a comparison, with the column on the left.
        texts: The texts that a column is compared with; None if it can only be compared with numbers.
        negated: Whether rows with one of the texts are removed.
        function: Called with the columns; returns which rows are kept, bool (rows,).
    """

    text: str
    columns: tuple[str, ...]
    conditions: tuple[tuple[str, int | float], ...] = ()
    texts: tuple[str, ...] | None = None
    negated: bool = False
    function: Callable[..., Any] | None = None

    @property
    def numbers(self) -> list[int | float] | None:
        """The numbers that a column is compared with; None where one of the texts is not a number."""
        texts = self.texts or ()
        return [_to_number(text) for text in texts] if all(re.fullmatch(_NUMBER, text) for text in texts) else None

    def mask(self, *columns: Any) -> np.ndarray:
        """Return which rows are kept, given its columns: bool (rows,); a missing value satisfies no comparison."""
        if self.function is not None:
            return np.asarray(self.function(*columns))
        (values,) = columns
        if isinstance(values, pa.ChunkedArray):
            is_equal = pc.is_in(values, value_set=pa.array(self.texts or (), values.type)).to_numpy()
            return np.asarray((is_equal != self.negated) & values.is_valid().to_numpy())
        kept = values == values  # not NaN
        for name, number in self.conditions:
            kept[kept] = _COMPARISONS[name](values[kept], number)
        if self.texts is not None:
            kept &= np.isin(values, np.array(self.numbers or [], values.dtype)) != self.negated
        return np.asarray(kept, bool)


def _to_number(text: str) -> int | float:
    """Read a number; a whole one exactly, because floats of 64 bits do not represent all of them."""
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)


def parse_selection(text: str) -> Selection:
    """Parse one selection."""
    name = text.strip()
    if name in SELECTIONS:
        return find_selection(name)
    match = _SELECTION.fullmatch(text)
    if match is None or (match["left"] is None and match["right"] is None):
        return _parse_text_selection(text)
    column = (match["column"].strip("`"),)
    if match["left"] is None and match["right_operator"] in ("=", "==", "!="):
        return Selection(name, column, texts=(match["right"],), negated=match["right_operator"] == "!=")
    left, right = ((match[side], match[f"{side}_operator"]) for side in ("left", "right"))
    conditions = [(left[1].translate(_MIRROR), _to_number(left[0]))] if left[0] is not None else []
    conditions += [(right[1], _to_number(right[0]))] if right[0] is not None else []
    return Selection(name, column, tuple(conditions))


def _parse_text_selection(text: str) -> Selection:
    match = _TEXT_SELECTION.fullmatch(text)
    if match is None:
        remedy = "write for example overlap_1<=0.7, 5<=length<=30, 'language in en,fr' or '`my column`>3', in quotes, "
        raise UsageError(f"--keep: cannot parse `{text}`", remedy=f"{remedy}or a name: {', '.join(SELECTIONS)}")
    bracketed = _BRACKETED.fullmatch(match["texts"])
    listed = bracketed[1] if bracketed else match["texts"]
    texts = [match["texts"]] if match["operator"] else re.findall(_ENTRY, listed)
    stripped = (_QUOTED.sub(r"\2", part.strip()) for part in texts)
    negated = match["operator"] == "!=" or match["not"] is not None
    return Selection(text.strip(), (match["column"].strip("`"),), texts=tuple(stripped), negated=negated)


def quote_column(name: str) -> str:
    """Return a column name as a selection has it, between backquotes where necessary."""
    return name if re.fullmatch(_NAME, name) else f"`{name}`"


def find_selection(name: str, text: str | None = None) -> Selection:
    """Return a selection of the registry."""
    function = SELECTIONS[name]
    return Selection(text or name, tuple(inspect.signature(function).parameters), function=function)


def check_selections(selections: Sequence[Selection], schema: pa.Schema) -> None:
    """Check that every selection uses existing or measurable columns, and values of their types."""
    sentence_columns = dict(zip(SIDES, find_sides(schema.names), strict=True))
    for selection in (_with_class_numbers(selection, schema) for selection in selections):
        wanted_by = f"--keep `{selection.text}`"
        only_numbers = selection.function is None and selection.texts is None
        check_columns(selection.columns, schema, wanted_by, numbers=only_numbers)
        column = sentence_columns.get(selection.columns[0], selection.columns[0])
        is_of_texts = column in schema.names and is_text(schema.field(column).type)
        if selection.function is None and not is_of_texts and selection.numbers is None:
            problem = f"{wanted_by}: the column {column} holds numbers, not text"
            raise UsageError(problem, remedy="compare it with numbers")


def _with_class_numbers(selection: Selection, schema: pa.Schema) -> Selection:
    """Replace the names of classes, or true and false, by the numbers that the column contains."""
    column = selection.columns[0]
    names = class_names_of(schema).get(column, [])
    if column in schema.names and pa.types.is_boolean(schema.field(column).type) and selection.texts:
        selection, names = replace(selection, texts=tuple(map(str.lower, selection.texts))), ["false", "true"]
    if not names or not selection.texts:
        return selection
    numbers = tuple(str(names.index(text)) if text in names else text for text in selection.texts)
    if replace(selection, texts=numbers).numbers is None:
        wrong = next(text for text in selection.texts if text not in names)
        problem = f"--keep `{selection.text}`: the column {column} has no class `{wrong}`"
        raise UsageError(problem, remedy=choice_of(wrong, names))
    return replace(selection, texts=numbers)


def check_columns(columns: Sequence[str], schema: pa.Schema, wanted_by: str, *, numbers: bool = True) -> None:
    """Check that columns exist or can be measured."""
    measurable = list_measurable_columns(schema.names)
    sentence_columns = dict(zip(SIDES, find_sides(schema.names), strict=True))
    for column in (sentence_columns.get(column, column) for column in columns):
        if column in schema.names:
            kind = schema.field(column).type
            if not (is_number(kind) or (is_text(kind) and not numbers)):
                problem = f"{wanted_by}: the column {column} holds {kind}, not numbers{'' if numbers else ' or text'}"
                raise UsageError(problem, remedy="compare a column of numbers" if numbers else "use another column")
        elif column not in measurable:
            remedy = choice_of(column, [*schema.names, *(name for name in measurable if name not in schema.names)])
            remedy += "; hf-paraphrase score can add it" * bool(find_measures([column]))
            raise UsageError(f"{wanted_by}: there is no column {column}", remedy=remedy)


def apply_selection(selection: Selection, table: pa.Table) -> np.ndarray:
    """Return which rows of a table satisfy a selection: bool (rows,)."""
    sentence_columns = dict(zip(SIDES, find_sides(table.schema.names), strict=True))
    columns = [sentence_columns.get(column, column) for column in selection.columns]
    selection = _with_class_numbers(selection, table.schema)
    if selection.function is None and is_text(table.schema.field(columns[0]).type):
        return selection.mask(table.column(columns[0]).cast(pa.string()))
    values = [_read_values(table, column) for column in columns]
    kind = table.schema.field(columns[0]).type
    if selection.function is None and pa.types.is_floating(kind):  # 0.1 is another number in 32 bits than in 64
        values = [np.asarray(values[0], kind.to_pandas_dtype())]
    return selection.mask(*values)


def _read_values(table: pa.Table, column: str) -> np.ndarray | list[str]:
    if is_text(table.schema.field(column).type):
        return [text or "" for text in table.column(column).to_pylist()]
    values = read_numeric(table, column)
    if pa.types.is_integer(table.schema.field(column).type) and np.nanmax(np.abs(values), initial=0) >= 2**53:
        # As Python's integers, which floats of 64 bits do not represent.
        return np.array([np.nan if value is None else value for value in table.column(column).to_pylist()], object)
    # In `datasets` the class -1 means a row without a class.
    return np.where(values < 0, np.nan, values) if column in class_names_of(table.schema) else values
