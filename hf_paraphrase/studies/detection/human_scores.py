"""Human scores against the similarities of a model (paper 003, section A.4, figure 2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...evaluation.correlation import is_constant, spearman

MOST_GROUPS = 12
"""Different scores up to which each is a group of its own."""
LEVEL = 0.01
"""The level of significance of the paper."""


@dataclass(frozen=True)
class ScoreGroup:
    """The pairs of one human score.

    Attributes:
        score: The score, or the middle of the band of scores.
        deviation: The standard deviation of their cosines, with n − 1; None for a single pair.
    """

    score: float
    pairs: int
    mean: float
    deviation: float | None


@dataclass(frozen=True)
class NeighbourTest:
    """Welch's t-test between the cosines of two neighbouring scores.

    Attributes:
        difference: The mean cosine of the higher minus that of the lower.
        t: The statistic; None where the test is not defined.
        p: The two-sided probability of a difference as great by chance.
        note: Why there is no test; empty where there is one.
    """

    low: float
    high: float
    difference: float
    t: float | None = None
    degrees: float | None = None
    p: float | None = None
    note: str = ""


@dataclass(frozen=True, eq=False)
class HumanScores:
    """What one model makes of one graded set.

    Attributes:
        rho: Spearman's rho × 100 over all pairs as they are scored; None where it is not defined.
        step: The width of the bands of scores; None where every score is a group of its own.
    """

    groups: tuple[ScoreGroup, ...]
    tests: tuple[NeighbourTest, ...]
    rho: float | None
    step: float | None
    note: str = ""

    @property
    def rises(self) -> int:
        """How many steps to the next score raise the mean cosine."""
        return sum(test.difference > 0 for test in self.tests)


def score_step(scores: NDArray[np.float64]) -> float | None:
    """Chooses the width of the bands into which scores are put.

    Args:
        scores: Human scores (pairs,).

    Returns:
        None for at most twelve different scores: each is a group of its own. Else the least of 1, 2 and 5 times a
        power of ten that makes at most twelve bands.
    """
    if len(np.unique(scores)) <= MOST_GROUPS:
        return None
    low, high = float(scores.min()), float(scores.max())
    power = math.floor(math.log10((high - low) / MOST_GROUPS))
    for step in (factor * 10.0**exponent for exponent in range(power, power + 3) for factor in (1.0, 2.0, 5.0)):
        if _bands(low, high, step) <= MOST_GROUPS:
            return step
    return high - low


def band_numbers(scores: NDArray[np.float64], step: float) -> NDArray[np.int64]:
    """Numbers the bands of scores (pairs,): band k is around k · step, its lower end inside."""
    return np.floor(scores / step + 0.5 + 1e-9).astype(np.int64)


def _bands(low: float, high: float, step: float) -> int:
    first, last = band_numbers(np.array([low, high]), step).tolist()
    return last - first + 1


def compare_scores(
    scores: NDArray[np.float64], cosines: NDArray[np.float64], step: float | None = None
) -> HumanScores:
    """Describes the cosines of the pairs of each human score, and tests whether neighbouring scores differ.

    A score with a single pair has a mean but no standard deviation, and no test with its neighbours; a set with one
    score only has no test and no correlation.

    Args:
        scores: Human scores (pairs,).
        cosines: The similarities of the same pairs (pairs,).
        step: Width of the bands of scores; None for each score by itself.
    """
    if not len(scores) or scores.shape != cosines.shape:
        raise ValueError(f"scores {scores.shape} and cosines {cosines.shape} must be as many, and some")
    bands = np.unique(scores, return_inverse=True)[1] if step is None else band_numbers(scores, step)
    groups = []
    for band in np.unique(bands):
        inside = bands == band
        values = cosines[inside]
        score = float(scores[inside][0]) if step is None else round(float(band) * step, 9)
        deviation = float(values.std(ddof=1)) if len(values) > 1 else None
        groups.append(ScoreGroup(score, len(values), float(values.mean()), deviation))
    tests = tuple(_test(low, high) for low, high in pairwise(groups))
    note = ""
    if len(scores) < 2:
        note = "a single pair: no correlation is defined"
    elif is_constant(scores):
        note = "all human scores are equal: no correlation is defined"
    elif is_constant(cosines):
        note = "all cosines are equal: no correlation is defined"
    rho = None if note else 100.0 * spearman(cosines, scores)
    return HumanScores(tuple(groups), tests, rho, step, note)


def _test(low: ScoreGroup, high: ScoreGroup) -> NeighbourTest:
    """Tests whether two groups have the same mean (Welch 1947), from their means and deviations."""
    from scipy.stats import t as student

    difference = high.mean - low.mean
    few = [f"{side.score:g}" for side in (low, high) if side.pairs < 2]
    if few:
        return NeighbourTest(low.score, high.score, difference, note=f"fewer than 2 pairs at {' and '.join(few)}")
    errors = [(side.deviation or 0.0) ** 2 / side.pairs for side in (low, high)]
    # What is left of a spread is rounding.
    if sum(errors) <= 1e-24:
        return NeighbourTest(low.score, high.score, difference, note="no spread at either score")
    t = difference / math.sqrt(sum(errors))
    degrees = sum(errors) ** 2 / sum(e * e / (side.pairs - 1) for e, side in zip(errors, (low, high), strict=True))
    return NeighbourTest(low.score, high.score, difference, t, degrees, float(2.0 * student.sf(abs(t), degrees)))


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Corrects probabilities for there being several tests (Holm 1979).

    Args:
        values: The probabilities; None for a test that was not made, which does not count.

    Returns:
        In the same order the least level at which Holm's procedure rejects each hypothesis.
    """
    made = [(value, place) for place, value in enumerate(values) if value is not None]
    corrected: list[float | None] = [None for _ in values]
    highest = 0.0
    for rank, (value, place) in enumerate(sorted(made)):
        highest = max(highest, min(1.0, (len(made) - rank) * value))
        corrected[place] = highest
    return corrected
