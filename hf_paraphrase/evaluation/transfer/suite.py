"""The suite `senteval`: transfer tasks, for each a regression of scikit-learn trained on fixed sentence vectors.

Conneau and Kiela 2018, "SentEval", whose parts and penalties these are. Without a test part every example is tested
once, by nested folds; a task with a test part chooses the penalty by folds of its train part, one with a dev part by
that. SentEval's own classifier is a softmax regression that Adam trains until a held-out part is best; here it is
trained to its minimum, so that figures differ by up to about a point.

A score y between two whole numbers is a distribution over the two, p(⌊y⌋) = ⌊y⌋ − y + 1 and p(⌊y⌋ + 1) = y − ⌊y⌋, and
the expected class is the predicted score (Tai, Socher and Manning 2015, section 4.2, with their cross-entropy).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm.auto import tqdm

from ...artefacts.card_heads import Measurement
from ...tables import format_table, number, short_names
from ..baselines import Encode, Scorer, encode_once
from ..classifiers import (
    FOLDS,
    PENALTIES,
    SEED,
    accuracy,
    check_sklearn,
    f1_of_paraphrases,
    fitter,
    predict_classes,
    predict_scores,
    regressions,
)
from ..correlation import pearson, spearman
from ..suite import Benchmark, Scores, Suite, one_folder, words_of
from .tasks import TASKS, ReadTask, TransferTasks, choose_tasks, find_transfer_tasks

if TYPE_CHECKING:
    from ..evaluate_settings import EvaluateSettings

Progress = Callable[[int], object]
_LABELS = {"accuracy": "accuracy", "f1": "F1", "pearson": "r", "spearman": "rho", "mse": "MSE"}


@dataclass(frozen=True)
class TaskResult:
    """What one scorer reached on one task.

    Attributes:
        tested_on: What it was tested on, e.g. `10 folds` or `test`.
        train: Number of examples to train on, those that choose the settings not among them.
        metrics: `accuracy` and `f1` in per cent, `pearson` and `spearman` × 100, `mse` in squared points of the scale;
            the first is the one to quote.
        dev: What the penalty was chosen by, in the same units.
        majority: Accuracy and F1 of always giving the most frequent class of the training examples, in per cent.
    """

    task: str
    tested_on: str
    train: int
    test: int
    metrics: dict[str, float]
    dev: dict[str, float]
    majority: dict[str, float] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Returns everything as plain values for JSON."""
        return asdict(self)

    def measurements(self) -> list[Measurement]:
        """Lists the measures of the task; the squared error is on a scale of its own and left out."""
        names = {
            "accuracy": ("text-classification", "accuracy", "accuracy (%; regression on fixed vectors, SentEval)"),
            "f1": ("text-classification", "f1", "F1 × 100 (regression on fixed vectors, SentEval)"),
            "pearson": ("sentence-similarity", "pearsonr", "Pearson × 100 (regression on fixed vectors, SentEval)"),
            "spearman": ("sentence-similarity", "spearmanr", "Spearman × 100 (regression on fixed vectors, SentEval)"),
        }
        return [
            Measurement(kind, self.task, metric, self.metrics[key], title, "Transfer", split=self.tested_on)
            for key, (kind, metric, title) in names.items()
            if key in self.metrics
        ]


def evaluate_transfer(
    encode: Encode,
    folder: str | os.PathLike[str],
    tasks: Iterable[str] = (),
    *,
    folds: int = FOLDS,
    sick_test_on_trial: bool = False,
) -> tuple[TaskResult, ...]:
    """Evaluates an encoder on SentEval's tasks (Conneau and Kiela 2018) whose files are present.

    Args:
        encode: Maps n sentences to vectors (n, dim).
        folder: The folder below which the raw files of the tasks are, or data folders prepared of them.
        tasks: Names of :data:`.tasks.TASKS`; all by default. A task that is incomplete has no result.
        folds: Folds, outer and inner.
        sick_test_on_trial: Test SICK on its trial part where its test part is missing.

    Returns:
        One result a task, in the order of :data:`.tasks.TASKS`.
    """
    check_sklearn()
    found = find_transfer_tasks(Path(folder), choose_tasks(tasks), folds=folds, sick_test_on_trial=sick_test_on_trial)
    return evaluate_tasks(encode, found, folds=folds)


def evaluate_tasks(
    encode: Encode, transfer_tasks: TransferTasks, *, folds: int = FOLDS, progress: Progress | None = None
) -> tuple[TaskResult, ...]:
    """Evaluates an encoder on tasks that are read already; each distinct sentence is encoded once.

    Args:
        encode: Maps n sentences to vectors (n, dim).
        transfer_tasks: The tasks.
        folds: Folds, outer and inner.
        progress: Called with 1 after each regression.
    """
    vectors = encode_once(encode, transfer_tasks.sentences())
    fit = fitter(progress)
    return tuple(
        _evaluate_scores(task, vectors, fit) if not task.row.classes else _evaluate_classes(task, vectors, folds, fit)
        for task in transfer_tasks.tasks
    )


def _evaluate_classes(task: ReadTask, vectors: Any, folds: int, fit: Callable[..., Any]) -> TaskResult:
    features = {name: examples.features(vectors) for name, examples in task.parts.items()}
    gold = {name: examples.gold for name, examples in task.parts.items()}
    x, y = features["train"], gold["train"]
    if "dev" in gold:
        models = [fit(x, y, penalty) for penalty in PENALTIES]
        dev_accuracies = [float(model.score(features["dev"], gold["dev"])) for model in models]
        best = int(np.argmax(dev_accuracies))
        dev, predictions, tested = dev_accuracies[best], models[best].predict(features["test"]), gold["test"]
    else:
        predictions, dev = predict_classes(x, y, features.get("test"), folds, fit)
        tested = gold.get("test", y)
    always = np.full(len(tested), np.bincount(y).argmax())
    measures = {"accuracy": accuracy}
    if task.row.classes == 2 and "test" in gold:
        measures["f1"] = f1_of_paraphrases
    return TaskResult(
        task.name,
        task.tested_on if "test" in gold else f"{folds} folds",
        len(y) if "test" in gold else len(y) - len(y) // folds,
        len(tested),
        {name: 100 * measure(predictions, tested) for name, measure in measures.items()},
        {"accuracy": 100 * dev},
        {name: 100 * measure(always, tested) for name, measure in measures.items()},
    )


def _evaluate_scores(task: ReadTask, vectors: Any, fit: Callable[..., Any]) -> TaskResult:
    features = {name: examples.features(vectors) for name, examples in task.parts.items()}
    gold = {name: examples.gold for name, examples in task.parts.items()}
    predicted, dev = predict_scores(features, gold, fit)
    metrics = {
        "pearson": 100 * pearson(predicted, gold["test"]),
        "spearman": 100 * spearman(predicted, gold["test"]),
        "mse": float(np.mean((predicted - gold["test"]) ** 2)),
    }
    return TaskResult(
        task.name, task.tested_on, len(gold["train"]), len(gold["test"]), metrics, {"pearson": 100 * dev}
    )


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
    check_sklearn()
    transfer_tasks = find_transfer_tasks(folder, names, sick_test_on_trial=settings.sick_test_on_trial)

    def measure(scorer: Scorer) -> Scores:
        total = sum(
            len(PENALTIES) if "dev" in task.parts else regressions(test="test" in task.parts)
            for task in transfer_tasks.tasks
        )
        with tqdm(total=total, unit=" regressions", desc="train") as bar:
            results = evaluate_tasks(scorer.encode, transfer_tasks, progress=bar.update)
        return Scores.of_tasks(scorer, results)

    return Benchmark(
        measure,
        inputs=transfer_tasks.paths,
        protocol="tasks of SentEval (Conneau and Kiela 2018): logistic regression on fixed sentence vectors; accuracy "
        "and F1 in per cent, Pearson and Spearman x 100",
        facts={
            "classifier": {
                "name": "scikit-learn LogisticRegression",
                "folds": FOLDS,
                "penalties": list(PENALTIES),
                "seed": SEED,
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
