"""What is measured as tables, as tab-separated curves and as figures (paper 002, tables 1 to 3 and figure 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...artefacts.files import write_text_whole
from ...evaluation.figures import COLOURS, new_figure, save_plot
from ...tables import format_table
from .measures import Curve

_STYLES = ("-", "--", ":", "-.")
_PLOTTED = 12
_SHARES = ["precision (%)", "recall (%)", "F1 (%)"]
_MEASURES = ["threshold", *_SHARES, "found", "right", "gold"]


def _percent(measures: Mapping[str, Any]) -> list[str]:
    return [f"{100 * measures[name]:.2f}" for name in ("precision", "recall", "f1")]


def _measured(threshold: float | None, measures: Mapping[str, Any]) -> list[str]:
    counts = [str(measures[name]) for name in ("found", "right", "gold")]
    return ["–" if threshold is None else f"{threshold:.6g}", *_percent(measures), *counts]


def measures_table(threshold: float | None, measures: Mapping[str, Any]) -> str:
    """Formats the measures of the pairs of one threshold; None stands for all pairs."""
    return format_table(_MEASURES, [_measured(threshold, measures)])


def task_tables(results: Mapping[str, Any]) -> dict[str, str]:
    """Formats the numbers of a task as tables, by their titles."""
    tables = {f"Recall of the candidates of {name}": _recall_table(rows) for name, rows in results["recall"].items()}
    if results["random_pairs"]:
        tables["True pairs among random ones"] = _random_table(results["random_pairs"])
    return tables | {"True pairs among the candidates": _outcome_table(results["candidates"])}


def folders_table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Formats the measures of mined folders: of all pairs, and at the best threshold."""
    rows = []
    for name, item in results.items():
        rows.append([name, *_measured(None, item["all"])])
        if item["best_threshold"] is not None:
            rows.append([f"{name}, best F1", *_measured(item["best_threshold"], item["best"])])
    return format_table(["pairs", *_MEASURES], rows)


def _recall_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Formats the recall of the candidate filter as table 1 of paper 002."""
    cells = [[str(row["n"]), f"{row['found']:,}", f"{row['share']:.2f}", f"{row['pairs']:,}"] for row in rows]
    return format_table(["n", "found", "found (%)", "pairs"], cells)


def _random_table(outcomes: Mapping[str, Mapping[str, Any]]) -> str:
    """Formats classifiers among random pairs as table 2 of paper 002, whose thresholds are the best ones there."""
    rows = [
        [name, f"{item['threshold']:.4g}", *_percent(item), f"{100 * item['best']['f1']:.2f}"]
        for name, item in outcomes.items()
    ]
    return format_table(["classifier", "threshold", *_SHARES, "best F1 (%)"], rows)


def _outcome_table(outcomes: Sequence[Mapping[str, Any]]) -> str:
    """Formats ways to score and decide as table 3 of paper 002."""
    rows = [
        [
            item["score"] + (", one-to-one" if item["one_to_one"] else ""),
            f"{item['threshold']:.4g} ({item['threshold_is']})",
            *_percent(item["test"]),
            f"{100 * item['tuning']['f1']:.2f}",
        ]
        for item in outcomes
    ]
    return format_table(["score", "threshold", *_SHARES, "F1 (%), tuning part"], rows)


def write_curves(folder: Path, group: str, curves: Mapping[str, Curve]) -> None:
    """Writes each curve as a table named after it, and a figure of the twelve with the best F1."""
    if not curves:
        return
    (folder / "curves" / group).mkdir(parents=True, exist_ok=True)
    for row, curve in curves.items():
        lines = ["threshold\tprecision\trecall\tf1\tfound\tright"]
        for point in curve.points():
            shares = [f"{point[name]:.6f}" for name in ("precision", "recall", "f1")]
            lines.append("\t".join([f"{point['threshold']:.9g}", *shares, str(point["found"]), str(point["right"])]))
        path = folder / "curves" / group / f"{row.replace('/', '_')}.tsv"
        write_text_whole(path, "\n".join(lines) + "\n")
    shown = sorted(curves, key=lambda name: -curves[name].best()["f1"])[:_PLOTTED]
    _plot({name: curve for name, curve in curves.items() if name in shown}, folder / f"plots/{group}.png")


def _plot(curves: Mapping[str, Curve], path: Path) -> None:
    """Draws precision over recall, in per cent, with a ring at the best F1 of each curve."""
    figure, axes = new_figure(8.5, 6)
    axis = axes[0, 0]
    for number, (name, curve) in enumerate(curves.items()):
        points, best = curve.points(), curve.best()
        colour = COLOURS[number % len(COLOURS)]
        style = _STYLES[number // len(COLOURS) % len(_STYLES)]
        recall, precision = ([100 * point[key] for point in points] for key in ("recall", "precision"))
        axis.plot(recall, precision, style, color=colour, linewidth=1.5, label=name)
        ring = [100 * best["recall"]], [100 * best["precision"]]
        axis.plot(*ring, "o", color=colour, fillstyle="none", markersize=8)
    axis.set_xlim(0, 100)
    axis.set_ylim(0, 101)
    axis.set_xlabel("recall (%)")
    axis.set_ylabel("precision (%)")
    figure.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=8)
    save_plot(figure, path)
