"""The results of a grid of training runs: the range that the dev set chooses for each filter, and its test score.

Nothing here uses a test score before the choice is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

import numpy as np
from numpy.typing import NDArray

from ...evaluation.verdicts import Difference, bootstrap_means, difference, spread
from .grids import RANDOM

Scores = Mapping[str, NDArray[np.float64]]
"""For each test set the scores of its pairs by people (pairs,)."""


@dataclass(frozen=True)
class Cell:
    """One cell of a grid."""

    data: str
    encoder: str
    filter: str
    range: str

    @property
    def random(self) -> Cell:
        """The random selection of the same data, for the same encoder."""
        return Cell(self.data, self.encoder, RANDOM, "")


@dataclass(frozen=True, eq=False)
class TuningRun:
    """One trained encoder.

    Attributes:
        seed: Seed of the sample and of the training.
        pairs: How many pairs it was trained on.
        available: How many pairs the filter left to draw them from.
        dev: The best dev mean of any epoch, Pearson × 100.
        tests: For each test set Pearson × 100 at that epoch.
        similarities: For each test set the cosines of its pairs (pairs,); None where there are no test sets.
    """

    seed: int
    pairs: int
    available: int
    dev: float
    epoch: float
    untrained: float
    curve: tuple[float, ...]
    tests: Mapping[str, float]
    similarities: Mapping[str, NDArray[np.float64]] | None
    seconds: float

    @property
    def test(self) -> float | None:
        """The unweighted mean over the test sets."""
        return mean(self.tests.values()) if self.tests else None


@dataclass(frozen=True)
class ChosenCell:
    """A cell, as a rule what the dev set chose, beside another of the same data, as a rule the random selection.

    Attributes:
        baseline: The runs of the other, one a seed.
        difference: Test mean minus that of the other; None without test sets.
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

    @property
    def test_text(self) -> str:
        """The mean test score and its standard deviation over the seeds."""
        return spread([run.test for run in self.runs if run.test is not None])


def mean_test(runs: Sequence[TuningRun]) -> float | None:
    """Computes the mean test score of runs; None without test sets."""
    scores = [run.test for run in runs if run.test is not None]
    return mean(scores) if scores else None


def choose_by_dev(grid: Mapping[Cell, Sequence[TuningRun]]) -> dict[tuple[str, str, str], Cell]:
    """Chooses for every encoder, filter and data set the cell with the highest dev mean over its seeds.

    Returns:
        For each (encoder, filter, data set) its cell; of equal ones the first.
    """
    best: dict[tuple[str, str, str], tuple[float, Cell]] = {}
    for cell, runs in grid.items():
        key, score = (cell.encoder, cell.filter, cell.data), mean(run.dev for run in runs)
        if key not in best or score > best[key][0]:
            best[key] = score, cell
    return {key: cell for key, (_, cell) in best.items()}


def compare_cells(
    cell: Cell,
    runs: Sequence[TuningRun],
    baseline: Sequence[TuningRun],
    scores: Scores,
    *,
    replicates: int = 1000,
) -> ChosenCell:
    """Compares a cell with another of the same data over seeds and the sentence pairs of the test sets.

    Runs of one seed belong together: they start from the same weights, and share as many training pairs as their
    selections allow (:func:`~..best_rows.draw_shared`).
    """
    if not scores or any(run.similarities is None for run in (*runs, *baseline)):
        return ChosenCell(cell, runs, baseline)
    systems = [run.similarities or {} for run in (*runs, *baseline)]
    means = bootstrap_means(
        [np.stack([system[name] for system in systems]) for name in scores],
        [scores[name] for name in scores],
        replicates=replicates,
    )
    first, second = ({run.seed: run.test or 0.0 for run in side} for side in (runs, baseline))
    test_difference = difference(first, second, paired=True, pairs=(means[:, : len(runs)], means[:, len(runs) :]))
    return ChosenCell(cell, runs, baseline, test_difference)
