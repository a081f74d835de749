"""Format the tables, verdicts and pictures of studies: means over seeds, differences with intervals, and claims.

    python scripts/studies/study_tables.py --tables WORK/avg/table.md WORK/gran/table.md --output FILE.png
    python scripts/studies/study_tables.py --curves WORK --output FILE.png

The first command draws the gain of each filter over random pairs, from the tables of `tune`. The second draws figure 1
of Grégoire & Langlais (2017): mean precision over recall of the reports in WORK/seed_*, with minimum and maximum.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hf_paraphrase.errors import UsageError
from hf_paraphrase.studies.report import COLOURS, new_figure, plot_label, save_figure
from hf_paraphrase.tables import format_table
from hf_paraphrase.training.verdicts import Interval, difference, spread

NOTHING = "nothing"
"""In place of the second cell of a claim: the first cell is compared with 0."""
RELATIONS = ("above", "below", "equivalent")
CLASSIFIERS = {
    "random": "random negatives, digits kept",
    "zero": "the same, digits made 0",
    "remove": "the same, digits removed",
    "hard": "negatives from the n-best lists",
}
GROUPS = {"random_pairs": "among random pairs", "candidates": "on the candidates of the filter"}
RECALLS = np.linspace(0, 100, 201)
_SIGNS = (1, -1, -1, 1)
_INTERVAL = re.compile(r"([+-]\d+\.\d+) \[([+-]\d+\.\d+), ([+-]\d+\.\d+)\]")


@dataclass(frozen=True)
class Cell:
    """A model and its training data."""

    model: str
    data: str

    @classmethod
    def read(cls, text: str) -> Cell:
        """Parse `MODEL: DATA`."""
        model, colon, data = text.partition(": ")
        if not colon:
            raise UsageError(f"`{text}` is not a cell", remedy="write MODEL: DATA, e.g. gran: back 24000")
        return cls(model, data)

    def __str__(self) -> str:
        return f"{self.model}: {self.data}"


@dataclass(frozen=True)
class Claim:
    """A claim about the difference of two cells, or about the difference of two differences, in some columns."""

    text: str
    cells: tuple[Cell, ...]
    relation: str
    columns: tuple[str, ...] = ()

    @classmethod
    def read(cls, row: Sequence[str], columns: Sequence[str]) -> Claim:
        """Parse `[text, cell, relation, cell]`, with two optional cells and an optional column at the end."""
        known = len(row) >= 4 and row[2] in RELATIONS
        only = tuple(row[-1:]) if known and row[-1] in columns else ()
        cells = [row[1], *row[3 : len(row) - len(only)]] if known else []
        cells = [text for text in cells if text != NOTHING]
        if len(cells) not in (1, 2, 4):
            raise UsageError(f"`{row}` is not a claim", remedy=f"give a text, a cell, one of {RELATIONS}, and a cell")
        return cls(row[0], tuple(map(Cell.read, cells)), row[2], only)


@dataclass(frozen=True)
class Measured:
    """A measure of a cell.

    Attributes:
        values: The value of each seed; an existing encoder has a single value.
        drawn: The values in bootstrap replicates of the test rows (replicates, seeds); None if there are no rows.
        trained: Whether the interval covers the seeds.
    """

    values: dict[int, float]
    drawn: NDArray[np.float64] | None = field(default=None, repr=False)
    trained: bool = True


Column = Mapping[Cell, Measured]


def cells_table(columns: Mapping[str, Column]) -> str:
    """Format one row per cell: mean and standard deviation over the seeds."""
    cells = dict.fromkeys(cell for column in columns.values() for cell in column)
    rows = []
    for cell in cells:
        found = [column.get(cell, Measured({})) for column in columns.values()]
        seeds = max(len(item.values) for item in found)
        rows.append([str(cell), str(seeds), *(spread(list(item.values.values())) for item in found)])
    return format_table(["encoder: trained on", "seeds", *columns], rows)


def judge(claims: Sequence[Claim], columns: Mapping[str, Column]) -> dict[Claim, dict[str, Interval]]:
    """Compute simultaneous confidence intervals for all claims and columns."""
    about = {claim: claim.columns or tuple(columns) for claim in claims}
    comparisons = sum(map(len, about.values()))
    return {
        claim: {name: contrast(claim.cells, columns[name], comparisons) for name in names}
        for claim, names in about.items()
    }


def contrast(cells: Sequence[Cell], column: Column, comparisons: int) -> Interval:
    """Compute the interval of a difference: of two cells, of one cell from 0, or of two differences."""
    sides = [column[cell] for cell in cells]
    if len(sides) == 2:
        values = [side.values if side.trained else next(iter(side.values.values())) for side in sides]
        drawn = (sides[0].drawn, sides[1].drawn)
        pairs = None if drawn[0] is None or drawn[1] is None else (drawn[0], drawn[1])
        # Runs of equal seeds share draws of pairs or initial weights.
        shared = cells[0].model == cells[1].model or cells[0].data == cells[1].data
        paired = shared and all(side.trained for side in sides)
        return difference(values[0], values[1], paired=paired, pairs=pairs).interval(comparisons)
    seeds = [seed for seed in sides[0].values if all(seed in side.values for side in sides)]
    signed = list(zip(_SIGNS, sides, strict=False))
    sums = {seed: sum(sign * side.values[seed] for sign, side in signed) for seed in seeds}
    columns = [[list(side.values).index(seed) for seed in seeds] for side in sides]
    pairs = None
    if all(side.drawn is not None for side in sides):
        rows = [np.asarray(side.drawn)[:, taken] for side, taken in zip(sides, columns, strict=True)]
        total = np.sum([sign * side for sign, side in zip(_SIGNS, rows, strict=False)], axis=0)
        pairs = (total, np.zeros_like(total))
    return difference(sums, dict.fromkeys(seeds, 0.0), paired=True, pairs=pairs).interval(comparisons)


def claims_table(judged: Mapping[Claim, Mapping[str, Interval]], columns: Sequence[str]) -> str:
    """Format one row per claim: difference, interval and verdict in each column."""
    rows = []
    for claim, found in judged.items():
        cells = {name: f"{item.text()}: {item.verdict(claim.relation)}" for name, item in found.items()}  # type: ignore[arg-type]
        rows.append([claim.text, *(cells.get(name, "–") for name in columns)])
    return format_table(["claim", *columns], rows)


def draw_intervals(
    path: Path, rows: Sequence[tuple[str, Mapping[str, Interval]]], columns: Sequence[str], unit: str
) -> None:
    """Draw the intervals, one row per claim."""
    height = 0.1 + 0.1 * len(columns)
    figure, axes = new_figure(9.0, 0.9 + height * len(rows))
    axis = axes[0, 0]
    axis.axvline(0, color="0.3", linewidth=1)
    for place, column in enumerate(columns):
        colour, marker = COLOURS[place % len(COLOURS)], "oD"[place // len(COLOURS) % 2]
        # Spread around the middle of the row, so that no interval hides another.
        shift = (place - (len(columns) - 1) / 2) * 0.1 / height
        found = {row + shift: shown[column] for row, (_, shown) in enumerate(rows) if column in shown}
        ends = np.array([(item.value - item.low, item.high - item.value) for item in found.values()]).reshape(-1, 2).T
        values, style = [item.value for item in found.values()], {"color": colour, "markerfacecolor": "white"}
        ends = np.where(np.isfinite(ends), ends, 0)
        axis.errorbar(values, list(found), xerr=ends, fmt=marker, markersize=5, label=plot_label(column), **style)
    axis.set_yticks(range(len(rows)), [plot_label(text, 90) for text, _ in rows], fontsize=8)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set_xlabel(unit)
    axis.grid(axis="y", visible=False)
    axis.grid(axis="x", alpha=0.25)
    # Above the rows, so that it hides no interval.
    axis.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=len(columns), fontsize=8)
    save_figure(figure, path)


def gains(table: str) -> dict[str, Interval]:
    """Read from a `table.md` of `tune` the difference of each filter from random pairs, in points."""
    found = {}
    for line in table.split("\n\n")[0].splitlines():
        if numbers := _INTERVAL.search(line):
            found[line.split("|")[1].strip()] = Interval(*map(float, numbers.groups()))
    return found


def precision_at(path: Path) -> NDArray[np.float64]:
    """Read a curve of `evaluate-mining`: the best precision in per cent from each of `RECALLS` on (recalls,)."""
    curve = np.genfromtxt(path, names=True, delimiter="\t")
    recall, precision = 100 * np.atleast_1d(curve["recall"]), 100 * np.atleast_1d(curve["precision"])
    order = np.argsort(recall, kind="stable")
    best_from = np.maximum.accumulate(precision[order][::-1])[::-1]
    return np.append(best_from, 0.0)[np.searchsorted(recall[order], RECALLS)]


def draw_curves(work: Path, path: Path) -> None:
    """Draw one panel per kind of pairs and one colour per classifier."""
    curves = sorted(work.glob("seed_*/report/curves"))
    figure, axes = new_figure(9.0, 3.8, columns=len(GROUPS))
    for axis, (group, title) in zip(axes[0], GROUPS.items(), strict=True):
        for colour, (name, what) in zip(COLOURS, CLASSIFIERS.items(), strict=False):
            seeds = np.stack([precision_at(folder / group / f"{name}.tsv") for folder in curves])
            axis.fill_between(RECALLS, seeds.min(axis=0), seeds.max(axis=0), color=colour, alpha=0.2, linewidth=0)
            axis.plot(RECALLS, seeds.mean(axis=0), color=colour, label=what if axis is axes[0, 0] else None)
        axis.set(title=title, xlabel="recall (%)", xlim=(0, 100), ylim=(0, 101))
    axes[0, 0].set_ylabel("precision (%)")
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    save_figure(figure, path)


def main() -> None:
    """Draw the picture of the filters, or of mining."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--tables", nargs="+", type=Path, help="NAME/table.md; NAME is the encoder")
    what.add_argument("--curves", type=Path, metavar="WORK", help="the folder of the study of mining")
    parser.add_argument("--output", type=Path, required=True, help="PNG file")
    options = parser.parse_args()
    if options.curves:
        draw_curves(options.curves, options.output)
        return
    encoders = {path.parent.name: gains(path.read_text(encoding="utf-8")) for path in options.tables}
    shared = [name for name in next(iter(encoders.values())) if all(name in found for found in encoders.values())]
    rows = [(name, {encoder: found[name] for encoder, found in encoders.items()}) for name in shared]
    draw_intervals(options.output, rows, list(encoders), "difference from random pairs, points")


if __name__ == "__main__":
    main()
