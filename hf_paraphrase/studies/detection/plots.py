"""The plots of this package: distributions of similarities, shares above a value, neighbours, and human scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...evaluation.figures import COLOURS, new_figure, plot_label, save_plot
from .human_scores import HumanScores
from .sentence_blocks import NearSentence
from .similarity_distribution import SimilarityDistribution

MOST_PANELS = 12
"""Queries that are drawn; with more of them a figure cannot be read."""
_BINS_PER_BAR = 20
_LINES = ("-", "--", ":")
_THIN_LINES = 20

Distributions = Sequence[tuple[str, Mapping[str, SimilarityDistribution]]]
"""For each query its text, and by the model's name the distribution of its similarities."""

_MARKERS = "osD^vP"
_FEW_TICKS = 8


def plot_distributions(distributions: Distributions, path: Path) -> None:
    """Draws for each query the histograms of all models, with a mark at each peak (paper 003, figure 1)."""
    figure, panels = _panels(distributions)
    for (query, models), axis in zip(distributions, panels, strict=False):
        for name, distribution in models.items():
            style = _style(name, distributions)
            edges, counts = distribution.grouped(_BINS_PER_BAR)
            shares = 100.0 * counts / distribution.size
            axis.stairs(shares, edges, label=plot_label(name), linewidth=1.7, **style)
            axis.stairs(shares, edges, fill=True, alpha=0.12, color=style["color"])
            for peak in distribution.peaks():
                place = min(len(shares) - 1, int(np.searchsorted(edges, peak.cosine, side="right")) - 1)
                axis.plot(peak.cosine, shares[place], "v", color=style["color"], markersize=6, clip_on=False)
        _label(axis, query, distributions)
        axis.set_ylim(bottom=0)
        axis.set_ylabel(f"sentences (%, bars of {edges[1] - edges[0]:.2f})")
    _legend(figure, panels)
    save_plot(figure, path)


def plot_shares_above(distributions: Distributions, path: Path) -> None:
    """Draws for each query what share of the sentences has at least a cosine, on a logarithmic scale."""
    figure, panels = _panels(distributions)
    for (query, models), axis in zip(distributions, panels, strict=False):
        for name, distribution in models.items():
            shares = 100.0 * distribution.shares_above()
            shares[shares == 0] = np.nan
            axis.plot(
                distribution.edges[:-1], shares, label=plot_label(name), linewidth=1.7, **_style(name, distributions)
            )
        _label(axis, query, distributions)
        axis.set_yscale("log")
        axis.set_ylim(top=150)
        axis.yaxis.set_major_formatter("{x:g}")
        axis.set_ylabel("sentences at or above (%)")
    _legend(figure, panels)
    save_plot(figure, path)


def plot_neighbours(lists_by_model: Mapping[str, Sequence[Sequence[NearSentence]]], path: Path) -> None:
    """Plots the cosine of the neighbours by rank: the mean over the queries of each model, and single queries."""
    figure, axes = new_figure(7, 4.2)
    axis = axes[0, 0]
    longest = max((len(items) for lists in lists_by_model.values() for items in lists), default=1)
    for number, (name, lists) in enumerate(lists_by_model.items()):
        style = {"color": COLOURS[number % len(COLOURS)], "linestyle": _LINES[number // len(COLOURS) % len(_LINES)]}
        if 1 < len(lists) <= _THIN_LINES:
            for items in lists:
                axis.plot(range(1, len(items) + 1), [item.score for item in items], linewidth=0.8, alpha=0.4, **style)
        table = np.full((len(lists), longest), np.nan)
        for row, items in zip(table, lists, strict=True):
            row[: len(items)] = [item.score for item in items]
        is_present = ~np.isnan(table).all(axis=0)
        means = [column[~np.isnan(column)].mean() for column in table.T[is_present]]
        ranks = np.flatnonzero(is_present) + 1
        axis.plot(ranks, means, label=plot_label(name), marker="o", markersize=4, linewidth=2.2, **style)
    axis.set_xlim(0.5, longest + 0.5)
    if longest <= 20:
        axis.set_xticks(range(1, longest + 1))
    axis.set_xlabel("rank of the neighbour")
    several = max(map(len, lists_by_model.values()), default=0) > 1
    axis.set_ylabel("cosine (thick: mean of the queries)" if several else "cosine")
    _legend(figure, [axis])
    save_plot(figure, path)


def _panels(distributions: Distributions) -> tuple[Any, list[Any]]:
    count = min(MOST_PANELS, len(distributions))
    columns = min(2, count)
    rows = -(-count // columns)
    figure, axes = new_figure(7.5 if columns == 1 else 12.0, 0.6 + 3.6 * rows, rows, columns)
    for axis in axes.flat[count:]:
        axis.set_visible(False)
    return figure, list(axes.flat[:count])


def _style(name: str, distributions: Distributions) -> dict[str, Any]:
    names = list(dict.fromkeys(name for _, models in distributions for name in models))
    place = names.index(name)
    return {"color": COLOURS[place % len(COLOURS)], "linestyle": _LINES[place // len(COLOURS) % len(_LINES)]}


def _label(axis: Any, query: str, distributions: Distributions) -> None:
    lows = [item.low for _, models in distributions[:MOST_PANELS] for item in models.values() if item.size]
    left = max(-1.0, np.floor(min(lows, default=-1.0) * 10.0) / 10.0)
    axis.set_xlim(min(left, 0.8), 1.02)
    axis.set_title(f"“{plot_label(query)}”", fontsize=11)
    axis.set_xlabel("cosine with the sentence above")


def _legend(figure: Any, panels: Sequence[Any]) -> None:
    # A model that knows no word of a query is missing from its panel.
    handles: dict[str, Any] = {}
    for axis in panels:
        items, labels = axis.get_legend_handles_labels()
        handles |= dict(zip(labels, items, strict=True))
    columns = min(3, max(1, len(handles)))
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=columns, frameon=False)


def plot_human_scores(scores_by_set: Mapping[str, Mapping[str, HumanScores]], path: Path) -> None:
    """Draws the mean cosine of each human score, with bars of one standard deviation to either side."""
    columns = min(2, len(scores_by_set))
    rows = -(-len(scores_by_set) // columns)
    figure, axes = new_figure(7.5 if columns == 1 else 12.0, 0.6 + 4.0 * rows, rows, columns, sharey=True)
    for axis in axes.flat[len(scores_by_set) :]:
        axis.set_visible(False)
    names = list(dict.fromkeys(name for models in scores_by_set.values() for name in models))
    for (data, models), axis in zip(scores_by_set.items(), axes.flat, strict=False):
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
