"""Applies measures to tables of pairs: chooses measures by the columns of the data, and adds their columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from ..data.batch_function import BatchFunction, Progress, Report, no_progress
from ..data.schema import with_column
from ..errors import InputError, UsageError
from ..registry import MEASURES
from ..settings import flag
from ..threads import one_thread
from .measures import SIDES, Measure, PairBatch, find_sides

_ROWS_AT_A_TIME = 2_000
"""Rows per batch, whose arrays fit into the processor's caches."""


class Measures(dict[str, Measure]):
    """All registered measures by their names.

    Only the options are pickled; each process loads the models that it needs.

    Args:
        **options: Options of the measures by their names; each measure takes its own.
    """

    def __init__(self, **options: Any) -> None:
        self.given = options
        super().__init__((name, self._make(name)) for name in MEASURES)

    def _make(self, name: str) -> Measure:
        kind = MEASURES[name]
        return kind(**{option: self.given[option] for option in kind.option_names() if option in self.given})

    def __missing__(self, name: str) -> Measure:
        # The file of the user that registers this measure was imported after the options were unpickled.
        self[name] = self._make(name)
        return self[name]

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Measures, **self.given), ()


@dataclass(frozen=True)
class PairScorer(BatchFunction):
    """Add the columns of measures to pairs; existing ones are replaced.

    Attributes:
        names: The measures, names of :data:`~hf_paraphrase.registry.MEASURES`.
        measures: The measures with their options.
        held_out: References whose pairs are left out.
    """

    names: tuple[str, ...]
    measures: Measures = field(default_factory=Measures)
    held_out: frozenset[str] = frozenset()

    def process(self, table: pa.Table, progress: Progress = no_progress) -> tuple[pa.Table, Report]:
        """Return the pairs with the columns."""
        scored = table
        if self.held_out:
            is_left = [text not in self.held_out for text in table["sentence1"].to_pylist()]
            scored = table.filter(pa.array(is_left, pa.bool_()))
        with one_thread():
            scored = add_measures(scored, self.names, measures=self.measures)
        progress(table.num_rows)
        return scored, {}

    @property
    def columns(self) -> list[str]:
        """The columns that it adds."""
        return [column for name in self.names for column in self.measures[name].columns]


def choose_measures(
    names: Sequence[str], present: Sequence[str], path: str, measures: Measures | None = None
) -> list[str]:
    """Check a choice of measures against the columns of a data set.

    Without names all default measures are chosen whose columns and required options are given; for a bitext, only
    measures that compare two languages. A given option also chooses its measure. The names keep the order of the
    registry.
    """
    measures = measures or Measures()
    is_bitext = find_sides(present) != SIDES
    readable = _list_readable_columns(present)
    if not names:
        return [
            name
            for name, measure in measures.items()
            if (measure.by_default or set(measure.option_names()) & set(measures.given))
            and (measure.for_bitext or not is_bitext)
            and measure.lacks is None
            and readable >= set(measure.requires)
        ]
    for name in names:
        measure = measures[name]
        if measure.lacks is not None:
            remedy = "give it, or leave the measure out"
            raise UsageError(f"the measure {name} needs {flag(measure.lacks)}", remedy=remedy)
        if missing := [column for column in measure.requires if column not in readable]:
            problem = f"the measure {name} needs the missing column{'s' * (len(missing) > 1)} {', '.join(missing)}"
            raise InputError(problem, path=path, remedy=f"the columns are {', '.join(present)}")
    return [name for name in measures if name in names]


def list_measurable_columns(present: Sequence[str]) -> list[str]:
    """List the numeric columns that can be computed from the columns of a data set without any option."""
    return [
        column
        for measure in Measures().values()
        if measure.lacks is None and _list_readable_columns(present) >= set(measure.requires)
        for column in measure.columns
        if column not in measure.texts
    ]


def _list_readable_columns(present: Sequence[str]) -> set[str]:
    """Return the columns that measures can read; `source` and `target` also count as `sentence1` and `sentence2`."""
    return {*present} if find_sides(present) == SIDES else {*present, *SIDES}


def find_measures(columns: Iterable[str]) -> list[str]:
    """Return the measures that compute any of `columns`, in the order of the registry."""
    wanted = set(columns)
    return [name for name, measure in Measures().items() if wanted & set(measure.columns)]


def list_columns_to_read(columns: Iterable[str], present: Sequence[str]) -> set[str]:
    """Return the columns to read for some columns: the columns themselves, or the inputs of their measures."""
    measures = Measures()
    lacking = {column for column in columns if column not in present}
    return {*columns} - lacking | {column for name in find_measures(lacking) for column in measures[name].requires}


def add_columns(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Add the `columns` that a table of pairs lacks, if a measure can compute them."""
    present = _list_readable_columns(table.schema.names)
    scored = add_measures(table, find_measures(column for column in columns if column not in present))
    for column in scored.schema.names:
        if column in columns and column not in present:
            table = with_column(table, column, scored.column(column))
    return table


def add_measures(table: pa.Table, names: Sequence[str], measures: Measures | None = None) -> pa.Table:
    """Add the columns of measures to pairs; existing columns of the same name are replaced."""
    measures = measures or Measures()
    computed: dict[str, list[np.ndarray]] = {}
    for start in range(0, max(1, table.num_rows), _ROWS_AT_A_TIME):
        batch = PairBatch(table.slice(start, _ROWS_AT_A_TIME))
        for name in names:
            for column, values in measures[name].compute(batch).items():
                computed.setdefault(column, []).append(values)
    for column, parts in computed.items():
        table = with_column(table, column, pa.array(np.concatenate(parts)))
    return table
