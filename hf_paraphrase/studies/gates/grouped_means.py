"""Means of a number over groups of words, with bootstrap intervals over the sentences that the words stand in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...evaluation.verdicts import Interval


@dataclass(frozen=True)
class GroupMean:
    """A group of words.

    Attributes:
        name: What they have in common, e.g. a part of speech.
        mean: The mean of the number, with the central 95 % of its bootstrap distribution.
    """

    name: str
    words: int
    mean: Interval


def grouped_means(
    values: NDArray[np.float64],
    groups: Sequence[str | None],
    sentences: NDArray[np.int64],
    *,
    replicates: int = 200,
    seed: int = 0,
) -> list[GroupMean]:
    """Computes the mean of every group.

    In each replicate the sentences are drawn again with replacement, because words of one sentence are not independent
    draws (the cluster bootstrap; Efron and Tibshirani 1993, chapter 8). A replicate without a word of a group counts
    for the others alone.

    Args:
        values: A number for each word (words,).
        groups: The group of each word, None for none (words,).
        sentences: The number of its sentence (words,).
        replicates: How many times to draw.
        seed: Seed of the draws.

    Returns:
        The groups, the highest mean first, in alphabetical order among equals.
    """
    names = sorted({name for name in groups if name is not None})
    to_path = {name: place for place, name in enumerate(names)}
    codes = np.array([-1 if name is None else to_path[name] for name in groups], np.int64)
    inside = codes >= 0
    codes, values, sentences = codes[inside], values[inside], sentences[inside]
    if not names:
        return []
    counts = np.bincount(codes, minlength=len(names))
    means = np.bincount(codes, weights=values, minlength=len(names)) / counts
    rows, of_word = np.unique(sentences, return_inverse=True)
    generator = np.random.default_rng(seed)
    drawn = np.full((replicates, len(names)), np.nan)
    for replicate in range(replicates):
        weights = np.bincount(generator.integers(len(rows), size=len(rows)), minlength=len(rows))[of_word]
        total = np.bincount(codes, weights=weights, minlength=len(names))
        sums = np.bincount(codes, weights=weights * values, minlength=len(names))
        np.divide(sums, total, out=drawn[replicate], where=total > 0)
    group_means = []
    for place, name in enumerate(names):
        present = drawn[~np.isnan(drawn[:, place]), place]
        interval = Interval.of(means[place], present if len(present) else means[place : place + 1])
        group_means.append(GroupMean(name, int(counts[place]), interval))
    return sorted(group_means, key=lambda item: (-item.mean.value, item.name))


def from_own_mean(values: NDArray[np.float64], groups: Sequence[str]) -> NDArray[np.float64]:
    """Computes how far each value is from the mean of the others of its group; NaN where it is the only one."""
    _, codes = np.unique(np.asarray(groups), return_inverse=True)
    counts = np.bincount(codes)[codes]
    sums = np.bincount(codes, weights=values)[codes]
    others = np.divide(sums - values, counts - 1, out=np.full(len(values), np.nan), where=counts > 1)
    return values - others


def explained_share(values: NDArray[np.float64], groups: Sequence[str]) -> float:
    """Computes the share of the variance that the groups explain, each value predicted by the others of its group.

    1 minus the mean square of :func:`from_own_mean` over the variance of the same values; it is below 0 where the
    groups say nothing, and NaN if no group has two members or all values are equal.
    """
    rest = from_own_mean(values, groups)
    is_present = ~np.isnan(rest)
    spread = float(values[is_present].var()) if is_present.any() else 0.0
    return float("nan") if spread == 0 else 1.0 - float((rest[is_present] ** 2).mean()) / spread
