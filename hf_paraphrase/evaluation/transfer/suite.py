"""The suite `senteval`: transfer tasks by SentEval's protocol, a regression trained on fixed vectors."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tqdm.auto import tqdm

from ...errors import ModelError
from ...tables import format_table, number, short_names
from ..baselines import Encode, Scorer
from ..suite import Benchmark, Scores, Suite, one_folder, words_of
from .classifier import PENALTIES
from .cross_validation import Protocol
from .scoring import TaskResult
from .tasks import TASKS, TransferTasks, choose_tasks, find_transfer_tasks

if TYPE_CHECKING:
    from ..evaluate_settings import EvaluateSettings

_LABELS = {"accuracy": "accuracy", "f1": "F1", "pearson": "r", "spearman": "rho", "mse": "MSE"}


def evaluate_transfer(
    encode: Encode,
    folder: str | os.PathLike[str],
    tasks: Iterable[str] = (),
    *,
    protocol: Protocol | None = None,
    sick_test_on_trial: bool = False,
) -> tuple[TaskResult, ...]:
    """Evaluates an encoder by SentEval's protocol (Conneau and Kiela 2018) on the tasks whose files are at hand.

    Args:
        encode: Maps n sentences to vectors (n, dim).
        folder: The folder below which the raw files of the tasks are.
        tasks: Names of :data:`.tasks.TASKS`; all by default. A task that is not there in full has no result.
        protocol: Folds, classifier and seed; SentEval's recommended defaults if not given.
        sick_test_on_trial: Test SICK on its trial part, for want of the test part.

    Returns:
        One result a task, in the order of :data:`.tasks.TASKS`.
    """
    protocol = protocol or Protocol()
    transfer_tasks = find_transfer_tasks(
        Path(folder), choose_tasks(tasks), protocol, sick_test_on_trial=sick_test_on_trial
    )
    return evaluate_tasks(encode, transfer_tasks, protocol)


def evaluate_tasks(encode: Encode, transfer_tasks: TransferTasks, protocol: Protocol) -> tuple[TaskResult, ...]:
    """Evaluates an encoder on tasks that are read already; each distinct sentence is encoded once."""
    sentences = list(transfer_tasks.sentences())
    table = np.asarray(encode(sentences), dtype=np.float32)
    if table.ndim != 2 or len(table) != len(sentences):
        raise ModelError(f"the encoder gave an array of shape {table.shape} for {len(sentences)} sentences")
    if not np.isfinite(table).all():
        raise ModelError("the encoder gave vectors with NaN or infinity")
    position = {sentence: place for place, sentence in enumerate(sentences)}

    def vectors(texts: Sequence[str]) -> np.ndarray:
        return table[[position[text] for text in texts]]

    return tuple(task.evaluate(vectors, protocol) for task in transfer_tasks.tasks)


def format_transfer(scores: Sequence[Scores], missing: Mapping[str, Sequence[str]]) -> str:
    """Formats the measures of all tasks, and names what was not found.

    Returns:
        A Markdown table and lines of notes, ending in a newline.
    """
    header = ["task", "measure", "train", "test", "tested on", "majority", *short_names([s.name for s in scores])]
    rows = []
    for place, result in enumerate(scores[0].result):
        for name in result.metrics:
            values = [scorer.result[place].metrics[name] for scorer in scores]
            rows.append(
                [
                    result.task,
                    _LABELS[name],
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


def _read(settings: EvaluateSettings) -> Benchmark:
    folder = one_folder(settings)
    names = choose_tasks(words_of("tasks", settings.tasks, TASKS))
    protocol = Protocol()
    transfer_tasks = find_transfer_tasks(folder, names, protocol, sick_test_on_trial=settings.sick_test_on_trial)

    def measure(scorer: Scorer) -> Scores:
        total = sum(task.regressions(protocol) for task in transfer_tasks.tasks)
        with tqdm(total=total, unit=" regressions", desc="train") as bar:
            results = evaluate_tasks(scorer.encode, transfer_tasks, Protocol(progress=bar.update))
        return Scores.of_tasks(scorer, results)

    return Benchmark(
        measure,
        inputs=transfer_tasks.paths,
        protocol="SentEval (Conneau and Kiela 2018): a regression on fixed sentence vectors; accuracy and F1 "
        "in per cent, Pearson and Spearman x 100",
        facts={
            "classifier": {
                "folds": protocol.folds,
                "penalties": list(PENALTIES),
                "seed": protocol.seed,
                **asdict(protocol.settings),
                "relatedness": asdict(protocol.relatedness),
            },
            "missing": {name: list(files) for name, files in transfer_tasks.missing.items()},
        },
        report=lambda scores: format_transfer(scores, transfer_tasks.missing),
        name=f"senteval {' '.join(task.name for task in transfer_tasks.tasks)}",
        kind="evaluate-senteval",
        kept=("tasks", "protocol", "classifier", "missing"),
        trained="a regression was trained on top of fixed vectors",
    )


TRANSFER = Suite(
    _read,
    settings=("tasks", "sick_test_on_trial"),
    section="hf-paraphrase evaluate: senteval",
    heading="Evaluation: transfer tasks",
)
