"""Gold pairs among random ones: the validation set on which paper 002 compares classifiers (section 3.4, table 2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .classification import ClassifiedSides
from .measures import Curve, are_gold

PAPERS_NEGATIVES = 5503
"""Random pairs for every gold pair in the paper: 50 million for 9,086."""
_PAIRS_AT_A_TIME = 1 << 20


def random_pair_curve(
    sides: ClassifiedSides, gold: NDArray[np.int64], sources: int, targets: int, negatives: int, seed: int
) -> Curve:
    """Scores the gold pairs and random pairs of the two collections.

    Args:
        sides: The collections as a classifier sees them.
        gold: The places of the gold pairs (gold, 2).
        sources: How many source sentences there are.
        targets: How many target sentences there are.
        negatives: Random pairs for every gold pair; those that happen to be gold are left out, repeats are not.
        seed: Of the draw.

    Returns:
        Precision and recall at every threshold.
    """
    random = np.random.default_rng(seed)
    scores = [sides.probabilities(gold[:, 0], gold[:, 1])]
    right = [np.ones(len(gold), bool)]
    left = negatives * len(gold)
    while left:
        number = min(left, _PAIRS_AT_A_TIME)
        source, target = random.integers(sources, size=number), random.integers(targets, size=number)
        wrong = ~are_gold(source, target, gold, targets)
        scores.append(sides.probabilities(source[wrong], target[wrong]))
        right.append(np.zeros(len(scores[-1]), bool))
        left -= number
    return Curve.of(np.concatenate(scores), np.concatenate(right), len(gold))
