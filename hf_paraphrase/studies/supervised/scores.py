"""How good the classes and scores of a supervised model are, beside what needs no model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...artefacts.card_heads import Measurement
from ...evaluation.correlation import correlations
from ...tables import format_table, number

Scores = dict[str, Any]


def class_scores(predicted: NDArray[np.int64], right: NDArray[np.int64], num_classes: int) -> Scores:
    """Compares the numbers of the classes that were found with the right ones, both (rows,), in per cent.

    `baseline` is the accuracy of always giving the most frequent class, `macro_f1` the mean over the classes that
    occur, given or found.
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


def graded_scores(predicted: NDArray[np.float64], right: NDArray[np.float64]) -> Scores:
    """Compares the scores that were found with the right ones, both (rows,).

    Correlations × 100, which are 0 where all found or all given scores are equal; the mean squared error, and as
    `baseline` that of always giving the mean score.
    """
    pearson, spearman, _ = correlations(predicted, right)
    return {
        "pearson": pearson,
        "spearman": spearman,
        "mse": float(((predicted - right) ** 2).mean()),
        "baseline": float(right.var()),
        "rows": len(right),
    }


def criterion(scores: Scores) -> float:
    """Returns what an epoch is chosen by: accuracy or Pearson's r × 100."""
    return float(scores["accuracy"] if "accuracy" in scores else scores["pearson"])


def score_measurements(scores: Mapping[str, Any], data: str, split: str, note: str = "") -> list[Measurement]:
    """Describes scores as measurements."""
    names = {
        "accuracy": ("accuracy", f"accuracy (%{note})"),
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
    """Formats what was measured on some parts."""
    if "accuracy" in next(iter(parts.values())):
        header = ["part", "accuracy (%)", "most frequent class (%)", "macro F1 × 100", "rows"]
        shares = ("accuracy", "baseline", "macro_f1")
        rows = [
            [name, *(number(scores[key]) for key in shares), f"{scores['rows']:,}"] for name, scores in parts.items()
        ]
        return format_table(header, rows)
    header = ["part", "Pearson × 100", "Spearman × 100", "squared error", "of the mean score", "rows"]
    rows = [
        [
            *(name, number(scores["pearson"]), number(scores["spearman"])),
            *(f"{scores['mse']:.3f}", f"{scores['baseline']:.3f}", f"{scores['rows']:,}"),
        ]
        for name, scores in parts.items()
    ]
    return format_table(header, rows)
