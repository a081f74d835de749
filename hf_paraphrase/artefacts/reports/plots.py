"""Plots of the results in a record, as SVG of a few kilobytes in the colours of the page.

* `log`: the log of a training (:func:`~hf_paraphrase.training.callbacks.log_of_steps`), of which the loss is drawn.
* `dev_scores`, or `epochs` as a list: entries with `epoch` or `step`, of which each other number is a curve.
* `dev_by_components`: a score by the number of components.
* `histograms`: by the name of a column its `edges`, and for each of its `splits` the number of rows in each bin.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

_WIDTH, _HEIGHT = 360, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 348, 10, 172
_MOST_POINTS = 400
_NEVER_DRAWN = frozenset({"epoch", "step", "averaged_checkpoints", "frozen_embeddings"})

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Plot:
    """A title, and a picture in which all text is escaped."""

    title: str
    svg: str


def recorded_plots(record: Mapping[str, Any]) -> list[Plot]:
    """Draws the results of a `provenance.json` that are listed above."""
    results = record.get("results", {})
    return [curve(title, across, points) for title, across, points in _recorded(results) if points]


def curve(title: str, across: str, points: Points) -> Plot:
    """Draws a line through points in their order; `across` names the first coordinate."""
    points = [*points[: -1 : math.ceil(len(points) / _MOST_POINTS)], points[-1]]
    x, y = np.asarray(points, dtype=float).T
    x_ticks, y_ticks = _ticks(x), _ticks(y)
    columns = np.interp(x, (x_ticks[0], x_ticks[-1]), (_LEFT, _RIGHT))
    rows = np.interp(y, (y_ticks[0], y_ticks[-1]), (_BOTTOM, _TOP))
    parts = [f'<path class="axis" d="M{_LEFT} {_BOTTOM}H{_RIGHT}"/>']
    for value, row in zip(y_ticks, np.linspace(_BOTTOM, _TOP, len(y_ticks)), strict=True):
        parts.append(f'<path class="grid" d="M{_LEFT} {row:.1f}H{_RIGHT}"/>')
        parts.append(f'<text class="end" x="{_LEFT - 5}" y="{row + 3.5:.1f}">{value:.4g}</text>')
    for value, column in zip(x_ticks, np.linspace(_LEFT, _RIGHT, len(x_ticks)), strict=True):
        parts.append(f'<path class="axis" d="M{column:.1f} {_BOTTOM}v4"/>')
        parts.append(f'<text class="middle" x="{column:.1f}" y="{_BOTTOM + 16}">{value:.4g}</text>')
    parts.append(f'<text class="middle" x="{(_LEFT + _RIGHT) / 2:g}" y="{_HEIGHT - 4}">{escape(across)}</text>')
    joined = " ".join(f"{column:.1f},{row:.1f}" for column, row in zip(columns, rows, strict=True))
    parts.append(f'<polyline class="line" points="{joined}"/>')
    if len(points) <= 60:
        parts += [
            f'<circle cx="{column:.1f}" cy="{row:.1f}" r="2.6"><title>{across_value:.4g}: {value:.4g}</title></circle>'
            for column, row, across_value, value in zip(columns, rows, x, y, strict=True)
        ]
    label = escape(f"{title}: from {y[0]:.4g} to {y[-1]:.4g}, lowest {y.min():.4g}, highest {y.max():.4g}")
    svg = f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>'
    return Plot(title, svg)


def _ticks(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Chooses about five round numbers, at equal distances, that enclose all values."""
    low, high = values.min(), values.max()
    if low == high:
        low, high = low - (abs(low) / 10 or 1.0), high + (abs(high) / 10 or 1.0)
    power = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor * 4 >= (high - low) * 0.999)
    return step * np.arange(math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9) + 1)


def _recorded(results: Mapping[str, Any]) -> Iterator[tuple[str, str, Points]]:
    """Yields title, name of the first coordinate and points of each plot."""
    log = results.get("log") or []
    yield "Loss in training", *_points(log, "loss")
    scores = results.get("dev_scores") or results.get("epochs")
    if not isinstance(scores, list):
        evaluations = [entry for entry in log if any(key.startswith("eval_") for key in entry)]
        scores = [{key.removeprefix("eval_"): entry[key] for key in entry} for entry in evaluations]
    # Resumed trainings record the numbers in another order.
    names = sorted({name for entry in scores for name in entry} - _NEVER_DRAWN, key=lambda name: (name.lower(), name))
    drawn: dict[tuple[tuple[float, float], ...], str] = {}
    for name in sorted(names, key=lambda name: name != "dev_mean"):
        across, points = _points(scores, name)
        # The mean of a single set is that set's score.
        if drawn.setdefault(tuple(points), name) == name:
            yield name.replace("_", " ").capitalize(), across, points
    sizes = results.get("dev_by_components") or {}
    yield "Dev score by components", "components", [(float(size), value) for size, value in sizes.items()]
    for column, item in (results.get("histograms") or {}).items():
        edges = np.asarray(item["edges"], dtype=float)
        counts = np.sum(list(item["splits"].values()), axis=0)
        shares = 100 * counts / max(1, counts.sum())
        yield f"{column} (% of the rows in each of {len(counts)} bins)", column, list(zip(edges, shares, strict=False))


def _points(entries: Sequence[Mapping[str, Any]], name: str) -> tuple[str, Points]:
    """Returns `epoch` or `step`, and the finite values of a name at each."""
    across = "epoch" if all("epoch" in entry for entry in entries) else "step"
    found: list[tuple[Any, Any]] = [(entry.get(across), entry.get(name)) for entry in entries]
    return across, [(x, y) for x, y in found if _is_number(x) and _is_number(y)]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
