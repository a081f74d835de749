"""The suite `senteval`: transfer tasks, for each a regression of scikit-learn trained on fixed sentence vectors.

Conneau and Kiela 2018, "SentEval", whose parts and penalties these are. Without a test part every example is tested
once, by nested folds; a task with a test part chooses the penalty by folds of its train part. SentEval's own
classifier is a softmax regression that Adam trains until a held-out part is best; here it is trained to its minimum,
so that figures differ by up to about a point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm.auto import tqdm

from ..artefacts.card_heads import Measurement
from ..tables import format_table, number, short_names
from .baselines import Encode, Scorer, encode_once
from .classifiers import FOLDS, PENALTIES, SEED, check_sklearn, predict_classes
from .suite import Benchmark, Scores, Suite, one_folder
from .transfer_tasks import TASKS, Examples, find_transfer_tasks

if TYPE_CHECKING:
    from .evaluate_settings import EvaluateSettings

_TITLES = {
    "accuracy": "accuracy (%; regression on fixed vectors, SentEval)",
    "f1": "F1 × 100 (regression on fixed vectors, SentEval)",
}


def evaluate_tasks(
    encode: Encode, tasks: Mapping[str, Mapping[str, Examples]], *, folds: int = FOLDS
) -> list[dict[str, Any]]:
    """Evaluates an encoder on tasks that are read already; each distinct sentence is encoded once.

    Returns:
        For each task its name; `tested_on`, e.g. `10 folds` or `test`; the numbers of examples to `train` on, those
        that choose the settings not among them, and to `test` on; `metrics`: `accuracy` in per cent, and of two
        classes with a test part `f1`; `dev`, what the penalty was chosen by; and `majority`, the same of always
        giving the most frequent class of the training examples.
    """
    parts = [examples for task in tasks.values() for examples in task.values()]
    vectors = encode_once(encode, (text for examples in parts for side in examples.sides for text in side))
    return [
        {"task": name, **_evaluated(task, {part: own.features(vectors) for part, own in task.items()}, folds)}
        for name, task in tqdm(tasks.items(), unit=" tasks", desc="train")
    ]


def _evaluated(task: Mapping[str, Examples], features: Mapping[str, np.ndarray], folds: int) -> dict[str, Any]:
    from sklearn.metrics import f1_score

    train, has_test = task["train"].gold, "test" in task
    predictions, dev = predict_classes(features["train"], train, features.get("test"), folds)
    tested = task["test"].gold if has_test else train

    def measures(answers: np.ndarray) -> dict[str, float]:
        found = {"accuracy": 100 * float((answers == tested).mean())}
        if has_test and train.max() == 1:
            found["f1"] = 100 * float(f1_score(tested, answers, zero_division=0))
        return found

    return {
        "tested_on": "test" if has_test else f"{folds} folds",
        "train": len(train) if has_test else len(train) - len(train) // folds,
        "test": len(tested),
        "metrics": measures(predictions),
        "dev": {"accuracy": 100 * dev},
        "majority": measures(np.full(len(tested), np.bincount(train).argmax())),
    }


def transfer_measurements(result: Mapping[str, Any]) -> list[Measurement]:
    """Lists the measures of a task for the head of a card."""
    split = result["tested_on"]
    return [
        Measurement("text-classification", result["task"], name, value, _TITLES[name], "Transfer", split=split)
        for name, value in result["metrics"].items()
    ]


def format_transfer(scores: Sequence[Scores], missing: Mapping[str, Sequence[str]]) -> str:
    """Formats the measures of all tasks as a Markdown table, and names what was not found."""
    header = ["task", "measure", "train", "test", "tested on", "majority", *short_names([s.name for s in scores])]
    rows = []
    for place, task in enumerate(scores[0].record["tasks"]):
        for name in task["metrics"]:
            cells = [number(scorer.record["tasks"][place]["metrics"][name]) for scorer in scores]
            about = [str(task["train"]), str(task["test"]), task["tested_on"], number(task["majority"][name])]
            rows.append([task["task"], "F1" if name == "f1" else name, *about, *cells])
    lines = ["", "accuracy and F1 in %; a regression was trained on fixed vectors."]
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

    classifier = "scikit-learn LogisticRegression"
    return Benchmark(
        measure,
        inputs=paths,
        protocol="tasks of SentEval (Conneau and Kiela 2018): logistic regression on fixed sentence vectors; accuracy "
        "and F1 in per cent",
        facts={
            "classifier": {"name": classifier, "folds": FOLDS, "penalties": list(PENALTIES), "seed": SEED},
            "missing": missing,
        },
        report=lambda scores: format_transfer(scores, missing),
        name=f"senteval {' '.join(tasks)}",
        trained="a regression was trained on top of fixed vectors",
    )


TRANSFER = Suite(
    _read,
    settings=("tasks",),
    section="hf-paraphrase evaluate: senteval",
    heading="Evaluation: transfer tasks",
)
