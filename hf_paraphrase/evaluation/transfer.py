"""The suites `senteval` and `classification`: regressions of scikit-learn trained on fixed vectors of labelled texts.

`senteval` has the transfer tasks of Conneau and Kiela 2018, "SentEval", whose parts and penalties these are. Without a
test part every example is tested once, by nested folds. SentEval's own regression is trained by Adam until a held-out
part is best; here it is trained to its minimum, so that figures differ by up to about a point. `classification` takes
texts of the user.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm.auto import tqdm

from ..artefacts.card_metadata import Measurement
from ..classification.labelled_texts import read_labelled
from ..data.folder import DataFolder
from ..encoders.dev_sets.pair_sets import Encode, encode_once
from ..errors import InputError, UsageError
from ..messages import log
from ..tables import number
from .baselines import Scorer
from .suite import Benchmark, Scores, Suite, format_side_by_side, has_columns, name_folders
from .transfer_tasks import TASKS, Examples, find_transfer_tasks, has_transfer_tasks

if TYPE_CHECKING:
    from .evaluate_settings import EvaluateSettings

Tasks = Mapping[str, Mapping[str, Examples]]
"""Examples by the names of tasks and of their parts, `train` and `test`."""
FOLDS = 10
"""Folds, outer and inner, of SentEval's recommended settings."""
_SEED = 1111
"""SentEval's seed."""
PENALTIES = (1e-5, 1e-4, 1e-3, 1e-2)
"""The weight decays that SentEval chooses among."""


def predict_classes(features: np.ndarray, labels: np.ndarray, test: np.ndarray | None, folds: int) -> np.ndarray:
    """Predict the classes of a test part (m, dim); without one, of the examples themselves by nested folds.

    A logistic regression minimises penalty / 2 · ‖w‖² + mean loss, with the penalty that is best over folds.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict

    class Regression(LogisticRegression):
        def __init__(self, penalty_weight: float = PENALTIES[0]) -> None:
            super().__init__(max_iter=1000, tol=1e-3)
            self.penalty_weight = penalty_weight

        def fit(self, features: np.ndarray, labels: np.ndarray) -> Regression:
            self.C = 1 / (self.penalty_weight * len(labels))
            return super().fit(features, labels)

    parts = StratifiedKFold(folds, shuffle=True, random_state=_SEED)
    search = GridSearchCV(Regression(), {"penalty_weight": PENALTIES}, cv=parts)
    with warnings.catch_warnings():
        # A rare class is in some folds only.
        warnings.filterwarnings("ignore", message="The least populated class")
        if test is not None:
            return np.asarray(search.fit(features, labels).predict(test))
        return np.asarray(cross_val_predict(search, features, labels, cv=parts))


def evaluate_tasks(encode: Encode, tasks: Tasks, *, folds: int = FOLDS, macro: bool = False) -> list[dict[str, Any]]:
    """Evaluate an encoder on tasks; each distinct sentence is encoded once.

    Returns:
        For each task its name; `tested_on`, e.g. `10 folds` or `test`; the numbers of examples to `train` and `test`
        on; `metrics`: `accuracy` in per cent, and `f1`, of two classes with a test part, or with `macro` the mean over
        classes; and `majority`, the metrics of always predicting the most frequent class.
    """
    from sklearn.metrics import f1_score

    parts = [examples for task in tasks.values() for examples in task.values()]
    vectors = encode_once(encode, (text for examples in parts for side in examples.sides for text in side))
    results = []
    for name, task in tqdm(tasks.items(), unit=" tasks", desc="train"):
        train, test = task["train"], task.get("test")
        tested = (test or train).gold
        predicted = predict_classes(
            train.features(vectors), train.gold, None if test is None else test.features(vectors), folds
        )
        answers = {"metrics": predicted, "majority": np.full(len(tested), np.bincount(train.gold).argmax())}
        measured = {key: {"accuracy": 100 * float((given == tested).mean())} for key, given in answers.items()}
        if macro or (test is not None and train.gold.max() == 1):
            average = "macro" if macro else "binary"
            for key, given in answers.items():
                measured[key]["f1"] = 100 * float(f1_score(tested, given, average=average, zero_division=0))
        result = {
            "task": name,
            "tested_on": f"{folds} folds" if test is None else "test",
            "train": len(train.gold) - (len(train.gold) // folds if test is None else 0),
            "test": len(tested),
        }
        results.append({**result, **measured})
    return results


def format_transfer(scores: Sequence[Scores], notes: Sequence[str] = ()) -> str:
    """Format the measures of all tasks as a Markdown table, and notes below it."""
    rows = []
    for index, task in enumerate(scores[0].record["tasks"]):
        for name in task["metrics"]:
            values = [scorer.record["tasks"][index]["metrics"][name] for scorer in scores]
            about = [str(task["train"]), str(task["test"]), task["tested_on"], number(task["majority"][name])]
            rows.append(([task["task"], "F1" if name == "f1" else name, *about], values))
    header = ["task", "measure", "train", "test", "tested on", "majority"]
    table = format_side_by_side(header, rows, [scorer.name for scorer in scores])
    return "\n".join([table, "accuracy and F1 in %; a regression was trained on fixed vectors.", *notes]) + "\n"


def _make_benchmark(
    tasks: Tasks, title: str, notes: Sequence[str] = (), *, macro: bool = False, facts: Mapping[str, Any], **about: Any
) -> Benchmark:
    if find_spec("sklearn") is None:
        problem = "classifiers on sentence vectors need scikit-learn"
        raise UsageError(problem, remedy="pip install 'hf-paraphrase[classification]'")
    for name, task in tasks.items():
        size = len(task["train"].gold)
        second = sorted(np.bincount(task["train"].gold, minlength=2))[-2]
        if second < 2 * FOLDS:
            problem = f"{name} has {size} examples, {second} of the second largest class: too few for folds"
            raise InputError(problem, remedy=f"give two classes with {2 * FOLDS} examples or more")

    def measure(scorer: Scorer) -> Scores:
        results = evaluate_tasks(scorer.encode, tasks, macro=macro)
        how = "regression on fixed vectors" if macro else "regression on fixed vectors, SentEval"
        titles = {"accuracy": f"accuracy (%; {how})", "f1": f"{'macro ' if macro else ''}F1 × 100 ({how})"}
        measured = partial(Measurement, "text-classification", task_name=title)
        measurements = tuple(
            measured(result["task"], name, value, titles[name], split=result["tested_on"])
            for result in results
            for name, value in result["metrics"].items()
        )
        return Scores(scorer.name, scorer.kind, {"tasks": results}, measurements)

    classifier = {"name": "scikit-learn LogisticRegression", "folds": FOLDS, "penalties": [*PENALTIES], "seed": _SEED}
    return Benchmark(
        measure,
        facts={"classifier": classifier, **facts},
        report=lambda scores: format_transfer(scores, notes),
        trained="a regression was trained on top of fixed vectors",
        **about,
    )


def _read_senteval(settings: EvaluateSettings) -> Benchmark:
    tasks, missing, paths = find_transfer_tasks(Path(settings.data[0]), settings.tasks or TASKS)
    return _make_benchmark(
        tasks,
        "Transfer",
        [f"not found: {', '.join(missing)}"] if missing else [],
        inputs=paths,
        protocol="tasks of SentEval (Conneau and Kiela 2018): logistic regression on fixed sentence vectors; accuracy "
        "and F1 in per cent",
        facts={"missing": missing},
        name=f"senteval {' '.join(tasks)}",
    )


def read_labelled_texts(
    path: Path, part: str = "train", text_column: str = "text", label_column: str = "label"
) -> tuple[list[str], list[str]]:
    """Read texts and their classes from a file, or from a part of a data folder; a null text is empty.

    A test part without any class, as in GLUE, is returned empty.
    """
    texts = read_labelled(str(path), part, column=label_column, text_column=text_column, complete=False)
    if texts.multi_label:
        remedy = "give one class per text; train-supervised takes several"
        raise texts.error(f"the column {label_column} has lists, not classes", remedy)
    if part == "test" and not any(texts.targets):
        return [], []
    if None in texts.targets:
        raise texts.error(f"row {texts.targets.index(None) + 1} has no {label_column}", "fill it in")
    return texts.first, [name for (name,) in texts.targets]


def _read_texts(settings: EvaluateSettings) -> Benchmark:
    tasks: dict[str, dict[str, Examples]] = {}
    inputs: list[Path] = []
    for name, source in name_folders(settings).items():
        parts = {"train", "test"}.intersection(DataFolder(source).splits)
        if "train" not in parts:
            raise InputError("no train part with the columns text and label", path=source, remedy="add train.csv")
        columns = settings.text_column, settings.label_column
        read = {part: read_labelled_texts(source, part, *columns) for part in sorted(parts, reverse=True)}
        if "test" in read and not read["test"][0]:
            log(f"{name}: no row of the test part has a {settings.label_column}: the train part is divided into folds")
            del read["test"]
        classes = sorted({label for _, labels in read.values() for label in labels})
        tasks[name] = {
            part: Examples((texts,), np.searchsorted(classes, labels)) for part, (texts, labels) in read.items()
        }
        inputs.append(source)
    return _make_benchmark(
        tasks,
        "Classification",
        macro=True,
        inputs=inputs,
        protocol="logistic regression on fixed sentence vectors; the F1 is the mean over the classes",
        facts={},
        name=f"classification {' '.join(tasks)}",
    )


TRANSFER = Suite(_read_senteval, has_transfer_tasks, settings=("tasks",), heading="Evaluation: transfer tasks")
CLASSIFICATION = Suite(
    _read_texts,
    has_columns("text", "label"),
    several=True,
    settings=("text_column", "label_column"),
    heading="Evaluation: classification",
)
