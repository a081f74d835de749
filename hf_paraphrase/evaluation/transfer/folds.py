"""Stratified folds, drawn as SentEval draws them."""

from __future__ import annotations

import numpy as np


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
