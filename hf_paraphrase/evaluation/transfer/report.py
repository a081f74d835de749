"""The table of transfer tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..report import short_names
from ..tables import format_table, number
from .task import TaskResult

LABELS = {"accuracy": "accuracy", "f1": "F1", "pearson": "r", "spearman": "rho", "mse": "MSE"}


@dataclass(frozen=True)
class NamedTransfer:
    """The results of one scorer.

    Attributes:
        name: A model folder or a floor.
        kind: `model` or `baseline`.
        results: One for each task; all named results of a report are on the same tasks.
    """

    name: str
    kind: str
    results: tuple[TaskResult, ...]


def format_transfer(scorers: Sequence[NamedTransfer], missing: Mapping[str, Sequence[str]]) -> str:
    """Lays out the measures of all tasks, and names what was not found.

    Args:
        scorers: One or more scorers, on the same tasks.
        missing: For each task that was wanted and is not there the files that it lacks.

    Returns:
        A Markdown table and lines of notes, ending in a newline.
    """
    header = ["task", "measure", "train", "test", "tested on", "majority", *short_names([s.name for s in scorers])]
    rows = []
    for place, result in enumerate(scorers[0].results):
        for name in result.metrics:
            values = [scorer.results[place].metrics[name] for scorer in scorers]
            rows.append(
                [
                    result.task,
                    LABELS[name],
                    str(result.train),
                    str(result.test),
                    result.tested_on,
                    number(result.majority.get(name)),
                    *(f"{value:.3f}" if name == "mse" else number(value) for value in values),
                ]
            )
    lines = [
        "",
        "accuracy and F1 in %, Pearson's r and Spearman's rho × 100; a regression was trained on fixed vectors.",
    ]
    lines += [f"not found: {name} ({', '.join(files)})" for name, files in missing.items()]
    return format_table(header, rows) + "\n".join(lines) + "\n"
