"""What is measured as tables, as tab-separated curves and as figures (paper 002, tables 1 to 3 and figure 1)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...artefacts.files import write_text_whole
from ...evaluation.figures import COLOURS, new_figure, save_plot
from ...tables import format_table
from .measures import Curve, Measures
from .study import Outcome, RecallRow

_STYLES = ("-", "--", ":", "-.")
_PLOTTED = 12
_MEASURES = ["threshold", "precision (%)", "recall (%)", "F1 (%)", "found", "right", "gold"]


def measures_table(threshold: float | None, measures: Measures) -> str:
    """Formats the measures of the pairs of one threshold; None stands for all pairs."""
    cells = ["–" if threshold is None else f"{threshold:.6g}", *_percent(measures), *_counts(measures)]
    return format_table(_MEASURES, [cells])


def curves_table(curves: Mapping[str, Curve]) -> str:
    """Formats the measures of files of pairs, by their names: of all pairs, and at the best threshold."""
    rows = []
    for name, curve in curves.items():
        whole = curve.at(-float("inf"))
        rows.append([name, "–", *_percent(whole), *_counts(whole)])
        if len(curve):
            best = curve.best()
            rows.append([f"{name}, best F1", f"{curve.best_threshold():.6g}", *_percent(best), *_counts(best)])
    return format_table(["pairs", *_MEASURES], rows)


def _percent(measures: Measures) -> list[str]:
    return [f"{100 * value:.2f}" for value in (measures.precision, measures.recall, measures.f1)]


def _counts(measures: Measures) -> list[str]:
    return [str(value) for value in (measures.found, measures.right, measures.gold)]


def recall_table(rows: Sequence[RecallRow]) -> str:
    """Formats the recall of the candidate filter as table 1 of paper 002."""

    def growth(value: float | None) -> str:
        return "" if value is None else f"{value:.2f}"

    cells = [
        [
            str(row.n),
            f"{row.found:,}",
            f"{row.share:.2f}",
            growth(row.found_growth),
            f"{row.pairs:,}",
            growth(row.pairs_growth),
        ]
        for row in rows
    ]
    return format_table(["n", "found", "found (%)", "Δ (%)", "pairs", "Δ (%)"], cells)


def random_table(outcomes: Sequence[Outcome]) -> str:
    """Formats classifiers among random pairs as table 2 of paper 002, whose thresholds are the best ones there."""
    rows = [
        [item.way.name, f"{item.threshold:.4g}", *_percent(item.tested), f"{100 * item.curve.best().f1:.2f}"]
        for item in outcomes
    ]
    return format_table(["classifier", "threshold", "precision (%)", "recall (%)", "F1 (%)", "best F1 (%)"], rows)


def outcome_table(outcomes: Sequence[Outcome]) -> str:
    """Formats ways to score and decide as table 3 of paper 002."""
    rows = []
    for item in outcomes:
        kind = "fixed" if item.way.threshold is not None else "tuned"
        tuned = f"{100 * item.tuned.f1:.2f}"
        rows.append([item.way.label, f"{item.threshold:.4g} ({kind})", *_percent(item.tested), tuned])
    return format_table(["score", "threshold", "precision (%)", "recall (%)", "F1 (%)", "F1 (%), tuning part"], rows)


def file_stem(name: str) -> str:
    """Turns the name of a row into one for a file."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower().replace("×", "x")).strip("_")


def write_curve(path: Path, curve: Curve) -> None:
    """Writes a curve of at most a thousand points: threshold, precision, recall, F1 (0 to 1), found, right."""
    thin = curve.thinned()
    lines = ["threshold\tprecision\trecall\tf1\tfound\tright\n"]
    values = (thin.thresholds, thin.precision, thin.recall, thin.f1, thin.found, thin.right)
    for threshold, precision, recall, f1, num_found, right in zip(
        *(column.tolist() for column in values), strict=True
    ):
        lines.append(f"{threshold:.9g}\t{precision:.6f}\t{recall:.6f}\t{f1:.6f}\t{num_found}\t{right}\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text_whole(path, "".join(lines))


def plot_curves(curves: Mapping[str, Curve], path: Path) -> None:
    """Draws precision over recall, in per cent, with a ring at the best F1 of each curve."""
    figure, axes = new_figure(8.5, 6)
    axis = axes[0, 0]
    for number, (name, curve) in enumerate(curves.items()):
        thin = curve.thinned()
        colour = COLOURS[number % len(COLOURS)]
        style = _STYLES[number // len(COLOURS) % len(_STYLES)]
        axis.plot(100 * thin.recall, 100 * thin.precision, style, color=colour, linewidth=1.5, label=name)
        best = curve.best()
        axis.plot([100 * best.recall], [100 * best.precision], "o", color=colour, fillstyle="none", markersize=8)
    axis.set_xlim(0, 100)
    axis.set_ylim(0, 101)
    axis.set_xlabel("recall (%)")
    axis.set_ylabel("precision (%)")
    figure.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=8)
    save_plot(figure, path)


def write_curves(folder: Path, group: str, curves: Mapping[str, Curve]) -> bool:
    """Writes curves that have points as tables, and a figure of the twelve with the best F1."""
    filled = {name: curve for name, curve in curves.items() if len(curve)}
    for name, curve in filled.items():
        write_curve(folder / "curves" / group / f"{file_stem(name)}.tsv", curve)
    shown = set(sorted(filled, key=lambda name: -filled[name].best().f1)[:_PLOTTED])
    if shown:
        path = folder / "plots" / f"{group}.png"
        plot_curves({name: curve for name, curve in curves.items() if name in shown}, path)
    return bool(shown)
