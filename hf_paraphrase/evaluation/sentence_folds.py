"""Parts labelled pairs into folds that share no sentence, where there is one split only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .labelled_set import sentence_key


def sentence_groups(sentences1: Sequence[str], sentences2: Sequence[str]) -> np.ndarray:
    """Groups pairs that share a sentence, directly or through other pairs.

    Args:
        sentences1: The first sentence of n pairs.
        sentences2: The second sentence of n pairs.

    Returns:
        A number for each pair (n,), int64, the same for those of a group; groups are numbered in order of appearance.
    """
    parent: dict[str, str] = {}

    def root(text: str) -> str:
        while parent.setdefault(text, text) != text:
            parent[text] = text = parent[parent[text]]
        return text

    sides = [[sentence_key(text) for text in texts] for texts in (sentences1, sentences2)]
    for first, second in zip(*sides, strict=True):
        parent[root(second)] = root(first)
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(root(first), len(numbers)) for first in sides[0]], dtype=np.int64)


def sentence_folds(sentences1: Sequence[str], sentences2: Sequence[str], count: int) -> np.ndarray:
    """Parts pairs into folds of like size so that no sentence is in two of them.

    The groups of :func:`sentence_groups`, the largest first, each go to the fold that is smallest so far.

    Args:
        sentences1: The first sentence of n pairs.
        sentences2: The second sentence of n pairs.
        count: How many folds.

    Returns:
        The fold of each pair (n,), int64, from 0; some folds are empty where there are fewer groups.
    """
    groups = sentence_groups(sentences1, sentences2)
    sizes = np.bincount(groups, minlength=1)
    fold_of = np.zeros(len(sizes), dtype=np.int64)
    filled = np.zeros(count, dtype=np.int64)
    for group in np.argsort(-sizes, kind="stable"):
        fold_of[group] = filled.argmin()
        filled[fold_of[group]] += sizes[group]
    return fold_of[groups]
