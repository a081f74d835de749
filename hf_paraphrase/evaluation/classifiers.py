"""Classifiers of scikit-learn on fixed sentence vectors, and the folds by which their penalty is chosen."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from ..errors import InputError, UsageError

FOLDS = 10
"""Folds, outer and inner, of SentEval's recommended settings."""
SEED = 1111
"""SentEval's seed."""
PENALTIES = (1e-5, 1e-4, 1e-3, 1e-2)
"""The weight decays that SentEval chooses among."""


def check_sklearn() -> None:
    """Checks that scikit-learn is installed."""
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise UsageError(
            "classifiers on sentence vectors need scikit-learn", remedy="pip install 'hf-paraphrase[classification]'"
        ) from error


def fit_classifier(features: np.ndarray, labels: np.ndarray, penalty: float) -> Any:
    """Fits a logistic regression of rows (n, dim) whose penalty is a weight decay: penalty / 2 · ‖w‖² + mean loss."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1 / (penalty * len(labels)), max_iter=1000, tol=1e-3).fit(features, labels)


def stratified_folds(labels: np.ndarray, folds: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yields the row numbers to train and to test on, for each fold."""
    from sklearn.model_selection import StratifiedKFold

    with warnings.catch_warnings():
        # A rare class is in some folds only.
        warnings.filterwarnings("ignore", message="The least populated class")
        yield from StratifiedKFold(folds, shuffle=True, random_state=SEED).split(labels, labels)


def check_enough(labels: np.ndarray, least: int, name: str, path: Path) -> None:
    """Checks that there are examples of two classes to train on in every fold."""
    second = sorted(np.bincount(labels, minlength=2))[-2]
    if second < least:
        raise InputError(
            f"{name} has {len(labels)} examples, {second} of the second largest class: too few for folds",
            path=path,
            remedy=f"give two classes with {least} examples or more",
        )


def predict_classes(
    features: np.ndarray, labels: np.ndarray, test: np.ndarray | None, folds: int = FOLDS
) -> tuple[np.ndarray, float]:
    """Predicts the classes of a test part (m, dim); without one those of the examples themselves, by nested folds.

    Returns:
        The predicted classes, and the mean accuracy over folds of the training examples, which chose the penalty.
    """
    if test is not None:
        penalty, dev = best_penalty(features, labels, folds)
        return fit_classifier(features, labels, penalty).predict(test), dev
    predictions, dev_accuracies = np.empty_like(labels), []
    for train, held_out in tqdm(stratified_folds(labels, folds), total=folds, unit=" folds", leave=False):
        penalty, dev = best_penalty(features[train], labels[train], folds)
        predictions[held_out] = fit_classifier(features[train], labels[train], penalty).predict(features[held_out])
        dev_accuracies.append(dev)
    return predictions, float(np.mean(dev_accuracies))


def best_penalty(features: np.ndarray, labels: np.ndarray, folds: int) -> tuple[float, float]:
    """Returns the penalty with the highest mean accuracy over folds, the smallest of equals, and that mean."""
    splits = list(stratified_folds(labels, folds))
    means = [
        float(
            np.mean([fit_classifier(features[a], labels[a], penalty).score(features[b], labels[b]) for a, b in splits])
        )
        for penalty in PENALTIES
    ]
    best = int(np.argmax(means))
    return PENALTIES[best], means[best]
