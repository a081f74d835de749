"""The suite `senteval`: transfer tasks, for each a regression of scikit-learn trained on fixed sentence vectors.

Conneau and Kiela 2018, "SentEval", whose parts and penalties these are. Without a test part every example is tested
once, by nested folds; a task with a test part chooses the penalty by folds of its train part, one with a dev part by
that. SentEval's own classifier is a softmax regression that Adam trains until a held-out part is best; here it is
trained to its minimum, so that figures differ by up to about a point.

A score y between two whole numbers is a distribution over the two, p(⌊y⌋) = ⌊y⌋ − y + 1 and p(⌊y⌋ + 1) = y − ⌊y⌋, and
the expected class is the predicted score (Tai, Socher and Manning 2015, section 4.2, with their cross-entropy).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm.auto import tqdm

from ..artefacts.card_heads import Measurement
from ..tables import format_table, number, short_names
from .baselines import Encode, Scorer, encode_once
from .classifiers import FOLDS, PENALTIES, SEED, check_sklearn, fit_classifier, predict_classes, predict_scores
from .correlation import pearson, spearman
from .suite import Benchmark, Scores, Suite, one_folder
from .transfer_tasks import TASKS, ReadTask, find_transfer_tasks

if TYPE_CHECKING:
    from .evaluate_settings import EvaluateSettings

Parts = Mapping[str, np.ndarray]
_LABELS = {"accuracy": "accuracy", "f1": "F1", "pearson": "r", "spearman": "rho", "mse": "MSE"}
_PUBLISHED = {
    "accuracy": ("text-classification", "accuracy", "accuracy (%; regression on fixed vectors, SentEval)"),
    "f1": ("text-classification", "f1", "F1 × 100 (regression on fixed vectors, SentEval)"),
    "pearson": ("sentence-similarity", "pearsonr", "Pearson × 100 (regression on fixed vectors, SentEval)"),
    "spearman": ("sentence-similarity", "spearmanr", "Spearman × 100 (regression on fixed vectors, SentEval)"),
}
"""Task, metric and name in the head of a card; the squared error is on a scale of its own and left out."""


def evaluate_tasks(encode: Encode, tasks: Sequence[ReadTask], *, folds: int = FOLDS) -> list[dict[str, Any]]:
    """Evaluates an encoder on tasks that are read already; each distinct sentence is encoded once.

    Returns:
        For each task its name; `tested_on`, e.g. `10 folds` or `test`; the numbers of examples to `train` on, those
        that choose the settings not among them, and to `test` on; `metrics`: `accuracy` and `f1` in per cent,
        `pearson` and `spearman` × 100, `mse` in squared points of the scale; `dev`, what the penalty was chosen by;
        and `majority`, accuracy and F1 of always giving the most frequent class of the training examples.
    """
    parts = [examples for task in tasks for examples in task.parts.values()]
    vectors = encode_once(encode, (text for examples in parts for side in examples.sides for text in side))
    results = []
    for task in tqdm(tasks, unit=" tasks", desc="train"):
        features = {name: examples.features(vectors) for name, examples in task.parts.items()}
        gold = {name: examples.gold for name, examples in task.parts.items()}
        has_test, train = "test" in gold, len(gold["train"])
        results.append(
            {
                "task": task.name,
                "tested_on": "test" if has_test else f"{folds} folds",
                "train": train if has_test else train - train // folds,
                "test": len(gold["test" if has_test else "train"]),
                **(_classes(task, features, gold, folds) if task.classes else _scores(features, gold)),
            }
        )
    return results


def _classes(task: ReadTask, features: Parts, gold: Parts, folds: int) -> dict[str, Any]:
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

    def measures(answers: np.ndarray) -> dict[str, float]:
        found = {"accuracy": 100 * float((answers == tested).mean())}
        if task.classes == 2 and "test" in gold:
            found["f1"] = 100 * float(f1_score(tested, answers, zero_division=0))
        return found

    majority = measures(np.full(len(tested), np.bincount(y).argmax()))
    return {"metrics": measures(predictions), "dev": {"accuracy": 100 * dev}, "majority": majority}


def _scores(features: Parts, gold: Parts) -> dict[str, Any]:
    predicted, dev = predict_scores(features, gold)
    metrics = {
        "pearson": 100 * pearson(predicted, gold["test"]),
        "spearman": 100 * spearman(predicted, gold["test"]),
        "mse": float(np.mean((predicted - gold["test"]) ** 2)),
    }
    return {"metrics": metrics, "dev": {"pearson": 100 * dev}, "majority": {}}


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
    check_sklearn()
    tasks, missing, paths = find_transfer_tasks(folder, settings.tasks or TASKS)

    def measure(scorer: Scorer) -> Scores:
        results = evaluate_tasks(scorer.encode, tasks)
        measurements = tuple(one for result in results for one in transfer_measurements(result))
        return Scores(scorer.name, scorer.kind, {"tasks": results}, measurements)

    return Benchmark(
        measure,
        inputs=paths,
        protocol="tasks of SentEval (Conneau and Kiela 2018): logistic regression on fixed sentence vectors; accuracy "
        "and F1 in per cent, Pearson and Spearman x 100",
        facts={
            "classifier": {
                "name": "scikit-learn LogisticRegression",
                "folds": FOLDS,
                "penalties": list(PENALTIES),
                "seed": SEED,
            },
            "missing": missing,
        },
        report=lambda scores: format_transfer(scores, missing),
        name=f"senteval {' '.join(task.name for task in tasks)}",
        trained="a regression was trained on top of fixed vectors",
    )


TRANSFER = Suite(
    _read,
    settings=("tasks",),
    section="hf-paraphrase evaluate: senteval",
    heading="Evaluation: transfer tasks",
)
