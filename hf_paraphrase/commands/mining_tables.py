"""The tables of `evaluate-mining`."""

from __future__ import annotations

from collections.abc import Sequence

from ..evaluation.tables import format_table
from ..studies.mining.measures import Curve, Measures
from ..studies.mining.recall import RecallRow
from ..studies.mining.study import Outcome


def percent(measures: Measures) -> list[str]:
    """Returns precision, recall and F1 in per cent, as cells."""
    return [f"{100 * value:.2f}" for value in (measures.precision, measures.recall, measures.f1)]


def counts(measures: Measures) -> list[str]:
    """Returns the numbers of pairs given, right and true, as cells."""
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


def random_table(curves: dict[str, Curve]) -> str:
    """Formats classifiers at their best thresholds as table 2 of paper 002."""
    rows = [[name, f"{curve.best_threshold():.4g}", *percent(curve.best())] for name, curve in curves.items()]
    return format_table(["classifier", "threshold", "precision (%)", "recall (%)", "F1 (%)"], rows)


def outcome_table(outcomes: Sequence[Outcome]) -> str:
    """Formats ways to score and decide as table 3 of paper 002."""
    rows = []
    for item in outcomes:
        kind = "fixed" if item.way.threshold is not None else "tuned"
        tuned = f"{100 * item.tuned.f1:.2f}"
        rows.append([item.way.label, f"{item.threshold:.4g} ({kind})", *percent(item.tested), tuned])
    return format_table(["score", "threshold", "precision (%)", "recall (%)", "F1 (%)", "F1 (%), tuning part"], rows)
