"""The dev means of a grid, one panel a filter, beside those of the random selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

from ...evaluation.figures import COLOURS, new_figure, save_figure
from .tuning_choice import Cell, TuningRun
from .tuning_grids import RANDOM

_MARKERS = "osD^vP"
_PANELS_A_ROW = 2


def plot_grid(grid: Mapping[Cell, Sequence[TuningRun]], chosen: Sequence[Cell], path: Path) -> None:
    """Draws dev mean minus that of the random selection for every cell; chosen cells are ringed.

    Args:
        grid: The runs of every cell.
        chosen: The cells that the dev set chose.
        path: The PNG file.
    """
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
        for number, key in enumerate(series):
            cells = [cell for cell in grid if cell.filter == name and (cell.data, cell.encoder) == key]
            # Side by side, so that series do not hide one another.
            shift = (number - (len(series) - 1) / 2) * 0.5 / len(series)
            places = [ranges.index(cell.range) + shift for cell in cells]
            values = [mean(run.dev for run in grid[cell]) - baseline[key] for cell in cells]
            style = {"color": COLOURS[number % len(COLOURS)], "marker": _MARKERS[number % len(_MARKERS)]}
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
