"""Draws intervals below each other, a row a claim, so that a reader sees at once which of them lie beside 0."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_paraphrase.evaluation.figures import COLOURS, new_figure, plot_label, save_figure
from hf_paraphrase.evaluation.verdicts import Interval

_LONGEST = 90
_INCHES_A_ROW, _INCHES_ROUND_THEM, _WIDTH = 0.3, 0.9, 9.0


def draw_intervals(
    path: Path, rows: Sequence[tuple[str, Sequence[Interval]]], columns: Sequence[str], unit: str
) -> None:
    """Draws a point with its interval for each row and column; those that lie beside 0 are filled.

    Args:
        path: The PNG file.
        rows: A text and its intervals, one a column; an interval without ends is a point.
        columns: What the intervals of a row are of; for the legend.
        unit: What the axis is in.
    """
    figure, axes = new_figure(_WIDTH, _INCHES_ROUND_THEM + _INCHES_A_ROW * len(rows))
    axis = axes[0, 0]
    axis.axvline(0, color="0.3", linewidth=1)
    for place, (column, colour) in enumerate(zip(columns, COLOURS, strict=False)):
        # Around the middle of the row, so that no interval hides another.
        shift = (place - (len(columns) - 1) / 2) * 0.6 / len(columns)
        axis.plot([], [], "o-", color=colour, label=plot_label(column))
        for row, (_, intervals) in enumerate(rows):
            found = intervals[place]
            beside = found.low > 0 or found.high < 0
            if found.high < float("inf"):
                axis.plot([found.low, found.high], [row + shift] * 2, color=colour, linewidth=1.5)
            axis.plot(
                found.value,
                row + shift,
                "o",
                color=colour,
                markersize=5,
                markerfacecolor=colour if beside else "white",
            )
    axis.set_yticks(range(len(rows)), [plot_label(text, _LONGEST) for text, _ in rows], fontsize=8)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set_xlabel(unit)
    axis.grid(axis="y", visible=False)
    axis.grid(axis="x", alpha=0.25)
    # Above the rows, where no interval can be.
    axis.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=len(columns), fontsize=8)
    save_figure(figure, path)
