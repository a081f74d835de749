"""The tables of paraphrase detection: the perceptron's, as in the paper, and the cosine's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .paraphrase import DetectionResult, describe
from .report import short_names
from .tables import format_table, number

PERCEPTRON_NOTE = (
    "accuracy × 100 on test of a perceptron (200 hidden units) on the two concatenated vectors, trained on dev"
)


@dataclass(frozen=True)
class NamedDetection:
    """The results of one scorer.

    Attributes:
        name: A model folder or a floor.
        kind: `model` or `baseline`.
        results: One for each task; all named results of a report are over the same tasks.
    """

    name: str
    kind: str
    results: tuple[DetectionResult, ...]


def format_detection(scorers: Sequence[NamedDetection]) -> str:
    """Lays out both tables and the notes.

    Args:
        scorers: One or more scorers, over the same tasks.

    Returns:
        Two Markdown tables under headings, and lines of notes, ending in a newline.
    """
    names = short_names([item.name for item in scorers])
    tasks = [result.task for result in scorers[0].results]
    facts = [describe(task) for task in tasks]
    labels = [task.name for task in tasks]
    header = ["data", "dev", "test", "all paraphrases", *names]
    rows = [
        [
            label,
            str(fact["dev"]["pairs"]),
            str(fact["test"]["pairs"]),
            _percent(fact["all_paraphrases"]),
            *(_with_deviation(item.results[index]) for item in scorers),
        ]
        for index, (label, fact) in enumerate(zip(labels, facts, strict=True))
    ]
    seeds = len(scorers[0].results[0].accuracies)
    spread = f"; mean and standard deviation of {seeds} seeds" if seeds > 1 else ""
    lines = [f"## perceptron: {PERCEPTRON_NOTE}{spread}", "", format_table(header, rows)]
    lines += _notes(facts)
    lines += ["## cosine: nothing trained; average precision (AP), accuracy and F1, × 100, on test", ""]
    keys: tuple[str, ...] = ("average_precision", "accuracy", "f1", "accuracy_at_dev", "f1_at_dev")
    header = ["data", "scorer", "AP", "best accuracy", "best F1", "accuracy at dev's threshold", "F1 at dev's"]
    if any("top_1" in result.cosine for item in scorers for result in item.results):
        keys, header = (*keys, "top_1"), [*header, "top 1"]
    rows = [
        [label, name, *(_percent(item.results[index].cosine.get(key)) for key in keys)]
        for index, label in enumerate(labels)
        for name, item in zip(names, scorers, strict=True)
    ]
    return "\n".join([*lines, format_table(header, rows)])


def _notes(facts: Sequence[dict[str, Any]]) -> list[str]:
    lines = []
    for fact in facts:
        if fact["folds"] > 1:
            lines.append(
                f"{fact['data']}: dev and test are one split, parted into {fact['folds']} folds without a common "
                "sentence; each is tested once, on what was learnt from the others"
            )
        share = fact["all_paraphrases"]
        if share < 0.5:
            lines.append(f"{fact['data']}: calling no pair a paraphrase would be right for {_percent(1 - share)} %")
        if fact["undecided"]:
            lines.append(f"{fact['data']}: {fact['undecided']} pairs without a decided label left out")
        if fact["dev_pairs_in_test"]:
            lines.append(f"{fact['data']}: {fact['dev_pairs_in_test']} dev pairs left out: they are in test too")
    return [*lines, ""] if lines else lines


def _percent(value: float | None) -> str:
    return number(None if value is None else 100 * value)


def _with_deviation(result: DetectionResult) -> str:
    deviation = result.deviation
    return _percent(result.accuracy) + ("" if deviation is None else f" ± {_percent(deviation)}")
