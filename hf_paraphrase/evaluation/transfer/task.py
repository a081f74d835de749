"""What a transfer task is: labelled sentences or pairs, and how SentEval scores an encoder on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...artefacts.measurements import Measurement
from .cross_validation import Protocol

Vectors = Callable[[Sequence[str]], np.ndarray]
"""Gives the vectors float32 (n, dim) of n sentences of the tasks."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Sentences, or pairs of them, with what people said of them.

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
        return Examples(tuple([side[place] for place in order] for side in self.sides), self.gold[order])

    def rows(self, chosen: np.ndarray) -> Examples:
        """Returns the examples at some places."""
        return Examples(tuple([side[place] for place in chosen] for side in self.sides), self.gold[chosen])

    def pair_features(self, vectors: Vectors) -> np.ndarray:
        """Computes |u − v| and u ∗ v of each pair, side by side: float32 (n, 2·dim)."""
        first, second = (vectors(side) for side in self.sides)
        return np.concatenate([np.abs(first - second), first * second], axis=1)


@dataclass(frozen=True)
class TaskResult:
    """What one scorer reached on one task.

    Attributes:
        task: The task.
        tested_on: What it was tested on, e.g. `10 folds` or `test`.
        train: Number of examples to train on, those that choose the settings not among them.
        test: Number of examples that were tested.
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


class TransferTask(ABC):
    """A task that is there in full.

    Attributes:
        name: SentEval's name for it, e.g. `MR`.
        parts: The examples of each split.
    """

    def __init__(self, name: str, parts: dict[str, Examples]) -> None:
        self.name = name
        self.parts = {split: examples.in_order() for split, examples in parts.items()}

    def sentences(self) -> Iterator[str]:
        """Lists all sentences, repeated ones too."""
        for examples in self.parts.values():
            for side in examples.sides:
                yield from side

    @abstractmethod
    def regressions(self, protocol: Protocol) -> int:
        """Returns how many softmax regressions :meth:`evaluate` trains, for a progress bar."""

    @abstractmethod
    def evaluate(self, vectors: Vectors, protocol: Protocol) -> TaskResult:
        """Trains and tests a classifier on the vectors."""


@dataclass(frozen=True)
class FoundTasks:
    """What a family of tasks has below a folder.

    Attributes:
        tasks: Those that are there.
        missing: For each of the others the files that it lacks.
        paths: The files that were read.
    """

    tasks: tuple[TransferTask, ...] = ()
    missing: dict[str, tuple[str, ...]] = field(default_factory=dict)
    paths: tuple[Path, ...] = ()


def majority(train: np.ndarray, test: np.ndarray) -> dict[str, float]:
    """Computes the accuracy, in per cent, of giving every test example the most frequent class of the train part."""
    return {"accuracy": 100 * float((test == np.bincount(train).argmax()).mean())}
