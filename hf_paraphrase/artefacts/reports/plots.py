"""Plots as SVG of a few kilobytes: curves, histograms and bars, each with its numbers and a text in its place.

The colours are those of the page (`report.html`), so that a plot is light or dark as the page is; equal numbers give
equal bytes. A library for plots would take a second to import, and is no requirement of this package.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

COLOURS = 6
"""How many series the page has colours for; further ones are in the numbers only."""
_WIDTH, _HEIGHT = 360.0, 210.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 12.0, 10.0, 38.0
_MOST_POINTS = 400
_MOST_BARS = 120
_BAR = 11.0
_LABEL = 150.0
_LONGEST_LABEL = 27

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Plot:
    """A plot.

    Attributes:
        title: What it shows.
        svg: The picture, as markup in which all that is anyone's text is escaped.
        legend: The names of the series in the order of their colours; empty where there is one.
        header: The columns of the numbers.
        rows: The numbers.
    """

    title: str
    svg: str
    legend: tuple[str, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def curves(title: str, across: str, series: Mapping[str, Points]) -> Plot | None:
    """Draws lines through points.

    Args:
        title: What the plot shows.
        across: What the first coordinate is.
        series: By name the points, in the order in which they are joined; those that are no numbers are left out.

    Returns:
        The plot; None if there is no point.
    """
    known = {
        name: _thinned([(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y)])
        for name, points in series.items()
    }
    known = {name: points for name, points in known.items() if points}
    if not known:
        return None
    every = [point for points in known.values() for point in points]
    frame = _Frame(_span([x for x, _ in every]), _span([y for _, y in every]))
    parts = [frame.axes(across)]
    for place, points in enumerate(list(known.values())[:COLOURS]):
        joined = " ".join(f"{_short(frame.x(x))},{_short(frame.y(y))}" for x, y in points)
        parts.append(f'<polyline class="line s{place}" points="{joined}"/>')
        if len(points) <= 60:
            parts += [
                f'<circle class="s{place}" cx="{_short(frame.x(x))}" cy="{_short(frame.y(y))}" r="2.6">'
                f"<title>{escape(across)} {number(x)}: {number(y)}</title></circle>"
                for x, y in points
            ]
    text = "; ".join(_course(name if len(known) > 1 else title, across, points) for name, points in known.items())
    places = sorted({x for points in known.values() for x, _ in points})
    values = [dict(points) for points in known.values()]
    rows = [(number(x), *(number(each[x]) if x in each else "–" for each in values)) for x in places]
    return _plot(title, parts, text, tuple(known), (across, *known), rows)


def histogram(title: str, edges: Sequence[float], series: Mapping[str, Sequence[int]]) -> Plot | None:
    """Draws the shares of rows in bins.

    Args:
        title: What is counted.
        edges: The ends of the bins, one more than there are bins; the outer bins hold what lies beyond them too.
        series: By name the number of rows in each bin.

    Returns:
        The plot; None if nothing is counted.
    """
    known = {name: counts for name, counts in series.items() if sum(counts) and len(counts) == len(edges) - 1}
    if not known:
        return None
    shares = {name: [100 * count / sum(counts) for count in counts] for name, counts in known.items()}
    frame = _Frame((edges[0], edges[-1]), (0.0, max(map(max, shares.values()))), "%")
    parts = [frame.axes("")]
    for place, values in enumerate(list(shares.values())[:COLOURS]):
        steps = [f"M{_short(frame.x(edges[0]))} {_short(frame.y(0))}"]
        for left, right, value in zip(edges, edges[1:], values, strict=False):
            height = _short(frame.y(value))
            steps.append(f"L{_short(frame.x(left))} {height} L{_short(frame.x(right))} {height}")
        steps.append(f"L{_short(frame.x(edges[-1]))} {_short(frame.y(0))}Z")
        parts.append(f'<path class="area s{place}" d="{" ".join(steps)}"/>')
    bins = [f"{number(left)} to {number(right)}" for left, right in pairwise(edges)]
    if len(bins) > 1:
        bins[0], bins[-1] = f"up to {number(edges[1])}", f"{number(edges[-2])} and more"
    highest = [
        f"{name}: most rows ({max(values):.0f} %) lie at {bins[values.index(max(values))]}"
        for name, values in shares.items()
    ]
    rows = [(text, *(f"{counts[place]:,}" for counts in known.values())) for place, text in enumerate(bins)]
    return _plot(title, parts, "; ".join(highest), tuple(known), (title, *known), rows, height=_HEIGHT - 16)


def bars(title: str, what: str, labels: Sequence[str], series: Mapping[str, Sequence[float | None]]) -> Plot | None:
    """Draws horizontal bars, in groups where there are several series.

    Args:
        title: What the plot shows.
        what: What a label names.
        labels: A name for each group.
        series: By name a length for each group; None where there is none.

    Returns:
        The plot; None if there is no bar, or more than can be looked at.
    """
    drawn = dict(list(series.items())[:COLOURS])
    values = [value for column in drawn.values() for value in column if value is not None and math.isfinite(value)]
    if not values or len(values) > _MOST_BARS:
        return None
    low, high = min(0.0, *values), max(0.0, *values)
    room = _WIDTH - _LABEL - 44
    scale = room / ((high - low) or 1.0)
    zero = _LABEL - low * scale
    parts, top = [], 4.0
    for place, label in enumerate(labels):
        middle = top + len(drawn) * _BAR / 2 + 3.5
        shown = label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"
        parts.append(
            f'<text class="end label" x="{_short(_LABEL - 6)}" y="{_short(middle)}">{escape(shown)}'
            f"<title>{escape(label)}</title></text>"
        )
        for colour, column in enumerate(drawn.values()):
            value = column[place]
            if value is not None and math.isfinite(value):
                left, width = zero + min(0.0, value) * scale, abs(value) * scale
                parts.append(
                    f'<rect class="s{colour}" x="{_short(left)}" y="{_short(top + 1)}" width="{_short(width)}" '
                    f'height="{_short(_BAR - 2)}"/>'
                    f'<text class="small" x="{_short(left + width + 3)}" y="{_short(top + _BAR - 2)}">{number(value)}'
                    "</text>"
                )
            top += _BAR
        top += 6
    parts.append(f'<path class="axis" d="M{_short(zero)} 0V{_short(top)}"/>')
    text = "; ".join(
        f"{label}: " + ", ".join(f"{name} {number(column[place])}" for name, column in drawn.items())
        for place, label in enumerate(labels)
    )
    rows = [(label, *(number(column[place]) for column in series.values())) for place, label in enumerate(labels)]
    return _plot(title, parts, text, tuple(series), (what, *series), rows, height=top + 4)


def number(value: float | None) -> str:
    """Writes a number with four significant digits; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    if abs(value) >= 10_000:
        return f"{value:,.0f}" if abs(value) < 1e12 else f"{value:.3g}"
    return f"{value:.4g}"


class _Frame:
    """Axes: where in the picture a point lies."""

    def __init__(self, across: tuple[float, float], up: tuple[float, float], unit: str = "") -> None:
        self.unit = unit
        self.ticks_up = _ticks(*up)
        self.ticks_across = _ticks(*across)
        self.left, self.right = across
        self.low, self.high = min(up[0], self.ticks_up[0]), max(up[1], self.ticks_up[-1])

    def x(self, value: float) -> float:
        share = (value - self.left) / ((self.right - self.left) or 1.0)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

    def axes(self, name: str) -> str:
        parts, floor = [], _HEIGHT - _BOTTOM
        for value in self.ticks_up:
            height = self.y(value)
            parts.append(f'<path class="grid" d="M{_LEFT:g} {_short(height)}H{_WIDTH - _RIGHT:g}"/>')
            text = f"{number(value)}{' ' if self.unit else ''}{self.unit}"
            parts.append(f'<text class="end" x="{_LEFT - 5:g}" y="{_short(height + 3.5)}">{text}</text>')
        for value in self.ticks_across:
            if self.left <= value <= self.right:
                place = _short(self.x(value))
                parts.append(f'<path class="axis" d="M{place} {floor:g}v4"/>')
                parts.append(f'<text class="middle" x="{place}" y="{floor + 16:g}">{number(value)}</text>')
        middle = (_LEFT + _WIDTH - _RIGHT) / 2
        parts.append(f'<path class="axis" d="M{_LEFT:g} {floor:g}H{_WIDTH - _RIGHT:g}"/>')
        if name:
            parts.append(f'<text class="middle" x="{middle:g}" y="{_HEIGHT - 4:g}">{escape(name)}</text>')
        return "".join(parts)


def _plot(
    title: str,
    parts: Sequence[str],
    text: str,
    names: tuple[str, ...],
    header: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    *,
    height: float = _HEIGHT,
) -> Plot:
    label = escape(f"{title}. {text}" if text else title)
    svg = f'<svg viewBox="0 0 {_WIDTH:g} {_short(height)}" role="img" aria-label="{label}">{"".join(parts)}</svg>'
    return Plot(title, svg, names[:COLOURS] if len(names) > 1 else (), header, tuple(rows))


def _course(name: str, across: str, points: Points) -> str:
    """Says in words how a curve goes."""
    (first, begin), (last, end) = points[0], points[-1]
    if len(points) == 1:
        return f"{name}: {number(begin)} at {across} {number(first)}"
    low, high = (choose(points, key=lambda point: point[1]) for choose in _EXTREMES)
    return (
        f"{name}: from {number(begin)} at {across} {number(first)} to {number(end)} at {number(last)}, "
        f"lowest {number(low[1])} at {number(low[0])}, highest {number(high[1])} at {number(high[0])}"
    )


_EXTREMES: tuple[Callable[..., tuple[float, float]], ...] = (min, max)


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Keeps some of the points of a long curve, evenly, the last one among them."""
    every = -(-len(points) // _MOST_POINTS)
    return points if every <= 1 else [*points[:-1:every], points[-1]]


def _span(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    if low == high:
        around = abs(low) / 10 or 1.0
        return low - around, high + around
    return low, high


def _ticks(low: float, high: float) -> list[float]:
    """Chooses round numbers, about four steps, that enclose a span."""
    step = (high - low) / 4 or 1.0
    power = 10.0 ** math.floor(math.log10(step))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= step * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [place * step for place in range(first, max(last, first + 1) + 1)]


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
