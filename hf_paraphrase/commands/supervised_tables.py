"""The tables of `train-supervised` and `predict`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..evaluation.tables import format_table, number


def score_table(parts: Mapping[str, Mapping[str, Any]]) -> str:
    """Lays out what was measured on some parts; classes also by class.

    Args:
        parts: For each part the fields of :class:`~..studies.supervised.scores.ClassScores` or `GradedScores`.
    """
    first = next(iter(parts.values()))
    if "accuracy" not in first:
        rows = [
            [
                name,
                number(found["pearson"]),
                number(found["spearman"]),
                f"{found['mse']:.3f}",
                f"{found['floor']:.3f}",
                f"{found['rows']:,}",
            ]
            for name, found in parts.items()
        ]
        header = ["part", "Pearson × 100", "Spearman × 100", "squared error", "of the mean score", "rows"]
        return format_table(header, rows)
    rows = [
        [name, *(number(found[key]) for key in ("accuracy", "floor", "macro_f1")), f"{found['rows']:,}"]
        for name, found in parts.items()
    ]
    table = format_table(["part", "accuracy (%)", "most frequent class (%)", "macro F1 × 100", "rows"], rows)
    classes = [
        [item["name"], *(cell for found in parts.values() for cell in _found(found["classes"][place]))]
        for place, item in enumerate(first["classes"])
    ]
    header = ["class", *(text for name in parts for text in (f"found in {name} (%)", "rows"))]
    return f"{table}\n{format_table(header, classes)}"


def _found(item: Mapping[str, Any]) -> list[str]:
    return [number(item["found"]), f"{item['rows']:,}"]
