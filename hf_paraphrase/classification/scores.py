"""How good predictions of classes, labels and scores are, as numbers, tables and entries of a model card."""

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
_HEADERS = {
    "accuracy": {"accuracy": "accuracy (%)", "baseline": "most frequent class (%)", "macro_f1": "macro F1 × 100"},
    "micro_f1": {"micro_f1": "micro F1 × 100", "baseline": "most frequent label", "macro_f1": "macro F1 × 100"},
    "pearson": {
        "pearson": "Pearson × 100",
        "spearman": "Spearman × 100",
        "mse": "squared error",
        "baseline": "of the mean score",
    },
}


def class_scores(predicted: NDArray[np.int64], right: NDArray[np.int64], num_classes: int) -> Scores:
    """Compare predicted with right class numbers (rows,): accuracy and F1 in per cent.

    `baseline` is the accuracy of the most frequent class, `macro_f1` the mean over the classes that are predicted or
    right somewhere.
    """
    given = np.bincount(right, minlength=num_classes)
    hits = np.bincount(right[predicted == right], minlength=num_classes)
    both = given + np.bincount(predicted, minlength=num_classes)
    return {
        "accuracy": 100.0 * float((predicted == right).mean()),
        "baseline": 100.0 * float(given.max() / len(right)),
        "macro_f1": 100.0 * float((2 * hits[both > 0] / both[both > 0]).mean()),
        "rows": len(right),
    }


def label_scores(predicted: NDArray[np.bool_], right: NDArray[np.bool_], labels: Sequence[str]) -> Scores:
    """Compare predicted with right labels (rows, labels): F1 × 100.

    `micro_f1` counts all labels together, `macro_f1` is the mean over the labels that are predicted or right
    somewhere, and `f1` has the value of each; `baseline` is the micro F1 of the most frequent label.
    """
    given, hits = right.sum(0), (predicted & right).sum(0)
    both = given + predicted.sum(0)
    each = {name: 200.0 * float(hits[i] / both[i]) for i, name in enumerate(labels) if both[i]}
    return {
        "micro_f1": 200.0 * float(hits.sum() / max(both.sum(), 1)),
        "baseline": 200.0 * float(given.max() / (len(right) + given.sum())),
        "macro_f1": float(np.mean(list(each.values()) or [0.0])),
        "rows": len(right),
        "f1": each,
    }


def graded_scores(predicted: NDArray[np.float64], right: NDArray[np.float64]) -> Scores:
    """Compare predicted with right scores (rows,).

    Correlations × 100, which are 0 where one side is constant; the mean squared error, and as `baseline` the error of
    the mean score.
    """
    pearson, spearman, _ = correlations(predicted, right)
    return {
        "pearson": pearson,
        "spearman": spearman,
        "mse": float(((predicted - right) ** 2).mean()),
        "baseline": float(right.var()),
        "rows": len(right),
    }


def score_measurements(scores: Mapping[str, Any], data: str, split: str, note: str = "") -> list[Measurement]:
    """Describe scores as measurements for the head of a model card."""
    names = {
        "accuracy": ("accuracy", f"accuracy (%{note})"),
        "micro_f1": ("f1", f"micro F1 × 100{note}"),
        "macro_f1": ("f1", f"macro F1 × 100{note}"),
        "pearson": ("pearsonr", f"Pearson × 100{note}"),
        "spearman": ("spearmanr", f"Spearman × 100{note}"),
        "mse": ("mse", f"mean squared error{note}"),
    }
    graded = "pearson" in scores
    return [
        Measurement(
            task="sentence-similarity" if graded else "text-classification",
            dataset=data,
            split=split,
            metric=metric,
            value=scores[key],
            name=name,
            task_name="Scores of sentences or pairs" if graded else "Text classification",
        )
        for key, (metric, name) in names.items()
        if key in scores
    ]


def score_table(parts: Mapping[str, Mapping[str, Any]]) -> str:
    """Format the scores of some parts as a Markdown table."""
    headers = next(_HEADERS[name] for name in CRITERIA if name in next(iter(parts.values())))
    errors = {"mse", "baseline"} if "mse" in headers else set()
    rows = []
    for part, scores in parts.items():
        values = [f"{scores[key]:.3f}" if key in errors else number(scores[key]) for key in headers]
        rows.append([part, *values, f"{scores['rows']:,}"])
    return format_table(["part", *headers.values(), "rows"], rows)
