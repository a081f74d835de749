"""The results of a grid of training runs: the choice by the dev set, its test scores, and tables.

The choice never uses a test score.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...tables import format_table, number
from ...training.verdicts import EQUIVALENCE, Difference, bootstrap_means, difference, mean_difference, spread

RANDOM = "random"
"""The baseline of all filters: pairs drawn at random."""
_JUDGED = ["minus {} [95 %]", "helps", f"within ± {EQUIVALENCE:g}"]


@dataclass(frozen=True)
class Cell:
    """One cell of a grid: an encoder trained on a range of a filter of a data set."""

    data: str
    encoder: str
    filter: str
    range: str

    @property
    def keep(self) -> tuple[str, ...]:
        """The comparisons of its range; all must hold."""
        return tuple(part.strip() for part in self.range.split(",") if part.strip())

    @property
    def random(self) -> Cell:
        """The random selection of the same data, for the same encoder."""
        return Cell(self.data, self.encoder, RANDOM, "")


@dataclass(frozen=True)
class TuningRun:
    """One trained encoder: `pairs` of those `available`, its best dev mean and its tests at that epoch.

    Means are Pearson × 100; of every test set the cosines of its pairs (pairs,) are kept, too.
    """

    seed: int
    available: int
    pairs: int
    dev: float
    epoch: float = 0.0
    tests: Mapping[str, float] = field(default_factory=dict)
    similarities: Mapping[str, Sequence[float]] = field(default_factory=dict, repr=False)

    def record(self) -> dict[str, float]:
        """Return the record of the run for `provenance.json`."""
        return {name: getattr(self, name) for name in ("seed", "available", "pairs", "dev", "epoch")}

    @property
    def test(self) -> float | None:
        """The unweighted mean over the test sets."""
        return mean(self.tests.values()) if self.tests else None


@dataclass(frozen=True)
class ComparedCell:
    """A cell and a baseline of the same data, usually the random selection.

    Attributes:
        baseline: The runs of the baseline, one per seed.
        difference: Test mean minus the test mean of the baseline; None without test sets.
    """

    cell: Cell
    runs: Sequence[TuningRun]
    baseline: Sequence[TuningRun]
    difference: Difference | None = None

    @property
    def dev(self) -> float:
        """The mean dev score over the seeds."""
        return mean(run.dev for run in self.runs)

    @property
    def test(self) -> float | None:
        """The mean test score over the seeds."""
        return mean_test(self.runs)

    def record(self) -> dict[str, Any]:
        """Return the record of the cell for `provenance.json`."""
        return {
            **vars(self.cell),
            "dev": self.dev,
            "test": self.test,
            "test_baseline": mean_test(self.baseline),
            "difference": None if self.difference is None else self.difference.interval().record(),
            "pairs": [run.pairs for run in self.runs],
            "epochs": [run.epoch for run in self.runs],
        }


Runs = dict[Cell, list[TuningRun]]
"""The runs of every cell, one per seed."""


def mean_test(runs: Iterable[TuningRun]) -> float | None:
    """Compute the mean test score of runs; None without test sets."""
    scores = [run.test for run in runs if run.test is not None]
    return mean(scores) if scores else None


def choose_by_dev(grid: Runs) -> dict[tuple[str, str, str], Cell]:
    """Choose for every (encoder, filter, data set) the cell with the highest dev mean, the first of equal ones."""
    cells: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in grid:
        cells.setdefault((cell.encoder, cell.filter, cell.data), []).append(cell)
    return {key: max(group, key=lambda cell: mean(run.dev for run in grid[cell])) for key, group in cells.items()}


def compare_cells(
    cell: Cell,
    runs: Sequence[TuningRun],
    baseline: Sequence[TuningRun],
    scores: Mapping[str, NDArray[np.float64]],
    *,
    replicates: int = 1000,
) -> ComparedCell:
    """Compare a cell with another of the same data over seeds and the sentence pairs of the test sets.

    Runs of one seed belong together: they start from the same weights, and share as many training pairs as their
    selections allow. `scores` has for each test set the scores of its pairs by people (pairs,).
    """
    if not scores:
        return ComparedCell(cell, runs, baseline)
    means = bootstrap_means(
        [np.array([run.similarities[name] for run in (*runs, *baseline)]) for name in scores],
        list(scores.values()),
        replicates=replicates,
    )
    first, second = ({run.seed: run.test or 0.0 for run in side} for side in (runs, baseline))
    test_difference = difference(first, second, paired=True, pairs=(means[:, : len(runs)], means[:, len(runs) :]))
    return ComparedCell(cell, runs, baseline, test_difference)


def filters_table(
    compared: Mapping[tuple[str, str, str], ComparedCell], data: Sequence[str], encoders: Sequence[str], tested: bool
) -> str:
    """Format tables 6, 7 and 12: one row per filter, with the means of the chosen cells over the data sets.

    A filter that selects nothing from some data set is a mean over fewer of them than the random selection, and says
    so; its difference from random is over the same ones. The intervals are of 95 % for all of the table together.
    `compared` is by encoder, filter and data set.
    """
    filters = list(dict.fromkeys(name for _, name, _ in compared))
    header = ["filter"]
    for encoder in encoders:
        header += [f"{encoder}: dev"]
        header += [f"{encoder}: test", *(name.format(RANDOM) for name in _JUDGED)] if tested else []
    rows = []
    comparisons = len({(encoder, name) for encoder, name, _ in compared if name != RANDOM})
    for name in filters:
        covered = [item for item in data if (encoders[0], name, item) in compared]
        row = [name if len(covered) == len(data) else f"{name} ({len(covered)} of {len(data)} data sets)"]
        for encoder in encoders:
            items = [compared[encoder, name, item] for item in covered]
            row.append(number(mean(item.dev for item in items)))
            if tested:
                row.append(number(mean(item.test for item in items if item.test is not None)))
                differences = [item.difference for item in items if item.difference is not None and name != RANDOM]
                row += _judged(mean_difference(differences) if differences else None, comparisons)
        rows.append(row)
    return format_table(header, rows)


def cells_table(items: Collection[ComparedCell], tested: bool, against: str = RANDOM) -> str:
    """Format cells, each compared with the same other one: a row for each filter, data set and encoder."""
    header = ["filter", "data", "encoder", "range", "pairs", "epoch", "dev"]
    header += ["test", *(name.format(against) for name in _JUDGED)] if tested else []
    comparisons = sum(item.cell.filter != RANDOM for item in items)
    rows = []
    for item in items:
        cell, runs = item.cell, item.runs
        row = [cell.filter, cell.data, cell.encoder, cell.range or "–", f"{mean(run.pairs for run in runs):,.0f}"]
        row += [" ".join(f"{run.epoch:g}" for run in runs), spread([run.dev for run in runs])]
        if tested:
            row.append(spread([run.test for run in runs if run.test is not None]))
            row += _judged(None if cell.filter == RANDOM else item.difference, comparisons)
        rows.append(row)
    return format_table(header, rows)


def _judged(item: Difference | None, comparisons: int) -> list[str]:
    """Format a gain with its interval and its two verdicts."""
    if item is None:
        return [""] * len(_JUDGED)
    interval = item.interval(comparisons)
    return [interval.text(), interval.verdict("above"), interval.verdict("equivalent")]
