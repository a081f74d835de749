"""The steps of a filter: their settings, and the batch function that takes those that look at one pair at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from ..data.batch_function import BatchFunction, Progress, Report, no_progress
from ..data.decontamination import DecontaminationSettings, Decontaminator
from ..registry import SELECTIONS
from ..settings import seed_setting, setting
from .measuring import measurable_columns, with_columns
from .pair_batch import SIDES
from .selections import Selection, apply_selection, named_selection, parse_selection

_ON_DEMAND = measurable_columns((*SIDES, "source", "log_prob", "num_tokens"))


@dataclass(kw_only=True)
class FilterSteps(DecontaminationSettings):
    """The steps of a filter."""

    drop_identical: bool = setting("leave out pairs whose sides are the same but for case and spacing", False)
    keep: list[str] = setting(
        "comparisons of a column with numbers, in quotes, e.g. 'overlap_1<=0.7' '5<=length<=30' 'rank==0', or "
        f"selections by their names ({', '.join(SELECTIONS)}); all must hold; {', '.join(_ON_DEMAND)} are computed "
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
        decontaminator: Leaves out evaluation sentences.
    """

    keep: tuple[str, ...] = ()
    drop_identical: bool = False
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
        table = with_columns(table, [column for selection in self._selections for column in selection.columns])
        yield "read", table
        for selection in self._selections:
            table = table.filter(pa.array(apply_selection(selection, table)))
            yield selection.text, table
        if self.decontaminator is not None:
            table, matched = self.decontaminator.reported(table)
            report |= matched
            yield "decontaminated", table
