"""SentEval's ways to score an encoder on a transfer task: three of classes, one of scores.

Conneau and Kiela 2018. The features of a sentence are its vector, those of a pair |u − v| and u ∗ v.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...artefacts.card_heads import Measurement
from ..correlation import pearson, spearman
from .classifier import PENALTIES
from .cross_validation import Protocol, dev_then_test, folds_then_test, nested_folds

Vectors = Callable[[Sequence[str]], np.ndarray]
"""Returns the vectors float32 (n, dim) of n sentences of the tasks."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Sentences, or pairs of them, with human labels or scores.

    Attributes:
        sides: The sentences; a second list of equal length for pairs.
        gold: The class (int64) or score (float64) of each (n,).
    """

    sides: tuple[list[str], ...]
    gold: np.ndarray = field(repr=False)

    def __len__(self) -> int:
        return len(self.gold)

    def in_order(self) -> Examples:
        """Sorts by the numbers of words, then by class or score, the order kept where these are equal.

        SentEval sorts its examples so before it draws folds and batches from them; other folds give other figures.
        """
        words = [np.array([len(text.split()) for text in side], dtype=np.float64) for side in self.sides]
        # The last key is the first that counts.
        order = np.lexsort(np.stack([self.gold.astype(np.float64), *reversed(words)]))
        return self.rows(order)

    def rows(self, chosen: np.ndarray) -> Examples:
        """Returns the examples at some places."""
        return Examples(tuple([side[place] for place in chosen] for side in self.sides), self.gold[chosen])

    def features(self, vectors: Vectors) -> np.ndarray:
        """Computes the vector of each sentence (n, dim); of pairs |u − v| and u ∗ v side by side (n, 2·dim)."""
        if len(self.sides) == 1:
            return vectors(self.sides[0])
        first, second = (vectors(side) for side in self.sides)
        return np.concatenate([np.abs(first - second), first * second], axis=1)


@dataclass(frozen=True)
class TaskResult:
    """What one scorer reached on one task.

    Attributes:
        tested_on: What it was tested on, e.g. `10 folds` or `test`.
        train: Number of examples to train on, those that choose the settings not among them.
        metrics: `accuracy` and `f1` in per cent, `pearson` and `spearman` × 100, `mse` in squared points of the scale;
            the first is the one to quote.
        dev: What the settings were chosen by, in the same units.
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
        return {
            "task": self.task,
            "tested_on": self.tested_on,
            "train": self.train,
            "test": self.test,
            "metrics": self.metrics,
            "dev": self.dev,
            "majority": self.majority,
        }

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


@dataclass(frozen=True)
class Reached:
    """What a way of scoring found; the attributes are those of :class:`TaskResult`.

    `tested_on` is empty where it is the part `test`, and the F1 is that of class 1.
    """

    train: int
    test: int
    metrics: dict[str, float]
    dev: dict[str, float]
    majority: dict[str, float] = field(default_factory=dict)
    tested_on: str = ""


@dataclass(frozen=True)
class Way:
    """How an encoder is scored on a task.

    Attributes:
        score: Trains and tests, given the parts of the task, the vectors, the number of classes and the settings.
        fewest: The least number of examples of the larger class in the part `train`; None where no fold is drawn.
    """

    score: Callable[[Mapping[str, Examples], Vectors, int, Protocol], Reached]
    regressions: Callable[[Protocol], int]
    fewest: Callable[[Protocol], int | None] = lambda protocol: None


def f1_of_paraphrases(predictions: np.ndarray, gold: np.ndarray) -> float:
    """Computes the F1 of class 1, from 0 to 1; 0 where it is neither predicted nor there."""
    hits = int(((predictions == 1) & (gold == 1)).sum())
    return 2 * hits / max(1, int((predictions == 1).sum()) + int((gold == 1).sum()))


def _majority(train: np.ndarray, test: np.ndarray) -> dict[str, float]:
    """Computes accuracy and F1, in per cent, of giving all test examples the most frequent class of the train part."""
    always = np.full(len(test), np.bincount(train).argmax())
    return {"accuracy": 100 * float((test == always).mean()), "f1": 100 * f1_of_paraphrases(always, test)}


def _by_nested_folds(parts: Mapping[str, Examples], vectors: Vectors, classes: int, protocol: Protocol) -> Reached:
    """Tests every example once, by a regression whose penalty was chosen by folds of the others (`binary.py`)."""
    examples = parts["train"]
    tested = nested_folds(examples.features(vectors), examples.gold, classes, protocol)
    size = len(examples)
    return Reached(
        size - size // protocol.folds,
        size,
        {"accuracy": 100 * tested.accuracy},
        {"accuracy": 100 * tested.dev_accuracy},
        _majority(examples.gold, examples.gold),
        f"{protocol.folds} folds",
    )


def _by_folds_of_train(parts: Mapping[str, Examples], vectors: Vectors, classes: int, protocol: Protocol) -> Reached:
    """Chooses the penalty by folds of the train part, and tests on the other (`trec.py`, `mrpc.py`)."""
    train, test = parts["train"], parts["test"]
    tested = folds_then_test(train.features(vectors), train.gold, test.features(vectors), test.gold, classes, protocol)
    return Reached(
        len(train),
        len(test),
        {"accuracy": 100 * tested.accuracy, "f1": 100 * f1_of_paraphrases(tested.predictions, test.gold)},
        {"accuracy": 100 * tested.dev_accuracy},
        _majority(train.gold, test.gold),
    )


def _by_the_dev_part(parts: Mapping[str, Examples], vectors: Vectors, classes: int, protocol: Protocol) -> Reached:
    """Chooses the penalty on `dev`, and tests on `test` (`sick.py`)."""
    labels = {name: examples.gold for name, examples in parts.items()}
    tested = dev_then_test(_features(parts, vectors), labels, classes, protocol)
    return Reached(
        len(labels["train"]),
        len(labels["test"]),
        {"accuracy": 100 * tested.accuracy},
        {"accuracy": 100 * tested.dev_accuracy},
        _majority(labels["train"], labels["test"]),
    )


def _by_relatedness(parts: Mapping[str, Examples], vectors: Vectors, classes: int, protocol: Protocol) -> Reached:
    """Trains on `train`, chooses the epoch on `dev`, and correlates on `test` (`sick.py`, `sts.py`)."""
    from .relatedness import predict_relatedness

    scores = {name: examples.gold for name, examples in parts.items()}
    predicted, dev = predict_relatedness(
        _features(parts, vectors), scores, settings=protocol.relatedness, seed=protocol.seed
    )
    if protocol.progress is not None:
        protocol.progress(1)
    metrics = {
        "pearson": 100 * pearson(predicted, scores["test"]),
        "spearman": 100 * spearman(predicted, scores["test"]),
        "mse": float(np.mean((predicted - scores["test"]) ** 2)),
    }
    return Reached(len(parts["train"]), len(parts["test"]), metrics, {"pearson": 100 * dev})


def _features(parts: Mapping[str, Examples], vectors: Vectors) -> dict[str, np.ndarray]:
    return {name: examples.features(vectors) for name, examples in parts.items()}


BY_NESTED_FOLDS = Way(
    _by_nested_folds, lambda protocol: protocol.folds * (protocol.folds * len(PENALTIES) + 1), lambda p: p.folds**2
)
BY_FOLDS_OF_TRAIN = Way(
    _by_folds_of_train, lambda protocol: protocol.folds * len(PENALTIES) + 1, lambda protocol: 2 * protocol.folds
)
BY_THE_DEV_PART = Way(_by_the_dev_part, lambda protocol: len(PENALTIES))
BY_RELATEDNESS = Way(_by_relatedness, lambda protocol: 1)
