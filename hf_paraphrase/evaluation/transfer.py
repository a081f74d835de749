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
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm.auto import tqdm

from ..artefacts.card_heads import Measurement
from ..tables import format_table, number, short_names
from .baselines import Encode, Scorer, encode_once
from .classifiers import FOLDS, PENALTIES, SEED, check_sklearn, fit_classifier, predict_classes, predict_scores
from .correlation import pearson, spearman
from .suite import Benchmark, Scores, Suite, one_folder, words_of
from .transfer_tasks import TASKS, ReadTask, TransferTasks, choose_tasks, find_transfer_tasks

if TYPE_CHECKING:
    from .evaluate_settings import EvaluateSettings

_LABELS = {"accuracy": "accuracy", "f1": "F1", "pearson": "r", "spearman": "rho", "mse": "MSE"}
_PUBLISHED = {
    "accuracy": ("text-classification", "accuracy", "accuracy (%; regression on fixed vectors, SentEval)"),
    "f1": ("text-classification", "f1", "F1 × 100 (regression on fixed vectors, SentEval)"),
    "pearson": ("sentence-similarity", "pearsonr", "Pearson × 100 (regression on fixed vectors, SentEval)"),
    "spearman": ("sentence-similarity", "spearmanr", "Spearman × 100 (regression on fixed vectors, SentEval)"),
}
"""Task, metric and name in the head of a card; the squared error is on a scale of its own and left out."""


def evaluate_transfer(
    encode: Encode,
    folder: str | os.PathLike[str],
    tasks: Iterable[str] = (),
    *,
    folds: int = FOLDS,
) -> list[dict[str, Any]]:
    """Evaluates an encoder on SentEval's tasks (Conneau and Kiela 2018) whose files are below a folder.

    Args:
        encode: Maps n sentences to vectors (n, dim).
        folder: Has the raw files of the tasks, or data folders prepared of them.
        tasks: Names of :data:`~.transfer_tasks.TASKS`; all by default. A task that is incomplete has no result.
        folds: Folds, outer and inner.

    Returns:
        As :func:`evaluate_tasks`, in the order of :data:`~.transfer_tasks.TASKS`.
    """
    check_sklearn()
    found = find_transfer_tasks(Path(folder), choose_tasks(tasks), folds=folds)
    return evaluate_tasks(encode, found, folds=folds)


def evaluate_tasks(encode: Encode, transfer_tasks: TransferTasks, *, folds: int = FOLDS) -> list[dict[str, Any]]:
    """Evaluates an encoder on tasks that are read already; each distinct sentence is encoded once.

    Returns:
        For each task its name; `tested_on`, e.g. `10 folds` or `test`; the numbers of examples to `train` on, those
        that choose the settings not among them, and to `test` on; `metrics`: `accuracy` and `f1` in per cent,
        `pearson` and `spearman` × 100, `mse` in squared points of the scale; `dev`, what the penalty was chosen by;
        and `majority`, accuracy and F1 of always giving the most frequent class of the training examples.
    """
    vectors = encode_once(encode, transfer_tasks.sentences())
    results = []
    for task in tqdm(transfer_tasks.tasks, unit=" tasks", desc="train"):
        features = {name: examples.features(vectors) for name, examples in task.parts.items()}
        gold = {name: examples.gold for name, examples in task.parts.items()}
        results.append((_classes if task.classes else _scores)(task, features, gold, folds))
    return results


def _classes(
    task: ReadTask, features: Mapping[str, np.ndarray], gold: Mapping[str, np.ndarray], folds: int
) -> dict[str, Any]:
    from sklearn.metrics import f1_score

    x, y = features["train"], gold["train"]
    if "dev" in gold:
        models = [fit_classifier(x, y, penalty) for penalty in PENALTIES]
        dev_accuracies = [float(model.score(features["dev"], gold["dev"])) for model in models]
        best = int(np.argmax(dev_accuracies))
        dev, predictions = dev_accuracies[best], models[best].predict(features["test"])
    else:
        predictions, dev = predict_classes(x, y, features.get("test"), folds)
    tested = gold.get("test", y)
    majority = np.full(len(tested), np.bincount(y).argmax())

    def measures(answers: np.ndarray) -> dict[str, float]:
        found = {"accuracy": 100 * float((answers == tested).mean())}
        if task.classes == 2 and "test" in gold:
            found["f1"] = 100 * float(f1_score(tested, answers, zero_division=0))
        return found

    return {
        "task": task.name,
        "tested_on": "test" if "test" in gold else f"{folds} folds",
        "train": len(y) if "test" in gold else len(y) - len(y) // folds,
        "test": len(tested),
        "metrics": measures(predictions),
        "dev": {"accuracy": 100 * dev},
        "majority": measures(majority),
    }


def _scores(
    task: ReadTask, features: Mapping[str, np.ndarray], gold: Mapping[str, np.ndarray], folds: int
) -> dict[str, Any]:
    predicted, dev = predict_scores(features, gold)
    metrics = {
        "pearson": 100 * pearson(predicted, gold["test"]),
        "spearman": 100 * spearman(predicted, gold["test"]),
        "mse": float(np.mean((predicted - gold["test"]) ** 2)),
    }
    return {
        "task": task.name,
        "tested_on": "test",
        "train": len(gold["train"]),
        "test": len(gold["test"]),
        "metrics": metrics,
        "dev": {"pearson": 100 * dev},
        "majority": {},
    }


def transfer_measurements(result: Mapping[str, Any]) -> list[Measurement]:
    """Lists the measures of a task for the head of a card."""
    return [
        Measurement(kind, result["task"], metric, result["metrics"][key], title, "Transfer", split=result["tested_on"])
        for key, (kind, metric, title) in _PUBLISHED.items()
        if key in result["metrics"]
    ]


def format_transfer(scores: Sequence[Scores], missing: Mapping[str, Sequence[str]]) -> str:
    """Formats the measures of all tasks as a Markdown table, and names what was not found."""
    header = ["task", "measure", "train", "test", "tested on", "majority", *short_names([s.name for s in scores])]
    rows = []
    for place, task in enumerate(scores[0].record["tasks"]):
        for name in task["metrics"]:
            values = [scorer.record["tasks"][place]["metrics"][name] for scorer in scores]
            cells = [f"{value:.3f}" if name == "mse" else number(value) for value in values]
            about = [str(task["train"]), str(task["test"]), task["tested_on"], number(task["majority"].get(name))]
            rows.append([task["task"], _LABELS[name], *about, *cells])
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
    found = find_transfer_tasks(folder, names)

    def measure(scorer: Scorer) -> Scores:
        results = evaluate_tasks(scorer.encode, found)
        measurements = tuple(one for result in results for one in transfer_measurements(result))
        return Scores(scorer.name, scorer.kind, {"tasks": results}, measurements)

    classifier = {
        "name": "scikit-learn LogisticRegression", "folds": FOLDS, "penalties": list(PENALTIES), "seed": SEED
    }  # fmt: skip
    return Benchmark(
        measure,
        inputs=found.paths,
        protocol="tasks of SentEval (Conneau and Kiela 2018): logistic regression on fixed sentence vectors; accuracy "
        "and F1 in per cent, Pearson and Spearman x 100",
        facts={
            "classifier": classifier,
            "missing": {name: list(files) for name, files in found.missing.items()},
        },
        report=lambda scores: format_transfer(scores, found.missing),
        name=f"senteval {' '.join(task.name for task in found.tasks)}",
        trained="a regression was trained on top of fixed vectors",
    )


TRANSFER = Suite(
    _read,
    settings=("tasks",),
    section="hf-paraphrase evaluate: senteval",
    heading="Evaluation: transfer tasks",
)
