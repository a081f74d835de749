"""The steps of a filter: their settings, and the batch function that takes those that look at one pair at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from ..data.batch_function import BatchFunction, Progress, Report, no_progress
from ..data.decontamination import DecontaminationSettings, Decontaminator
from ..data.schema import require_columns
from ..errors import InputError
from ..registry import SELECTIONS
from ..settings import seed_setting, setting
from .measuring import Measures, add_measures, measures_of
from .pair_batch import SIDES, holds_text, sides_of
from .selections import Selection, apply_selection, check_selections, named_selection, parse_selection


def _computed_on_demand() -> str:
    measures = [measure for measure in Measures().values() if measure.lacks is None]
    return ", ".join(
        ", ".join(measure.numeric_columns) + (f" ({measure.unit})" if measure.unit else "") for measure in measures
    )


@dataclass(kw_only=True)
class FilterSteps(DecontaminationSettings):
    """The steps of a filter."""

    drop_identical: bool = setting("leave out pairs whose sides are the same but for case and spacing", False)
    keep: list[str] = setting(
        "comparisons of a column with numbers, in quotes, e.g. 'overlap_1<=0.7' '5<=length<=30' 'rank==0', or "
        f"selections by their names ({', '.join(SELECTIONS)}); all must hold; {_computed_on_demand()} are computed "
        "where they are not columns yet; what needs a model, such as perplexity, score adds",
        [],
    )
    one_per_reference: str | None = setting(
        "keep one translation of each reference (id): best = the lowest rank of those that are left",
        None,
        choices=["best"],
    )
    first: int | None = setting(
        "take this many of the remaining pairs from the beginning: the best of a ranked list such as Opusparcus",
        None,
        at_least=1,
    )
    max_tokens: int | None = setting(
        "take the remaining pairs from the beginning until they have this many tokens (words between white space), "
        "both sides together: as much training data as another set has (paper 003, section 4.3)",
        None,
        at_least=1,
    )
    sample: int | None = setting("how many of the remaining pairs to draw; all if there are fewer", None, at_least=1)
    seed: int = seed_setting("seed of the draws, of the noise too")

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        _ = self.selections

    def pair_filter(self, sides: Sequence[str] = SIDES) -> PairFilter:
        """Returns what takes the steps that look at one pair at a time, given the columns of the two sentences."""
        return PairFilter(tuple(self.keep), self.drop_identical, self.columns, self.decontaminator(*sides))

    @property
    def selections(self) -> tuple[Selection, ...]:
        """The predicates of `keep`, each once."""
        return tuple(dict.fromkeys(map(parse_selection, self.keep)))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the steps look at; those of named selections too."""
        wanted = [column for selection in self.selections for column in selection.columns]
        wanted += ["rank"] if self.one_per_reference is not None else []
        return tuple(dict.fromkeys(wanted))


@dataclass(frozen=True)
class PairFilter(BatchFunction):
    """Keeps the pairs that pass the steps that look at one pair at a time; the columns that it computes stay.

    Attributes:
        keep: Selections, as :func:`~.selections.parse_selection` reads them.
        drop_identical: Whether pairs whose sides are the same tokens go first.
        columns: Columns that later steps look at; they are computed too where they are not there.
        decontaminator: Leaves out evaluation sentences.
    """

    keep: tuple[str, ...] = ()
    drop_identical: bool = False
    columns: tuple[str, ...] = ()
    decontaminator: Decontaminator | None = None

    @cached_property
    def _selections(self) -> list[Selection]:
        first = [named_selection("different", "not identical")] if self.drop_identical else []
        return list(dict.fromkeys([*first, *map(parse_selection, self.keep)]))

    def reported(self, table: pa.Table, progress: Progress = no_progress) -> tuple[pa.Table, Report]:
        """Returns the pairs that pass, with the counts of a filter as far as they are of single pairs."""
        report: Report = {"funnel": {}, "contamination": {}}
        left = table
        for step, left in self.passing(table, report):
            report["funnel"][step] = left.num_rows
        progress(table.num_rows)
        return left, report

    def passing(self, table: pa.Table, report: Report) -> Iterator[tuple[str, pa.Table]]:
        """Yields the name of each step and the pairs that pass it; adds what decontamination reports."""
        wanted = (*(column for selection in self._selections for column in selection.columns), *self.columns)
        table = with_columns(table, wanted)
        yield "read", table
        for selection in self._selections:
            table = table.filter(pa.array(apply_selection(selection, table)))
            yield selection.text, table
        if self.decontaminator is not None:
            table, matched = self.decontaminator.reported(table)
            report |= matched
            yield "decontaminated", table


def with_columns(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Returns a table of pairs with those of some columns that it lacks, where they can be measured."""
    sides = sides_of(table.schema.names)
    present = {*table.schema.names, *(SIDES if sides != SIDES else ())}
    lacking = [column for column in dict.fromkeys(columns) if column not in present]
    return add_measures(table, measures_of(lacking), only=lacking)


def check_pairs(schema: pa.Schema, path: str, sides: Sequence[str] = SIDES) -> None:
    """Checks that a data set holds pairs of texts."""
    require_columns(schema.names, sides, path)
    for name in sides:
        kind = schema.field(name).type
        if not holds_text(kind):
            raise InputError(f"the column {name} holds {kind}, not text", path=path)


def check_steps(steps: FilterSteps, schema: pa.Schema, path: str) -> None:
    """Checks that every step finds the columns it needs."""
    check_pairs(schema, path, sides_of(schema.names))
    check_selections(steps.selections, schema)
    if steps.one_per_reference is not None:
        require_columns(schema.names, ("rank",), path)
