"""Precision-recall curves as tab-separated files and as a figure (paper 002, figure 1)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ...artefacts.folders import write_text_whole
from ...evaluation.figures import COLOURS, new_figure, save_plot
from .measures import Curve

_STYLES = ("-", "--", ":", "-.")


def file_stem(name: str) -> str:
    """Turns the name of a row into one for a file."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower().replace("×", "x")).strip("_")


def write_curve(path: Path, curve: Curve) -> None:
    """Writes a curve of at most a thousand points: threshold, precision, recall, F1 (0 to 1), found, right.

    Raises:
        OutputError: If the file cannot be written.
    """
    thin = curve.thinned()
    lines = ["threshold\tprecision\trecall\tf1\tfound\tright\n"]
    values = (thin.thresholds, thin.precision, thin.recall, thin.f1, thin.found, thin.right)
    for threshold, precision, recall, f1, found, right in zip(*(column.tolist() for column in values), strict=True):
        lines.append(f"{threshold:.9g}\t{precision:.6f}\t{recall:.6f}\t{f1:.6f}\t{found}\t{right}\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text_whole(path, "".join(lines))


def plot_curves(curves: Mapping[str, Curve], path: Path) -> None:
    """Draws precision over recall, in per cent, with a ring at the best F1 of each curve.

    Args:
        curves: The curves by their names.
        path: The PNG file; an SVG of the same name appears beside it.
    """
    figure, axes = new_figure(8.5, 6)
    axis = axes[0, 0]
    for number, (name, curve) in enumerate(curves.items()):
        thin = curve.thinned()
        colour = COLOURS[number % len(COLOURS)]
        style = _STYLES[number // len(COLOURS) % len(_STYLES)]
        axis.plot(100 * thin.recall, 100 * thin.precision, style, color=colour, linewidth=1.5, label=name)
        best = curve.best()
        axis.plot([100 * best.recall], [100 * best.precision], "o", color=colour, fillstyle="none", markersize=8)
    axis.set_xlim(0, 100)
    axis.set_ylim(0, 101)
    axis.set_xlabel("recall (%)")
    axis.set_ylabel("precision (%)")
    figure.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=8)
    save_plot(figure, path)
