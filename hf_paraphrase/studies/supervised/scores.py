"""How good the classes and scores of a supervised model are, beside what needs no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...artefacts.card_heads import Measurement
from ...evaluation.correlation import is_constant, pearson, spearman
from ...tables import format_table, number


@dataclass(frozen=True)
class ClassScores:
    """How good classes are, in per cent.

    Attributes:
        floor: The accuracy of always giving the class that is the most frequent in these rows.
        macro_f1: The mean over the classes that occur, given or found, of the harmonic mean of precision and recall.
        classes: For each class its name, its rows, and the share of them that were found (None without rows).
    """

    accuracy: float
    floor: float
    macro_f1: float
    classes: list[dict[str, Any]]
    rows: int

    @classmethod
    def of(cls, predicted: NDArray[np.int64], right: NDArray[np.int64], names: Sequence[str]) -> ClassScores:
        """Compares the numbers of the classes that were found with the right ones, both (rows,)."""
        given = np.bincount(right, minlength=len(names))
        hits = np.bincount(right[predicted == right], minlength=len(names))
        guessed = np.bincount(predicted, minlength=len(names))
        occurs = given + guessed > 0
        f1 = 2 * hits[occurs] / (given + guessed)[occurs]
        classes = [
            {"name": name, "rows": int(given[place]), "found": _percent(hits[place], given[place])}
            for place, name in enumerate(names)
        ]
        return cls(
            accuracy=100.0 * float((predicted == right).mean()),
            floor=100.0 * float(given.max() / len(right)),
            macro_f1=100.0 * float(f1.mean()),
            classes=classes,
            rows=len(right),
        )

    @property
    def criterion(self) -> float:
        """What an epoch is chosen by."""
        return self.accuracy


@dataclass(frozen=True)
class GradedScores:
    """How good scores are.

    Attributes:
        pearson: Pearson's r × 100 with the given scores; 0 where all found or all given scores are equal.
        spearman: Spearman's rho × 100.
        mse: The mean squared error, in squared units of the scores.
        floor: That of always giving their mean, i.e. their variance.
    """

    pearson: float
    spearman: float
    mse: float
    floor: float
    rows: int

    @classmethod
    def of(cls, predicted: NDArray[np.float64], right: NDArray[np.float64]) -> GradedScores:
        """Compares the scores that were found with the right ones, both (rows,)."""
        constant = is_constant(predicted) or is_constant(right)
        return cls(
            pearson=0.0 if constant else 100.0 * pearson(predicted, right),
            spearman=0.0 if constant else 100.0 * spearman(predicted, right),
            mse=float(((predicted - right) ** 2).mean()),
            floor=float(right.var()),
            rows=len(right),
        )

    @property
    def criterion(self) -> float:
        """What an epoch is chosen by."""
        return self.pearson


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


def _percent(part: Any, whole: Any) -> float | None:
    return 100.0 * float(part) / float(whole) if whole else None


def score_table(parts: Mapping[str, Mapping[str, Any]]) -> str:
    """Formats what was measured on some parts; classes also by class."""
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
