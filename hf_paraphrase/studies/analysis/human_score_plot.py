"""Human scores against cosines, a panel for each data set (paper 003, figure 2)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...evaluation.figures import COLOURS, new_figure, plot_label, save_plot
from .human_scores import HumanScores

_MARKERS = "osD^vP"
_FEW_TICKS = 8


def plot_human_scores(found: Mapping[str, Mapping[str, HumanScores]], path: Path) -> None:
    """Draws the mean cosine of each human score, with bars of one standard deviation to either side.

    Args:
        found: For each data set, by the model's name, what was measured.
        path: The PNG file.
    """
    columns = min(2, len(found))
    rows = -(-len(found) // columns)
    figure, axes = new_figure(7.5 if columns == 1 else 12.0, 0.6 + 4.0 * rows, rows, columns, sharey=True)
    for axis in axes.flat[len(found) :]:
        axis.set_visible(False)
    names = list(dict.fromkeys(name for models in found.values() for name in models))
    for (data, models), axis in zip(found.items(), axes.flat, strict=False):
        groups = next(iter(models.values())).groups
        places = {group.score: place for place, group in enumerate(groups)}
        for name, result in models.items():
            number = names.index(name)
            # Side by side, so that the bars do not hide one another.
            shift = (number - (len(names) - 1) / 2) * min(0.16, 0.6 / len(names))
            style = {"color": COLOURS[number % len(COLOURS)], "marker": _MARKERS[number // len(COLOURS) % 6]}
            axis.errorbar(
                [places[group.score] + shift for group in result.groups],
                [group.mean for group in result.groups],
                [group.deviation or 0.0 for group in result.groups],
                label=plot_label(name),
                markersize=5,
                capsize=3,
                linewidth=1.7,
                elinewidth=1.1,
                **style,
            )
        size = 9 if len(groups) <= _FEW_TICKS else 7.5
        axis.set_xticks(
            range(len(groups)), [f"{group.score:g}\n{_count(group.pairs)}" for group in groups], fontsize=size
        )
        axis.set_xlim(-0.5, len(groups) - 0.5)
        axis.set_title(plot_label(data), fontsize=11)
        axis.set_xlabel("human score (below it: pairs)")
        axis.set_ylabel("cosine (mean ± standard deviation)")
        axis.tick_params(labelleft=True)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=min(3, len(labels)), frameon=False)
    save_plot(figure, path)


def _count(number: int) -> str:
    return f"{number / 1000:.3g}k" if number >= 10_000 else f"{number:,}"
