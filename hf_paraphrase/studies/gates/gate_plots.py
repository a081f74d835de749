"""The plots of the gate analysis: groups of words, positions, and the gates of one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...evaluation.figures import COLOURS, new_figure, save_plot
from .grouped_means import GroupMean

_AXIS = "mean gate activation"
MOST_WORDS = 40
"""The picture of a sentence has its first so many words."""
_PLAIN = "#666666"


def plot_groups(groups: Sequence[GroupMean], path: Path, *, high: Sequence[str] = (), low: Sequence[str] = ()) -> None:
    """Draws the mean of each group with its interval, the highest at the top."""
    figure, axes = new_figure(6.5, 1.2 + 0.21 * len(groups))
    axis = axes[0, 0]
    axis.grid(visible=False, axis="y")
    axis.grid(visible=True, axis="x", alpha=0.25)
    colours = {**dict.fromkeys(high, COLOURS[1]), **dict.fromkeys(low, COLOURS[0])}
    for place, item in enumerate(groups):
        colour = colours.get(item.name, _PLAIN)
        axis.plot([item.mean.low, item.mean.high], [place, place], color=colour, linewidth=1.5)
        axis.plot([item.mean.value], [place], marker="o", markersize=4.5, color=colour)
    axis.set_yticks(range(len(groups)), [item.name for item in groups], fontsize=8)
    for label in axis.get_yticklabels():
        label.set_parse_math(False)
    axis.set_ylim(len(groups) - 0.4, -0.6)
    axis.set_xlabel(f"{_AXIS} (bar: 95 % interval over sentences)")
    if high or low:
        for colour, text in ((COLOURS[1], "top 10 of the paper"), (COLOURS[0], "bottom 10 of the paper")):
            axis.plot([], [], marker="o", linestyle="none", color=colour, label=text)
        axis.legend(frameon=False, fontsize=8, loc="lower right")
    save_plot(figure, path)


def plot_positions(
    raw: tuple[Sequence[GroupMean], Sequence[GroupMean]],
    adjusted: tuple[Sequence[GroupMean], Sequence[GroupMean]],
    path: Path,
) -> None:
    """Plots means by position from the start and from the end, as they are and relative to the words' own means."""
    figure, axes = new_figure(9, 5.6, rows=2, columns=2)
    for row, (kind, title) in enumerate(((raw, _AXIS), (adjusted, "distance from the word's own mean"))):
        for column, (groups, text) in enumerate(zip(kind, ("word of the sentence", "word from the end"), strict=True)):
            axis = axes[row, column]
            places = np.arange(1, len(groups) + 1)
            values = np.array([[item.mean.value, item.mean.low, item.mean.high] for item in groups])
            if len(groups):
                axis.fill_between(places, values[:, 1], values[:, 2], color=COLOURS[column], alpha=0.2, linewidth=0)
                axis.plot(places, values[:, 0], color=COLOURS[column], marker="o", markersize=3.5)
                axis.set_xticks(places, [item.name for item in groups], fontsize=8)
            if row:
                axis.axhline(0, color="black", linewidth=0.8, linestyle=":")
                axis.set_xlabel(text)
            if not column:
                axis.set_ylabel(title)
    save_plot(figure, path)


def plot_sentence(words: Sequence[str], gates: NDArray[np.float64], path: Path) -> None:
    """Draws the gates of a sentence: the mean of each word above, all components below.

    Args:
        words: The words, the labels of the columns.
        gates: Their gate vectors (words, hidden_size). Components stand in the order of their mean in this sentence.
        path: The picture to write.
    """
    words, gates = list(words[:MOST_WORDS]), gates[:MOST_WORDS]
    figure, axes = new_figure(max(3.4, 1.9 + 0.62 * len(words)), 4.2, rows=2, sharex=True, height_ratios=[1, 5])
    means, components = gates.mean(1), gates[:, np.argsort(-gates.mean(0), kind="stable")].T
    strip = axes[0, 0].imshow(means[None], cmap="viridis", vmin=0, vmax=1, aspect="auto")
    for place, value in enumerate(means):
        axes[0, 0].text(
            place,
            0,
            f"{value:.2f}",
            ha="center",
            va="center",
            fontsize=8,
            color="white" if value < 0.6 else "black",
        )
    axes[0, 0].set_yticks([0], ["mean"], fontsize=8)
    axes[1, 0].imshow(components, cmap="viridis", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    axes[1, 0].set_ylabel(f"{gates.shape[1]} components", fontsize=8)
    axes[1, 0].set_yticks([])
    axes[1, 0].set_xticks(range(len(words)), words, rotation=45, ha="right", fontsize=9, rotation_mode="anchor")
    for label in axes[1, 0].get_xticklabels():
        label.set_parse_math(False)
    for axis in axes.flat:
        axis.grid(visible=False)
        axis.spines[:].set_visible(False)
        axis.tick_params(length=0)
    figure.colorbar(strip, ax=list(axes.flat), label="gate", shrink=0.8)
    save_plot(figure, path)
