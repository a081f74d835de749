"""What `tune` shows of a grid of training runs: tables 5 to 7 and 12 of paper 000, every run as CSV, and a plot."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from statistics import mean

from ...evaluation.figures import COLOURS, new_figure, save_figure
from ...evaluation.verdicts import LITTLE, Difference, mean_difference, spread
from ...tables import format_table, number
from .choice import Cell, ChosenCell, TuningRun, mean_test
from .grids import RANDOM

_MARKERS = "osD^vP"
_PANELS_A_ROW = 2
_JUDGED = ["minus random [95 %]", "helps", f"within ± {LITTLE:g}"]

Grid = Mapping[Cell, Sequence[TuningRun]]
"""The runs of every cell."""

Compared = Mapping[tuple[str, str, str], ChosenCell]
"""For each (encoder, filter, data set) the cell that was chosen."""


def runs_csv(grid: Grid, chosen: Collection[Cell], test_all: bool) -> str:
    """Writes a row a run; without `test_all` with the test means of what was chosen and the random selection only."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = ("data", "encoder", "filter", "range", "seed", "available", "pairs", "untrained", "dev", "epoch", "test")
    writer.writerow([*names, "chosen", "seconds"])
    for cell, runs in grid.items():
        for run in runs:
            test = run.test if test_all or cell in chosen or cell.filter == RANDOM else None
            values = [run.untrained, run.dev, run.epoch, test]
            texts = ["" if value is None else f"{value:.3f}" for value in values]
            what = [cell.data, cell.encoder, cell.filter, cell.range, run.seed, run.available, run.pairs]
            writer.writerow([*what, *texts, int(cell in chosen), run.seconds])
    return text.getvalue()


def filters_table(compared: Compared, data: Sequence[str], encoders: Sequence[str], tested: bool) -> str:
    """Formats tables 6, 7 and 12: a row a filter, means over the data sets.

    A filter that selects nothing from some data set is a mean over fewer of them than the random selection, and says
    so; its difference from random is over the same ones. The intervals are of 95 % for all of the table together.
    """
    filters = list(dict.fromkeys(name for _, name, _ in compared))
    header = ["filter"]
    for encoder in encoders:
        header += [f"{encoder}: dev", *([f"{encoder}: test", *_JUDGED] if tested else [])]
    rows = []
    comparisons = len({(encoder, name) for encoder, name, _ in compared if name != RANDOM})
    for name in filters:
        covered = [item for item in data if any((encoder, name, item) in compared for encoder in encoders)]
        row = [name if len(covered) == len(data) else f"{name} ({len(covered)} of {len(data)} data sets)"]
        for encoder in encoders:
            items = [compared[encoder, name, item] for item in data if (encoder, name, item) in compared]
            row.append(number(mean(item.dev for item in items)) if items else "–")
            if tested:
                tests = [item.test for item in items if item.test is not None]
                differences = [item.difference for item in items if item.difference is not None and name != RANDOM]
                row += [number(mean(tests)) if tests else "–"]
                row += _judged(mean_difference(differences) if differences else None, comparisons)
        rows.append(row)
    return format_table(header, rows)


def cells_table(compared: Compared, tested: bool) -> str:
    """Formats what was chosen: a row for each filter, data set and encoder."""
    header = ["filter", "data", "encoder", "chosen range", "pairs", "epoch", "dev"]
    rows = []
    comparisons = sum(name != RANDOM for _, name, _ in compared)
    for (encoder, name, data), item in compared.items():
        row = [name, data, encoder, item.cell.range or "–", f"{mean(run.pairs for run in item.runs):,.0f}"]
        row += [" ".join(f"{run.epoch:g}" for run in item.runs), spread([run.dev for run in item.runs])]
        if tested:
            row += [item.test_text, *_judged(None if name == RANDOM else item.difference, comparisons)]
        rows.append(row)
    return format_table([*header, *(["test", *_JUDGED] if tested else [])], rows)


def _judged(difference: Difference | None, comparisons: int) -> list[str]:
    """Writes a gain with its interval, whether it is one, and whether it is next to nothing."""
    if difference is None:
        return [""] * len(_JUDGED)
    interval = difference.interval(comparisons)
    return [interval.text(), interval.verdict("above"), interval.verdict("little")]


def ranges_table(grid: Grid, compared: Compared, tested: bool) -> str:
    """Formats every cell: a row a range, the dev mean (and, for table 5, the test mean) of each data and encoder."""
    columns = list(dict.fromkeys((cell.data, cell.encoder) for cell in grid))
    header = ["filter", "range"]
    for data, encoder in columns:
        header += [f"{data} {encoder}: dev", *([f"{data} {encoder}: test"] if tested else [])]
    rows = []
    for name, label in dict.fromkeys((cell.filter, cell.range) for cell in grid):
        row = [name, label or "–"]
        for data, encoder in columns:
            cell = Cell(data, encoder, name, label)
            runs = grid.get(cell, [])
            chosen = runs and (encoder, name, data) in compared and compared[encoder, name, data].cell == cell
            row.append(spread([run.dev for run in runs]) + (" (chosen)" if chosen and name != RANDOM else ""))
            if tested:
                row.append(number(mean_test(runs)) if runs else "–")
        rows.append(row)
    return format_table(header, rows)


def bins_table(compared: Mapping[Cell, ChosenCell], ends: Mapping[tuple[str, str], ChosenCell]) -> str:
    """Formats table 5: a row for each data set and encoder, a column for each bin (dev mean, test mean, pairs)."""
    ranges = list(dict.fromkeys((cell.filter, cell.range) for cell in compared))
    comparisons = sum(cell.filter != RANDOM for cell in compared) + len(ends)
    rows = []
    for data, encoder in dict.fromkeys((cell.data, cell.encoder) for cell in compared):
        row = [data, encoder]
        for key in ranges:
            chosen_cell = compared.get(Cell(data, encoder, *key))
            row.append("–" if chosen_cell is None else _bin_text(chosen_cell, comparisons))
        end_difference = ends[data, encoder].difference if (data, encoder) in ends else None
        row.append("–" if end_difference is None else end_difference.interval(comparisons).text())
        rows.append(row)
    return format_table(["data", "encoder", *(label or name for name, label in ranges), "last minus first"], rows)


def _bin_text(item: ChosenCell, comparisons: int) -> str:
    versus_random = None if item.cell.filter == RANDOM else item.difference
    difference = "" if versus_random is None else f" ({versus_random.interval(comparisons).text()})"
    pairs = f"{mean(run.pairs for run in item.runs):,.0f}"
    return f"dev {item.dev:.1f}, test {number(item.test)}{difference}, {pairs} pairs"


def plot_grid(grid: Grid, chosen: Sequence[Cell], path: Path) -> None:
    """Draws dev mean minus that of the random selection for every cell; chosen cells are ringed."""
    series = list(dict.fromkeys((cell.data, cell.encoder) for cell in grid))
    filters = list(dict.fromkeys(cell.filter for cell in grid if cell.filter != RANDOM)) or [RANDOM]
    rows = -(-len(filters) // _PANELS_A_ROW)
    columns = min(_PANELS_A_ROW, len(filters))
    figure, axes = new_figure(7.5 * columns, 4.2 * rows, rows, columns)
    for axis in axes.flat[len(filters) :]:
        axis.set_visible(False)
    baseline = {
        (cell.data, cell.encoder): mean(run.dev for run in runs)
        for cell, runs in grid.items()
        if cell.filter == RANDOM
    }
    for name, axis in zip(filters, axes.flat, strict=False):
        ranges = list(dict.fromkeys(cell.range for cell in grid if cell.filter == name))
        for position, key in enumerate(series):
            cells = [cell for cell in grid if cell.filter == name and (cell.data, cell.encoder) == key]
            # Side by side, so that series do not hide one another.
            shift = (position - (len(series) - 1) / 2) * 0.5 / len(series)
            places = [ranges.index(cell.range) + shift for cell in cells]
            values = [mean(run.dev for run in grid[cell]) - baseline[key] for cell in cells]
            style = {"color": COLOURS[position % len(COLOURS)], "marker": _MARKERS[position % len(_MARKERS)]}
            axis.plot(places, values, linestyle="none", markersize=5, label=" · ".join(key), **style)
            ringed = [place for place, cell in zip(places, cells, strict=True) if cell in chosen]
            heights = [value for value, cell in zip(values, cells, strict=True) if cell in chosen]
            axis.plot(ringed, heights, linestyle="none", marker="o", markersize=12, fillstyle="none", color="black")
        axis.axhline(0, color="black", linewidth=1)
        axis.set_title(name)
        axis.set_xlim(-0.6, len(ranges) - 0.4)
        axis.set_xticks(range(len(ranges)), ranges, rotation=60, ha="right", rotation_mode="anchor", fontsize=8)
        axis.set_ylabel("dev mean − random selection\n(Pearson × 100)")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=min(4, len(labels)), frameon=False)
    save_figure(figure, path)
