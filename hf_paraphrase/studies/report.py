"""Reports of the command `analyze`: a folder with a card, tables as TSV files, numbers as JSON, and figures.

Figures need no screen and no global state; matplotlib is an extra dependency.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..artefacts.artefact import Artefact, Card
from ..artefacts.files import atomic_write_text, write_json
from ..errors import OutputError, missing_package
from ..messages import log
from ..settings import setting
from ..training.devices import DeviceSettings

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Colours that people with a colour vision deficiency can distinguish (Okabe and Ito 2008)."""
_DOTS_PER_INCH = 130


@dataclass(kw_only=True)
class ReportSettings(DeviceSettings):
    """The options of all reports."""

    output: str = setting("output folder; the report is its README.md")
    overwrite: bool = setting("replace an existing output folder", False)


@dataclass(frozen=True)
class Report:
    """A report that is being written."""

    artefact: Artefact
    name: str

    def picture(self, name: str) -> Path:
        """Return the path of a picture in the folder."""
        return self.artefact.staging / "plots" / f"{name}.png"

    def table(self, name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Write a TSV file: six digits of a float, and an empty field for None."""
        lines = ["\t".join(header), *("\t".join(map(_cell, row)) for row in rows)]
        atomic_write_text(self.artefact.staging / f"{name}.tsv", "\n".join(lines) + "\n")

    def finish(self, numbers: Mapping[str, Any], values: Mapping[str, Any], summary: str) -> None:
        """Write the numbers to `analysis.json`, the card from its values, and log a summary."""
        write_json(self.artefact.staging / "analysis.json", numbers)
        self.artefact.finish(results=numbers, card=Card(self.name, values, report=True))
        log(summary.rstrip())
        log(f"the report is {self.artefact.output}/README.md")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else " ".join(str(value).split())


@contextmanager
def report(
    kind: str, settings: ReportSettings, inputs: Iterable[str | None], *, card: str, draws: bool = False
) -> Iterator[Report]:
    """Open the output folder of `analyze KIND`; inputs that are None were not given, `card` is a template."""
    if draws and find_spec("matplotlib") is None:
        raise missing_package("matplotlib")
    given = [path for path in inputs if path is not None]
    with Artefact(settings.output, command=f"analyze {kind}", settings=settings, inputs=given) as artefact:
        yield Report(artefact, card)


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


def new_grid(panels: int, height: float, **options: Any) -> tuple[Any, Any]:
    """Make a figure with two panels per row, each `height` inches high; return it and the axes (panels,)."""
    columns = min(2, panels)
    rows = -(-panels // columns)
    figure, axes = new_figure(7.5 if columns == 1 else 12.0, 0.6 + height * rows, rows, columns, **options)
    for axis in axes.flat[panels:]:
        axis.set_visible(False)
    return figure, axes.flat[:panels]


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
    """Sanitize a text for a plot: one line of at most `longest` characters, without mathematical markup."""
    plain = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    if len(plain) > longest:
        plain = plain[: longest - 1].rstrip() + "…"
    # Legends leave out labels that begin with an underscore.
    return (" " if plain.startswith("_") else "") + plain.replace("$", "\\$")
