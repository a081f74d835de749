"""The picture of `quality_speed.py`: quality against speed, with the size of each encoder as the area of its mark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hf_paraphrase.evaluation.figures import COLOURS, new_figure, plot_label, save_figure

Point = tuple[str, bool, float, float, int]
"""A name, whether it is one of this package, sentences a second, quality, and bytes on the disk."""
_LARGEST_AREA, _LEAST_AREA = 900.0, 18.0
"""Of a mark, in square points."""
_DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
_GAPS = (2, 10, 20, 35, 50)
"""Between a mark and its label, in points."""
_ALIGNED = {"ha": {-1: "right", 0: "center", 1: "left"}, "va": {-1: "top", 0: "center", 1: "bottom"}}


def draw_picture(points: Sequence[Point], column: str, path: Path) -> None:
    """Writes the picture as PNG."""
    names, ours, speeds, qualities, sizes = (list(part) for part in zip(*points, strict=True))
    figure, axes = new_figure(8.6, 5.2)
    axis = axes[0, 0]
    areas = np.maximum(_LARGEST_AREA * np.array(sizes) / max(sizes), _LEAST_AREA)
    colours = [COLOURS[0] if own else COLOURS[1] for own in ours]
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.set_xlabel("sentences a second, from text to vectors (logarithmic)")
    axis.set_ylabel(f"STS, {column}: Pearson's r × 100")
    axis.grid(axis="x", alpha=0.25)
    axis.scatter(speeds, qualities, s=areas, c=colours, alpha=0.75, linewidths=0, zorder=3)
    room = max(max(qualities) - min(qualities), 1.0)
    axis.set_ylim(min(qualities) - 0.14 * room, max(qualities) + 0.14 * room)
    axis.set_xlim(min(speeds) / 1.8, max(speeds) * 2.6)
    for colour, label in zip(COLOURS, ("this package", "others"), strict=False):
        axis.scatter([], [], s=60, c=colour, alpha=0.75, linewidths=0, label=label)
    axis.legend(loc="lower left", frameon=False, title="area: size on the disk", alignment="left")
    figure.draw_without_rendering()
    texts = [f"{plot_label(name)}\n{size_label(size)}" for name, size in zip(names, sizes, strict=True)]
    write_labels(axis, texts, list(zip(speeds, qualities, strict=True)), areas, colours)
    save_figure(figure, path)


def size_label(size: int) -> str:
    """Says how large an encoder is on the disk."""
    if size < 1e6:
        return f"{size / 1e3:.0f} kB"
    return f"{size / 1e6:.0f} MB" if size >= 1e7 else f"{size / 1e6:.1f} MB"


def write_labels(
    axis: Any, texts: Sequence[str], points: Sequence[tuple[float, float]], areas: Any, colours: Sequence[str]
) -> list[Any]:
    """Writes each label at the nearest place beside its mark where it covers no other label and no mark."""
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    scale = axis.figure.dpi / 72
    taken = [axis.get_legend().get_window_extent()]
    for place, area in zip(axis.transData.transform(points), areas, strict=True):
        radius = np.sqrt(area / np.pi) * scale
        taken.append(Bbox([place - radius, place + radius]))
    frame, written = axis.get_window_extent(), []
    for text, point, area, colour in zip(texts, points, areas, colours, strict=True):
        places = []
        for gap in _GAPS:
            for across, up in _DIRECTIONS:
                distance = np.sqrt(area / np.pi) * (0.7 if across and up else 1) + gap
                aligned = {
                    name: sides[side] for (name, sides), side in zip(_ALIGNED.items(), (across, up), strict=True)
                }
                offset = (across * distance, up * distance)
                places.append({"xytext": offset, **aligned})
        line = {"arrowstyle": "-", "color": colour, "linewidth": 0.7, "alpha": 0.6}
        for options in places:
            label = axis.annotate(
                text, point, **options, textcoords="offset points", fontsize=9, color=colour, arrowprops=line, zorder=4
            )
            box = label.get_window_extent()
            inside = frame.x0 < box.x0 and box.x1 < frame.x1 and frame.y0 < box.y0 and box.y1 < frame.y1
            # The extent of an annotation holds its line too, so that of the text alone counts.
            own = Text.get_window_extent(label)
            if (inside and not own.count_overlaps(taken)) or options is places[-1]:
                taken.append(own)
                written.append(label)
                break
            label.remove()
    return written
