"""The measures by name; a new measure is one file and one line here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from ...errors import InputError, UsageError
from ..pair_batch import PairBatch
from .base import Measure
from .bleu import SentenceBleu
from .cost import TranslationCost
from .length import Length
from .overlap import Overlap

MEASURES: dict[str, Measure] = {
    "length": Length(),
    "overlap": Overlap(),
    "clipped_overlap": Overlap(clipped=True),
    "bleu": SentenceBleu(),
    "cost": TranslationCost(),
}

OPTIONAL = frozenset({"clipped_overlap"})
"""Measures that are computed only when they are asked for by name."""


def choose_measures(names: Sequence[str], present: Sequence[str], path: str) -> list[str]:
    """Checks a choice of measures against the columns of a data set.

    Args:
        names: Names of :data:`MEASURES`; empty for all that are not optional and whose columns are there.
        present: The columns of the data set.
        path: The data set, for messages.

    Returns:
        The names, each once, in the order of :data:`MEASURES`.

    Raises:
        UsageError: For an unknown measure.
        InputError: If a measure that was asked for needs a column that is not there.
    """
    unknown = [name for name in names if name not in MEASURES]
    if unknown:
        raise UsageError(f"unknown measure {', '.join(unknown)}", remedy=f"one of {', '.join(MEASURES)}")
    if not names:
        return [
            name
            for name, measure in MEASURES.items()
            if name not in OPTIONAL and all(column in present for column in measure.requires)
        ]
    for name in names:
        missing = [column for column in MEASURES[name].requires if column not in present]
        if missing:
            raise InputError(
                f"the measure {name} needs the missing column{'s' if len(missing) > 1 else ''} {', '.join(missing)}",
                path=path,
                remedy=f"the columns are {', '.join(present)}",
            )
    return [name for name in MEASURES if name in names]


def measures_of(columns: Iterable[str]) -> list[str]:
    """Returns the measures that compute any of `columns`, in the order of :data:`MEASURES`."""
    wanted = set(columns)
    return [name for name, measure in MEASURES.items() if wanted & set(measure.columns)]


def add_measures(table: pa.Table, names: Sequence[str], *, only: Iterable[str] | None = None) -> pa.Table:
    """Adds the columns of the named measures to a table of pairs; a column of the same name is replaced in its place.

    Args:
        table: Pairs.
        names: Names of :data:`MEASURES`.
        only: The columns to add; all that the measures compute by default.
    """
    batch = PairBatch(table)
    wanted = None if only is None else set(only)
    for name in names:
        for column, values in MEASURES[name].compute(batch).items():
            if wanted is None or column in wanted:
                position = table.schema.get_field_index(column)
                if position < 0:
                    table = table.append_column(column, pa.array(values))
                else:
                    table = table.set_column(position, column, pa.array(values))
    return table
