"""SentEval's three ways to choose a penalty and to test: nested folds, folds of a train part, and a given dev part.

Conneau and Kiela 2018, `tools/validation.py`. The penalty with the highest mean accuracy wins, rounded to hundredths
of a per cent as SentEval rounds it, the smallest of several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import InputError
from .classifier import (
    DEFAULT_RELATEDNESS,
    DEFAULT_SETTINGS,
    PENALTIES,
    SEED,
    ClassifierSettings,
    Fitted,
    Fold,
    RelatednessSettings,
)

FOLDS = 10
"""Folds, outer and inner."""
_HELD_OUT = 0.05
"""The share of the training examples that ends the training of the final regression."""

Progress = Callable[[int], object]


@dataclass(frozen=True, eq=False)
class Classified:
    """The predictions of the chosen regressions for the examples that were not trained on.

    Attributes:
        predictions: The class of each test example (n,).
        accuracy: Share of right ones from 0 to 1; with nested folds the mean over the outer folds.
        dev_accuracy: The mean accuracy by which the penalty was chosen.
    """

    predictions: np.ndarray
    accuracy: float
    dev_accuracy: float


@dataclass(frozen=True)
class Protocol:
    """The settings that all tasks share.

    Attributes:
        folds: Folds, outer and inner; 10 in the recommended settings.
        relatedness: How the regression of graded pairs is trained.
        progress: Called with the number of regressions finished.
    """

    folds: int = FOLDS
    settings: ClassifierSettings = DEFAULT_SETTINGS
    relatedness: RelatednessSettings = DEFAULT_RELATEDNESS
    seed: int = SEED
    progress: Progress | None = None

    def fit(self, features: np.ndarray, labels: np.ndarray, classes: int, folds: Sequence[Fold]) -> list[Fitted]:
        """Calls :func:`~.softmax_regressions.fit_softmax_regressions` with these settings."""
        from .softmax_regressions import fit_softmax_regressions

        return fit_softmax_regressions(
            features, labels, classes, folds, settings=self.settings, seed=self.seed, progress=self.progress
        )


def nested_folds(features: np.ndarray, labels: np.ndarray, classes: int, protocol: Protocol) -> Classified:
    """Tests every example once, with the penalty chosen by folds of the other examples (`InnerKFoldClassifier`).

    Args:
        features: float32 (n, dim).
        labels: The class of each row (n,).
        classes: How many classes there are.
        protocol: The settings.

    """
    outer = stratified_folds(labels, protocol.folds, protocol.seed)
    trains = [np.flatnonzero(outer != fold) for fold in range(protocol.folds)]
    inner = [fold for train in trains for fold in _folds_of(train, labels, protocol)]
    fitted = protocol.fit(features, labels, classes, inner)
    chosen = [_best_penalty(fitted[start : start + protocol.folds]) for start in range(0, len(fitted), protocol.folds)]
    finals = [_final_fold(train, penalty, protocol.seed) for train, (penalty, _) in zip(trains, chosen, strict=True)]
    predictions = np.empty(len(labels), dtype=np.int64)
    accuracies = []
    for fold, regression in enumerate(protocol.fit(features, labels, classes, finals)):
        test = np.flatnonzero(outer == fold)
        predictions[test] = regression.predict(features[test])
        accuracies.append(float((predictions[test] == labels[test]).mean()))
    return Classified(predictions, float(np.mean(accuracies)), float(np.mean([accuracy for _, accuracy in chosen])))


def folds_then_test(
    train: np.ndarray,
    train_labels: np.ndarray,
    test: np.ndarray,
    test_labels: np.ndarray,
    classes: int,
    protocol: Protocol,
) -> Classified:
    """Chooses the penalty by folds of the train part, and tests on the test part (`KFoldClassifier`).

    Args:
        train: float32 (n, dim).
        train_labels: The class of each (n,).
        test: float32 (m, dim).
        test_labels: The class of each (m,).
        classes: How many classes there are.
        protocol: The settings.

    """
    rows = np.arange(len(train_labels))
    fitted = protocol.fit(train, train_labels, classes, list(_folds_of(rows, train_labels, protocol)))
    penalty, dev_accuracy = _best_penalty(fitted)
    (final,) = protocol.fit(train, train_labels, classes, [_final_fold(rows, penalty, protocol.seed)])
    predictions = final.predict(test)
    return Classified(predictions, float((predictions == test_labels).mean()), dev_accuracy)


def dev_then_test(
    parts: dict[str, np.ndarray], labels: dict[str, np.ndarray], classes: int, protocol: Protocol
) -> Classified:
    """Chooses the penalty on the dev part, and tests on the test part (`SplitClassifier`).

    SentEval trains the best regression once more, with the same seed: that gives the same one, which is kept here.

    Args:
        parts: The features of `train`, `dev` and `test`, float32 (n, dim) each.
        labels: The classes of the same.
        classes: How many classes there are.
        protocol: The settings.
    """
    features = np.concatenate([parts["train"], parts["dev"]])
    gold = np.concatenate([labels["train"], labels["dev"]])
    rows = np.arange(len(gold))
    border = len(labels["train"])
    (fitted,) = protocol.fit(features, gold, classes, [Fold(rows[:border], rows[border:])])
    place = int(np.argmax(np.round(100 * np.array(fitted.accuracies), 2)))
    predictions = fitted.predict(parts["test"], place)
    return Classified(predictions, float((predictions == labels["test"]).mean()), fitted.accuracies[place])


def stratified_folds(labels: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Deals the examples of each class out to folds, so that all folds have like shares of every class.

    The folds are those of scikit-learn's `StratifiedKFold(count, shuffle=True, random_state=seed)` since its version
    0.22, which SentEval calls: classes in the order of their first example; the sorted labels dealt out like cards say
    how many examples of a class each fold gets; which ones they are is drawn, class by class, from one generator.

    Args:
        labels: The class of each example (n,), int.
        count: How many folds.
        seed: Of the draws.

    Returns:
        The fold of each example (n,), int64.
    """
    generator = np.random.RandomState(seed)
    classes, first = np.unique(labels, return_index=True)
    classes = classes[np.argsort(first)]
    sizes = [int((labels == label).sum()) for label in classes]
    dealt = np.arange(len(labels)) % count
    folds = np.empty(len(labels), dtype=np.int64)
    start = 0
    for label, size in zip(classes, sizes, strict=True):
        own = np.sort(dealt[start : start + size])
        generator.shuffle(own)
        folds[labels == label] = own
        start += size
    return folds


def check_enough(labels: np.ndarray, least: int, *, name: str, path: Path) -> None:
    """Checks that there are two classes and enough examples of the larger one that no fold is empty.

    Args:
        labels: The class of each example (n,).
        least: The least number of examples of the larger class; 20 or more, lest nothing be held out in the end.
        name: The task.
        path: Its first file.
    """
    sizes = np.bincount(labels, minlength=1)
    if (sizes > 0).sum() < 2 or sizes.max() < least:
        raise InputError(
            f"{name} has {len(labels)} examples, at most {sizes.max()} of a class: too few for folds",
            path=path,
            remedy=f"two classes and {least} examples of the larger one are the least",
        )


def _folds_of(rows: np.ndarray, labels: np.ndarray, protocol: Protocol) -> list[Fold]:
    """Parts rows into folds, each held out once."""
    folds = stratified_folds(labels[rows], protocol.folds, protocol.seed)
    return [Fold(rows[folds != fold], rows[folds == fold]) for fold in range(protocol.folds)]


def _best_penalty(fitted: Sequence[Fitted]) -> tuple[float, float]:
    """Returns the penalty with the highest mean accuracy over the folds, and that mean, rounded."""
    means = np.round(100 * np.mean([fold.accuracies for fold in fitted], axis=0), 2)
    place = int(np.argmax(means))
    return PENALTIES[place], float(means[place]) / 100


def _final_fold(rows: np.ndarray, penalty: float, seed: int) -> Fold:
    """Holds out a twentieth of the rows, the first of a permutation of them."""
    order = rows[np.random.RandomState(seed).permutation(len(rows))]
    count = int(_HELD_OUT * len(rows))
    return Fold(order[count:], order[:count], (penalty,), drawn=len(rows))
