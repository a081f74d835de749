"""`report.html`: the card as a page with plots of the results, without scripts and external files."""

from __future__ import annotations

import base64
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..messages import printable, without_secrets
from .card_metadata import split_card
from .files import atomic_write_text
from .provenance import REPORT, read_provenance

_KINDS = {".png": "image/png", ".svg": "image/svg+xml"}
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 348, 10, 172  # the frame of a plot, whose picture is 360 by 210
_MOST_POINTS = 400
_NEVER_DRAWN = frozenset({"epoch", "step", "averaged_checkpoints", "frozen_embeddings"})

Points = Sequence[tuple[float, float]]


def write_report(folder: str | os.PathLike[str], card: str) -> Path:
    """Write `report.html` of a folder from its record, its pictures and its card, whose first heading is the title."""
    import jinja2

    path, record = Path(folder) / REPORT, read_provenance(folder)
    title, body = _page(split_card(card)[1], Path(folder))
    command = record.get("command", "hf-paraphrase")
    options: dict[str, Any] = {"undefined": jinja2.StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
    environment = jinja2.Environment(autoescape=True, loader=jinja2.FileSystemLoader(Path(__file__).parent), **options)
    page = environment.get_template("report.html").render(
        title=title, body=body, command=command, plots=recorded_plots(record)
    )
    atomic_write_text(path, printable(without_secrets(page)).rstrip() + "\n")
    return path


def _page(markdown: str, pictures: Path) -> tuple[str, str]:
    from markdown_it import MarkdownIt

    # Tags are shown as text, and links to scripts are not made.
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(re.sub("^<!--.*-->$", "", markdown, flags=re.MULTILINE))
    for token in tokens:
        for part in token.children or []:
            if part.type == "image" and (content := _picture(pictures, str(part.attrs["src"]))):
                part.attrs["src"] = content
            elif part.type == "image":
                part.type, part.children = "text", None
    title = "Report"
    if tokens and tokens[0].tag == "h1":
        title = "".join(part.content for part in tokens[1].children or [])
        del tokens[:3]
    return title, parser.renderer.render(tokens, parser.options, {})


def _picture(folder: Path, name: str) -> str | None:
    path = (folder / name).resolve()
    if path.suffix not in _KINDS or folder.resolve() not in path.parents or not path.is_file():
        return None
    return f"data:{_KINDS[path.suffix]};base64,{base64.b64encode(path.read_bytes()).decode()}"


def recorded_plots(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Lay out the plots of the results in a `provenance.json` for `report.html`."""
    results = record.get("results", {})
    log = results.get("log") or []
    plots: list[tuple[str, str, Points]] = [("Loss in training", *_points(log, "loss"))]
    scores = results.get("dev_scores") or results.get("epochs")
    if not isinstance(scores, list):
        evaluations = [entry for entry in log if any(key.startswith("eval_") for key in entry)]
        scores = [{key.removeprefix("eval_"): entry[key] for key in entry} for entry in evaluations]
    # Resumed trainings record the scores in another order.
    names = sorted({name for entry in scores for name in entry} - _NEVER_DRAWN, key=lambda name: (name.lower(), name))
    plots += [(name.replace("_", " ").capitalize(), *_points(scores, name)) for name in names]
    return [curve(*plot) for plot in plots if plot[2]]


def curve(title: str, across: str, points: Points) -> dict[str, Any]:
    """Lay out a line through points in their order; `across` names the first coordinate."""
    points = [*points[: -1 : math.ceil(len(points) / _MOST_POINTS)], points[-1]]
    x, y = np.asarray(points, dtype=float).T
    x_ticks, y_ticks = _ticks(x), _ticks(y)
    columns = np.interp(x, (x_ticks[0], x_ticks[-1]), (_LEFT, _RIGHT))
    rows = np.interp(y, (y_ticks[0], y_ticks[-1]), (_BOTTOM, _TOP))
    return {
        "title": title,
        "across": across,
        "label": f"{title}: from {y[0]:.4g} to {y[-1]:.4g}, lowest {y.min():.4g}, highest {y.max():.4g}",
        "columns": list(zip(np.linspace(_LEFT, _RIGHT, len(x_ticks)), x_ticks, strict=True)),
        "rows": list(zip(np.linspace(_BOTTOM, _TOP, len(y_ticks)), y_ticks, strict=True)),
        "points": list(zip(columns, rows, x, y, strict=True)),
    }


def _ticks(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    low, high = values.min(), values.max()
    if low == high:
        low, high = low - (abs(low) / 10 or 1.0), high + (abs(high) / 10 or 1.0)
    power = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor * 4 >= (high - low) * 0.999)
    return step * np.arange(math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9) + 1)


def _points(entries: Sequence[Mapping[str, Any]], name: str) -> tuple[str, Points]:
    across = "epoch" if all("epoch" in entry for entry in entries) else "step"
    points: list[tuple[Any, Any]] = [(entry.get(across), entry.get(name)) for entry in entries]
    return across, [point for point in points if all(isinstance(x, int | float) and math.isfinite(x) for x in point)]
