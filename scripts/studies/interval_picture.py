"""Draws intervals below each other, a row a claim, so that a reader sees at once which of them leave 0 out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_paraphrase.evaluation.figures import COLOURS, new_figure, plot_label, save_figure
from hf_paraphrase.evaluation.verdicts import Interval

_LONGEST = 90
_INCHES_A_ROW, _INCHES_AN_INTERVAL, _INCHES_ROUND_THEM, _WIDTH = 0.1, 0.1, 0.9, 9.0
_MARKERS = "oD"
"""A second series of colours has other points."""


def draw_intervals(
    path: Path, rows: Sequence[tuple[str, Sequence[Interval]]], columns: Sequence[str], unit: str
) -> None:
    """Draws a point with its interval for each row and column; those that leave 0 out are filled."""
    row_inches = _INCHES_A_ROW + _INCHES_AN_INTERVAL * len(columns)
    figure, axes = new_figure(_WIDTH, _INCHES_ROUND_THEM + row_inches * len(rows))
    axis = axes[0, 0]
    axis.axvline(0, color="0.3", linewidth=1)
    for place, column in enumerate(columns):
        colour, marker = COLOURS[place % len(COLOURS)], _MARKERS[place // len(COLOURS) % len(_MARKERS)]
        # Around the middle of the row, so that no interval hides another.
        shift = (place - (len(columns) - 1) / 2) * _INCHES_AN_INTERVAL / row_inches
        axis.plot([], [], f"{marker}-", color=colour, label=plot_label(column))
        for row, (_, intervals) in enumerate(rows):
            found = intervals[place]
            without_zero = found.low > 0 or found.high < 0
            if found.high < float("inf"):
                axis.plot([found.low, found.high], [row + shift] * 2, color=colour, linewidth=1.5)
            axis.plot(
                found.value,
                row + shift,
                marker,
                color=colour,
                markersize=5,
                markerfacecolor=colour if without_zero else "white",
            )
    axis.set_yticks(range(len(rows)), [plot_label(text, _LONGEST) for text, _ in rows], fontsize=8)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set_xlabel(unit)
    axis.grid(axis="y", visible=False)
    axis.grid(axis="x", alpha=0.25)
    # Above the rows, where no interval can be.
    axis.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=len(columns), fontsize=8)
    save_figure(figure, path)
