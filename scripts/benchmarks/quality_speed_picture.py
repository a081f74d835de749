"""The picture of `quality_speed.py`: quality against speed, with the size of each encoder as the area of its mark.

No label covers another or on a mark as long as there is room: each has places round its mark to choose among, and
chooses again until none gains by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hf_paraphrase.errors import UsageError
from hf_paraphrase.evaluation.figures import COLOURS, new_figure, plot_label, save_plot
from quality_speed_record import Record, Row

SUFFIXES = (".png", ".svg")
_INCHES = (8.6, 5.2)
_OURS, _PEERS = COLOURS[0], COLOURS[1]
_LARGEST_AREA, _LEAST_AREA = 900.0, 18.0
"""Of a mark, in square points."""
_DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
_ALIGNMENTS = {-1: "right", 0: "center", 1: "left"}
_GAPS = (3.0, 12.0, 24.0, 40.0, 60.0)
"""Between the edge of a mark and its label, in pixels."""
_LINE_FROM = 12.0
_PASSES = 20


@dataclass(frozen=True)
class Box:
    """A rectangle in pixels."""

    left: float
    bottom: float
    right: float
    top: float

    @classmethod
    def round_point(cls, x: float, y: float, half_width: float, half_height: float) -> Box:
        """Makes the box of which a point is the centre."""
        return cls(x - half_width, y - half_height, x + half_width, y + half_height)

    def common_area(self, other: Box) -> float:
        """Computes the area of the intersection."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.top, other.top) - max(self.bottom, other.bottom)
        return max(width, 0.0) * max(height, 0.0)

    @property
    def area(self) -> float:
        """Its area."""
        return (self.right - self.left) * (self.top - self.bottom)


@dataclass(frozen=True)
class Place:
    """A place for a label.

    Attributes:
        gap: Between it and the edge of its mark.
        across: On which side of the mark it is: −1 left, 0 above or below, 1 right.
    """

    box: Box
    gap: float
    across: int


def places_round(mark: Box, width: float, height: float) -> list[Place]:
    """Lists where a label of a size may stand round a mark, the nearest places first."""
    x, y = (mark.left + mark.right) / 2, (mark.bottom + mark.top) / 2
    radius = (mark.right - mark.left) / 2
    found = []
    for gap in _GAPS:
        for across, up in _DIRECTIONS:
            # The corner of a label may come nearer to a round mark than its sides.
            distance = (radius + gap) * (0.75 if across and up else 1.0)
            centre = x + across * (distance + width / 2), y + up * (distance + height / 2)
            found.append(Place(Box.round_point(*centre, width / 2, height / 2), gap, across))
    return found


def choose_places(choices: Sequence[Sequence[Place]], marks: Sequence[Box], frame: Box) -> list[Place]:
    """Chooses a place for each label so that they overlap one another and marks as little as possible."""
    chosen = [options[0] for options in choices]

    def cost(label: int, place: Place, preference: int) -> float:
        covered = sum(place.box.common_area(mark) for mark in marks)
        covered += sum(place.box.common_area(other.box) for at, other in enumerate(chosen) if at != label)
        outside = place.box.area - place.box.common_area(frame)
        return 10 * (covered + 2 * outside) + 20 * place.gap + preference

    for _ in range(_PASSES):
        before = list(chosen)
        for label, options in enumerate(choices):
            best = min(range(len(options)), key=lambda at: cost(label, options[at], at))
            chosen[label] = options[best]
        if chosen == before:
            break
    return chosen


def check_picture(path: Path) -> None:
    """Refuses a file of another kind."""
    if path.suffix not in SUFFIXES:
        raise UsageError(f"--plot {path} is neither PNG nor SVG", remedy="end its name in .png or .svg")


def draw_picture(record: Record, column: str | None, path: Path) -> None:
    """Writes the picture, as PNG and as SVG beside each other."""
    column = record.columns[0] if column is None else column
    rows = [row for row in record.rows if column in row.quality]
    if not rows:
        raise UsageError(f"no column `{column}`", remedy=f"--quality is one of {', '.join(record.columns)}")
    figure, axes = new_figure(*_INCHES)
    axis = axes[0, 0]
    speeds = np.array([row.sentences_per_second for row in rows])
    qualities = np.array([row.quality[column] for row in rows])
    areas = mark_areas(rows)
    colours = [_OURS if row.ours else _PEERS for row in rows]
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.set_xlabel("sentences a second, from text to vectors (logarithmic)")
    axis.set_ylabel(quality_label(column, rows))
    axis.grid(axis="x", alpha=0.25)
    axis.scatter(speeds, qualities, s=areas, c=colours, alpha=0.75, linewidths=0, zorder=3)
    low, high = qualities.min(), qualities.max()
    room = max(high - low, 1.0)
    axis.set_ylim(low - 0.14 * room, high + 0.14 * room)
    axis.set_xlim(speeds.min() / 1.8, speeds.max() * 2.6)
    for colour, label in ((_OURS, "this package"), (_PEERS, "others")):
        axis.scatter([], [], s=60, c=colour, alpha=0.75, linewidths=0, label=label)
    axis.legend(loc="lower left", frameon=False, title="area: size on the disk", alignment="left")
    _write_labels(figure, axis, rows, speeds, qualities, areas, colours)
    save_plot(figure, path.with_suffix(".png"))


def quality_label(column: str, rows: Sequence[Row]) -> str:
    """Says what is drawn upwards."""
    if column.endswith(" AP"):
        return f"{column.removesuffix(' AP')}: average precision × 100"
    if any(column in row.sets for row in rows) or "sets" in column or column.startswith("STS"):
        return f"STS, {column}: Pearson's r × 100"
    return f"{column}: accuracy, %"


def mark_areas(rows: Sequence[Row]) -> Any:
    """Computes the areas of the marks, in proportion to the sizes down to the least that can be seen."""
    sizes = np.array([row.size for row in rows], dtype=np.float64)
    return np.maximum(_LARGEST_AREA * sizes / max(sizes.max(), 1.0), _LEAST_AREA)


def size_label(row: Row) -> str:
    """Says how large an encoder is on the disk."""
    if row.megabytes < 1:
        return f"{row.size / 1e3:.0f} kB"
    return f"{row.megabytes:.0f} MB" if row.megabytes >= 10 else f"{row.megabytes:.1f} MB"


def _write_labels(
    figure: Any, axis: Any, rows: Sequence[Row], speeds: Any, qualities: Any, areas: Any, colours: Sequence[str]
) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    # The places are in pixels, so the axes must not move any more.
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    points = axis.transData.transform(np.column_stack([speeds, qualities]))
    radii = np.sqrt(areas / np.pi) * figure.dpi / 72
    marks = [Box.round_point(x, y, radius, radius) for (x, y), radius in zip(points, radii, strict=True)]
    texts = [
        axis.text(0, 0, f"{plot_label(row.name)}\n{size_label(row)}", fontsize=9, linespacing=1.1, zorder=4)
        for row in rows
    ]
    for text, colour in zip(texts, colours, strict=True):
        text.set(color=colour, transform=None, ha="center", va="center")
    extents = [text.get_window_extent(renderer) for text in texts]
    frame = axis.get_window_extent(renderer)
    taken = axis.get_legend().get_window_extent(renderer)
    choices = [places_round(mark, extent.width, extent.height) for mark, extent in zip(marks, extents, strict=True)]
    obstacles = [*marks, Box(taken.x0, taken.y0, taken.x1, taken.y1)]
    chosen = choose_places(choices, obstacles, Box(frame.x0, frame.y0, frame.x1, frame.y1))
    for text, place, point, colour in zip(texts, chosen, points, colours, strict=True):
        centre = (place.box.left + place.box.right) / 2, (place.box.bottom + place.box.top) / 2
        text.set(position=axis.transData.inverted().transform(centre), transform=axis.transData)
        text.set_multialignment(_ALIGNMENTS[place.across])
        if place.gap > _LINE_FROM:
            nearest = (
                min(max(point[0], place.box.left), place.box.right),
                min(max(point[1], place.box.bottom), place.box.top),
            )
            ends = axis.transData.inverted().transform([point, nearest])
            axis.plot(*ends.T, color=colour, linewidth=0.7, alpha=0.6, zorder=2)
