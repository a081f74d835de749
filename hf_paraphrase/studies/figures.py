"""Figures without a screen and without global state; matplotlib is an extra dependency."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import OutputError, UsageError

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Colours that people with a colour vision deficiency can distinguish (Okabe and Ito 2008)."""
_DOTS_PER_INCH = 130


def check_plots() -> None:
    """Check that figures can be made."""
    if find_spec("matplotlib") is None:
        raise UsageError("the plots need matplotlib", remedy="pip install 'hf-paraphrase[plots]'")


def new_figure(width: float, height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Any, Any]:
    """Make a figure of a size in inches with a grid of axes (rows, columns)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", alpha=0.25)
        axis.set_axisbelow(True)
    return figure, axes


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure as PNG; equal figures give equal bytes."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=_DOTS_PER_INCH, metadata={"Software": None})
    except OSError as error:
        raise OutputError(f"cannot write: {error.strerror or error}", path=path) from error


def save_plot(figure: Any, path: Path) -> None:
    """Write a figure as PNG and as SVG; equal figures give equal bytes."""
    import matplotlib

    # Without a salt the names of shapes in the SVG file are drawn at random.
    with matplotlib.rc_context({"svg.hashsalt": "hf_paraphrase"}), warnings.catch_warnings():
        # A script that the font lacks shows as boxes; the text itself is in the report.
        warnings.filterwarnings("ignore", message="Glyph")
        save_figure(figure, path)
        # The layout of the figure is computed once and serves for the second file: finding them takes the longest.
        figure.set_layout_engine(None)
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None, "Creator": None})


def plot_label(text: str, longest: int = 60) -> str:
    """Make a text fit for a plot: on one line, cut where it is too long, and not taken for a formula."""
    plain = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    if len(plain) > longest:
        plain = plain[: longest - 1].rstrip() + "…"
    # Legends leave out what begins with an underscore.
    return (" " if plain.startswith("_") else "") + plain.replace("$", "\\$")
