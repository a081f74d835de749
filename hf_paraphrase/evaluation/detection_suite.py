"""The suite `paraphrase`: detection of paraphrases, by a perceptron as in paper 003, and by the cosine alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm.auto import tqdm

from ..errors import UsageError
from ..tables import format_table, number, short_names
from .baselines import Scorer
from .paraphrase import DetectionResult, describe, evaluate_detection, read_task
from .suite import NOTHING_TRAINED, Benchmark, Scores, Suite

if TYPE_CHECKING:
    from .evaluate_settings import EvaluateSettings

PERCEPTRON_NOTE = (
    "accuracy × 100 on test of a perceptron (200 hidden units) on the two concatenated vectors, trained on dev"
)
_COSINE_NOTE = "average precision, accuracy and F1 of the cosine; shares from 0 to 1"


def format_detection(scores: Sequence[Scores]) -> str:
    """Formats two tables: the data, with the accuracies of the perceptron if one was trained, and the cosine.

    Returns:
        Two Markdown tables under headings, and lines of notes, ending in a newline.
    """
    names = short_names([item.name for item in scores])
    tasks = [result.task for result in scores[0].result]
    facts = [describe(task) for task in tasks]
    labels = [task.name for task in tasks]
    seeds = len(scores[0].result[0].accuracies)
    header = ["data", "dev", "test", "all paraphrases", *(names if seeds else [])]
    rows = [
        [
            label,
            str(fact["dev"]["pairs"]),
            str(fact["test"]["pairs"]),
            _percent(fact["all_paraphrases"]),
            *(_with_deviation(item.result[index]) for item in scores if seeds),
        ]
        for index, (label, fact) in enumerate(zip(labels, facts, strict=True))
    ]
    spread = f"; mean and standard deviation of {seeds} seeds" if seeds > 1 else ""
    heading = f"perceptron: {PERCEPTRON_NOTE}{spread}" if seeds else "data: pairs, and paraphrases in % of test"
    lines = [f"## {heading}", "", format_table(header, rows)]
    lines += _notes(facts)
    lines += ["## cosine: nothing trained; average precision (AP), accuracy and F1, × 100, on test", ""]
    keys: tuple[str, ...] = ("average_precision", "accuracy", "f1", "accuracy_at_dev", "f1_at_dev")
    header = ["data", "scorer", "AP", "best accuracy", "best F1", "accuracy at dev's threshold", "F1 at dev's"]
    if any("top_1" in result.cosine for item in scores for result in item.result):
        keys, header = (*keys, "top_1"), [*header, "top 1"]
    rows = [
        [label, name, *(_percent(item.result[index].cosine.get(key)) for key in keys)]
        for index, label in enumerate(labels)
        for name, item in zip(names, scores, strict=True)
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


def _read(settings: EvaluateSettings) -> Benchmark:
    folders = [Path(folder) for folder in settings.data]
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UsageError("a folder of --data occurs twice", remedy="give each folder once")
    splits = {"dev_split": settings.dev_split, "test_split": settings.test_split}
    names = short_names([str(folder.resolve()) for folder in folders])
    tasks = [
        replace(read_task(folder, **splits, positive_above=settings.positive_above), name=name)
        for folder, name in zip(folders, names, strict=True)
    ]
    seeds = range(1, settings.seeds + 1)

    def measure(scorer: Scorer) -> Scores:
        total = len(seeds) * sum(len(task.folds) for task in tasks)
        with tqdm(total=total, unit=" perceptrons", desc="train", disable=not total) as bar:
            results = evaluate_detection(
                scorer, tasks, seeds=seeds, both_orders=settings.both_orders, progress=bar.update
            )
        return Scores.of_tasks(scorer, results)

    return Benchmark(
        measure,
        inputs=folders,
        protocol=f"{PERCEPTRON_NOTE} (Sjöblom et al. 2018); {_COSINE_NOTE}" if seeds else _COSINE_NOTE,
        facts={"tasks": [describe(task) for task in tasks]},
        report=format_detection,
        name=f"paraphrase {' '.join(names)} {settings.dev_split}/{settings.test_split}",
        kind="evaluate-paraphrase",
        kept=("protocol", "tasks"),
        trained="the perceptron was trained on top of fixed vectors, for the cosine nothing was"
        if seeds
        else NOTHING_TRAINED,
    )


DETECTION = Suite(
    _read,
    settings=("dev_split", "test_split", "positive_above", "both_orders", "seeds"),
    section="hf-paraphrase evaluate: paraphrase",
    heading="Evaluation: paraphrase detection",
)
