"""Charts of SVG, drawn without any library: maps of points that zoom, and histograms.

The page's own script zooms the maps and names their points; without it they are still pictures. Every text of others
is escaped here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .pictures import escaped

_WIDTH, _HEIGHT = 720, 480
_MARGIN = 24
_BAR_WIDTH, _BAR_HEIGHT = 300, 110


@dataclass(frozen=True)
class MapPoints:
    """Points of one kind.

    Attributes:
        kind: `sentence`, `neighbour` or `query`.
        places: Where they are (points, 2).
    """

    kind: str
    places: NDArray[np.float64]
    texts: Sequence[str]


def point_map(layers: Sequence[MapPoints], caption: str) -> str:
    """Draws points that can be zoomed and that show their text."""
    everything = np.concatenate([layer.places for layer in layers])
    low, high = everything.min(0), everything.max(0)
    span = np.where(high > low, high - low, 1.0)
    # One scale for both axes, so that distances can be compared.
    scale = float(min((_WIDTH - 2 * _MARGIN) / span[0], (_HEIGHT - 2 * _MARGIN) / span[1]))
    centre = (low + high) / 2
    drawn = []
    for layer in layers:
        places = (layer.places - centre) * scale * [1, -1] + [_WIDTH / 2, _HEIGHT / 2]
        # A line of no length with a round end is a dot whose size zooming does not change.
        dots = [
            f'<path d="M{x:.1f} {y:.1f}h0" data-hfp-text="{escaped(text)}"/>'
            for (x, y), text in zip(places.tolist(), layer.texts, strict=True)
        ]
        drawn.append(f'<g class="hfp-{layer.kind}">{"".join(dots)}</g>')
    return (
        '<figure class="hfp-mapbox"><div class="hfp-zoom">'
        '<button type="button" data-hfp-zoom="0.6" aria-label="Zoom in">+</button>'
        '<button type="button" data-hfp-zoom="1.7" aria-label="Zoom out">−</button>'
        '<button type="button" data-hfp-zoom="0" aria-label="Whole map">⤢</button></div>'
        f'<svg class="hfp-chart hfp-map" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="map of the sentences">'
        f"{''.join(drawn)}</svg><figcaption>{escaped(caption)}; scroll to zoom, drag to move, point to read"
        "</figcaption></figure>"
    )


def histogram(counts: NDArray[np.int64], edges: NDArray[np.float64], kept: NDArray[np.int64], title: str) -> str:
    """Draws a histogram whose bars show how much of each a filter keeps.

    Args:
        counts: Pairs in each bin (bins,).
        edges: Where the bins begin and end (bins + 1,).
        kept: Those of them that are kept (bins,).
        title: What is counted.
    """
    most = max(1, int(counts.max(initial=0)))
    width = _BAR_WIDTH / max(1, len(counts))
    whole = bool((np.diff(edges) == 1).all() and edges[0] % 1 == 0.5)
    ends = (edges[0] + 0.5, edges[-1] - 0.5) if whole else (edges[0], edges[-1])
    bars = []
    for place, (count, left) in enumerate(zip(counts.tolist(), kept.tolist(), strict=True)):
        first, last = edges[place], edges[place + 1]
        # The bar of a whole number ends half a number to its left and right.
        where = _short((first + last) / 2) if whole else f"{_short(first)} to {_short(last)}"
        tip = f"{where}: {left:,} of {count:,} kept"
        x, inner = place * width + 0.5, max(width - 1, 0.5)
        parts = [
            f'<rect class="hfp-{kind}" x="{x:.1f}" y="{_BAR_HEIGHT - height:.1f}" width="{inner:.1f}" '
            f'height="{height:.1f}"/>'
            for kind, height in (("dropped", _height(count, most)), ("kept", _height(left, most)))
        ]
        frame = f'<rect class="hfp-whole" x="{x:.1f}" y="0" width="{inner:.1f}" height="{_BAR_HEIGHT}"/>'
        bars.append(f'<g data-hfp-text="{escaped(tip)}">{frame}{"".join(parts)}</g>')
    below = _BAR_HEIGHT + 15
    return (
        f'<figure class="hfp-bars"><figcaption>{escaped(title)}</figcaption>'
        f'<svg class="hfp-chart" viewBox="0 0 {_BAR_WIDTH} {_BAR_HEIGHT + 18}" role="img" '
        f'aria-label="{escaped(f"histogram of {title}")}">{"".join(bars)}'
        f'<text x="0" y="{below}">{_short(ends[0])}</text>'
        f'<text x="{_BAR_WIDTH}" y="{below}" text-anchor="end">{_short(ends[1])}</text></svg></figure>'
    )


def _height(count: int, most: int) -> float:
    """Returns the height of a bar; what is there at all can be seen."""
    return max(1.0, _BAR_HEIGHT * count / most) if count else 0.0


def _short(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.4g}".replace("-", "−")
