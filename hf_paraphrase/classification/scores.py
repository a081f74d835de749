"""Scores predicted classes and scores against true ones, and formats the results as tables and model card entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.card_metadata import Measurement
from ..tables import format_table, number
from ..vectors.similarity import correlations

Scores = dict[str, Any]
CRITERIA = {"accuracy": "accuracy", "micro_f1": "micro F1 × 100", "pearson": "Pearson × 100"}
"""The scores that choose an epoch; each objective has one of them."""
_MACRO_F1 = {"macro_f1": "macro F1 × 100"}
_HEADERS = {
    "accuracy": {"accuracy": "accuracy (%)", "baseline": "most frequent class (%)", **_MACRO_F1},
    "micro_f1": {"micro_f1": "micro F1 × 100", "baseline": "most frequent label", **_MACRO_F1},
    "pearson": {
        "pearson": "Pearson × 100",
        "spearman": "Spearman × 100",
        "mse": "squared error",
        "baseline": "of the mean score",
    },
}
_METRICS = {
    "accuracy": ("accuracy", "accuracy (%{note})"),
    "micro_f1": ("f1", "micro F1 × 100{note}"),
    "macro_f1": ("f1", "macro F1 × 100{note}"),
    "pearson": ("pearsonr", "Pearson × 100{note}"),
    "spearman": ("spearmanr", "Spearman × 100{note}"),
    "mse": ("mse", "mean squared error{note}"),
}
"""For each score, its name on the Hub and its description in a model card."""


def compare_classes(
    predicted: NDArray[np.bool_], right: NDArray[np.bool_], classes: Sequence[str], *, multi_label: bool = False
) -> Scores:
    """Compare predicted with true classes (rows, classes), bool; results are in per cent.

    Returns:
        `accuracy`, or `micro_f1` over all labels if a row may have several; `baseline`, the same score of the most
        frequent class; `f1` of each class that occurs in predictions or true classes, and their mean, `macro_f1`.
    """
    true, hits = right.sum(0), (predicted & right).sum(0)
    both = true + predicted.sum(0)
    f1 = {name: 200.0 * float(hits[i] / both[i]) for i, name in enumerate(classes) if both[i]}
    return {
        # With one class per row, micro F1 is the accuracy.
        "micro_f1" if multi_label else "accuracy": 200.0 * float(hits.sum() / max(both.sum(), 1)),
        "baseline": 200.0 * float(true.max() / (len(right) + true.sum())),
        "macro_f1": float(np.mean(list(f1.values()) or [0.0])),
        "rows": len(right),
        "f1": f1,
    }


def compare_scores(predicted: NDArray[np.float64], right: NDArray[np.float64]) -> Scores:
    """Compare predicted with true scores (rows,).

    Returns:
        Correlations × 100, 0 if either array is constant; the mean squared error, and as `baseline` the error of the
        mean score.
    """
    pearson, spearman, _ = correlations(predicted, right)
    return {
        "pearson": pearson,
        "spearman": spearman,
        "mse": float(((predicted - right) ** 2).mean()),
        "baseline": float(right.var()),
        "rows": len(right),
    }


def list_measurements(scores: Mapping[str, Any], data: str, split: str, note: str = "") -> list[Measurement]:
    """Describe scores as measurements for the metadata of a model card."""
    graded = "pearson" in scores
    return [
        Measurement(
            task="sentence-similarity" if graded else "text-classification",
            dataset=data,
            split=split,
            metric=metric,
            value=scores[key],
            name=name.format(note=note),
            task_name="Scores of sentences or pairs" if graded else "Text classification",
        )
        for key, (metric, name) in _METRICS.items()
        if key in scores
    ]


def format_scores(parts: Mapping[str, Mapping[str, Any]]) -> str:
    """Format the scores of some parts as a Markdown table."""
    headers = next(_HEADERS[name] for name in CRITERIA if name in next(iter(parts.values())))
    errors = {"mse", "baseline"} if "mse" in headers else set()
    rows = []
    for part, scores in parts.items():
        values = [f"{scores[key]:.3f}" if key in errors else number(scores[key]) for key in headers]
        rows.append([part, *values, f"{scores['rows']:,}"])
    return format_table(["part", *headers.values(), "rows"], rows)
