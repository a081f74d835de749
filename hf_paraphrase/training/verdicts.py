"""Confidence intervals and verdicts for differences between systems trained with several seeds.

All studies use this module. A difference varies with the seeds and with the sentence pairs of the test sets. A
two-level bootstrap resamples both: test pairs with replacement, and n − 1 of n seeds with replacement, so that the
variance over few seeds is not underestimated (Rao and Wu 1988). The variance over seeds is computed exactly, as the
variance of the seeds divided by their number. The interval is Student's t with the degrees of freedom of Welch and
Satterthwaite, and simultaneous for several comparisons by Bonferroni.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Claim = Literal["above", "below", "equivalent"]
"""A claim about a difference: above 0, below 0, or equivalent to 0."""
Verdict = Literal["holds", "fails", "inconclusive"]
EQUIVALENCE = 0.5
"""A difference is equivalent to 0 if its whole interval is within ± this many points (Pearson's r × 100)."""
FEWEST_SEEDS = 3
"""With fewer seeds of either system the result is inconclusive."""
_ROUNDING = 1e-9
"""An end within this distance of 0 is 0."""


@dataclass(frozen=True)
class Interval:
    """A number with its 95 % interval; an unbounded end is infinite."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, value: float, replicates: NDArray[np.float64]) -> Interval:
        """Make the interval of a number from the central 95 % of its values in bootstrap replicates (replicates,)."""
        low, high = np.percentile(replicates, [2.5, 97.5])
        return cls(float(value), float(low), float(high))

    def verdict(self, claim: Claim) -> Verdict:
        """Judge a claim by the whole interval; equivalence is within ± :data:`EQUIVALENCE`."""
        if claim == "equivalent":
            if self.low > -EQUIVALENCE and self.high < EQUIVALENCE:
                return "holds"
            return "fails" if self.low > EQUIVALENCE or self.high < -EQUIVALENCE else "inconclusive"
        above, below = self.low > 0, self.high < 0
        if not above and not below:
            return "inconclusive"
        return "holds" if above == (claim == "above") else "fails"

    def record(self) -> dict[str, float | None]:
        """Return the number and its ends for JSON, None for an unbounded end."""
        return {name: value if math.isfinite(value) else None for name, value in vars(self).items()}

    def text(self, digits: int = 1, scale: float = 1.0) -> str:
        """Format the number, times `scale`, with its sign and, if bounded, its interval.

        An end that would round to 0 gets up to two more digits, so that its sign is visible.
        """
        ends = [scale * end for end in (self.low, self.high) if abs(end) > _ROUNDING]
        digits = next((more for more in (digits, digits + 1) if all(round(end, more) for end in ends)), digits + 2)
        # Adding 0 removes the sign of a negative zero.
        rounded = [round(scale * number, digits) + 0.0 for number in (self.value, self.low, self.high)]
        value, low, high = (f"{number:+.{digits}f}" for number in rounded)
        return f"{value} [{low}, {high}]" if math.isfinite(self.low) and math.isfinite(self.high) else value


def bootstrap_means(
    similarities: Sequence[NDArray[np.float64]],
    scores: Sequence[NDArray[np.float64]],
    *,
    replicates: int = 1000,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Compute the mean Pearson correlation over sets of several systems on resampled sentence pairs.

    Each set has similarities (systems, pairs) and human scores (pairs,). Every replicate draws the same pairs for all
    systems, so that differences are paired (Efron and Tibshirani 1993, chapter 13). An undefined correlation counts
    as 0.

    Returns:
        Unweighted means over the sets of Pearson's r × 100 (replicates, systems).
    """
    generator = np.random.default_rng(seed)
    total = np.zeros((replicates, len(similarities[0])))
    for values, gold in zip(similarities, scores, strict=True):
        size = len(gold)
        # Centring changes no correlation and keeps the sums of squares small.
        x = (values - values.mean(axis=1, keepdims=True)).T
        y = gold - gold.mean()
        columns = np.concatenate([x, x * x, x * y[:, None], y[:, None], (y * y)[:, None]], axis=1)
        counts = generator.multinomial(size, np.full(size, 1 / size), size=replicates)
        sums = counts @ columns / size
        k = x.shape[1]
        mx, mxx, mxy, my, myy = sums[:, :k], sums[:, k : 2 * k], sums[:, 2 * k : 3 * k], sums[:, -2], sums[:, -1]
        covariance = mxy - mx * my[:, None]
        product = np.clip(mxx - mx * mx, 0, None) * np.clip(myy - my * my, 0, None)[:, None]
        r = np.divide(covariance, np.sqrt(product), out=np.zeros_like(covariance), where=product > 1e-20)
        total += 100.0 * r
    return total / len(scores)


@dataclass(frozen=True, eq=False)
class Difference:
    """A difference between two systems, each trained with some seeds and scored on the same test pairs.

    Attributes:
        value: The mean of the first system over its seeds minus the mean of the second.
        seed_parts: The independent parts of the variance over seeds, each with its degrees of freedom; 0 degrees for a
            single seed.
        over_pairs: The value in each bootstrap replicate of the test pairs (replicates,); None without scores of
            single pairs.
    """

    value: float
    seed_parts: tuple[tuple[float, int], ...]
    over_pairs: NDArray[np.float64] | None = field(default=None, repr=False)

    @property
    def seeds(self) -> int:
        """The smallest number of seeds of any part."""
        return min((degrees + 1 for _, degrees in self.seed_parts), default=0)

    def interval(self, comparisons: int = 1) -> Interval:
        """Compute the simultaneous 95 % interval for several comparisons (Bonferroni).

        It is unbounded if either system has fewer than :data:`FEWEST_SEEDS` seeds. Without seeds, the interval is over
        test pairs alone.
        """
        from scipy.stats import t as student

        if self.seed_parts and self.seeds < FEWEST_SEEDS:
            return Interval(self.value, -math.inf, math.inf)
        pairs = 0.0 if self.over_pairs is None else float(np.var(self.over_pairs, ddof=1))
        variance = pairs + sum(part for part, _ in self.seed_parts)
        # The variance over many test pairs has infinite degrees of freedom.
        noise = sum(part * part / degrees for part, degrees in self.seed_parts)
        freedom = variance * variance / noise if noise > 0 else math.inf
        half = float(student.ppf(1 - 0.025 / comparisons, freedom)) * math.sqrt(variance)
        return Interval(self.value, self.value - half, self.value + half)


def difference(
    first: Mapping[int, float] | float,
    second: Mapping[int, float] | float,
    *,
    paired: bool = False,
    pairs: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> Difference:
    """Compare two systems by their scores.

    Args:
        first: The score of the first system for each seed, or a single score of a system without seeds, such as a
            baseline without training.
        second: The same for the second system.
        paired: Whether equal seeds are paired, because they share training pairs or initial weights. Seeds of only one
            system are then left out.
        pairs: For each system, the scores in bootstrap replicates of the test pairs (replicates, seeds), with the same
            draws and the order of seeds of `first` and `second`; None without scores of single pairs.
    """
    systems = [system if isinstance(system, Mapping) else {-1: float(system)} for system in (first, second)]
    seeded = [isinstance(system, Mapping) for system in (first, second)]
    drawn = None if pairs is None else [np.asarray(part, np.float64) for part in pairs]
    if paired:
        seeds = [seed for seed in systems[0] if seed in systems[1]]
        columns = [[list(system).index(seed) for seed in seeds] for system in systems]
        if drawn is not None:
            drawn = [drawn[0][:, columns[0]] - drawn[1][:, columns[1]], np.zeros((len(drawn[0]), 1))]
        systems = [{seed: systems[0][seed] - systems[1][seed] for seed in seeds}, {-1: 0.0}]
        seeded = [True, False]
    if not all(systems):
        raise ValueError("the systems have no seeds to compare")
    values = [np.array(list(system.values()), np.float64) for system in systems]
    parts = tuple(
        (_over_seeds(system, None if drawn is None else drawn[index]), len(system) - 1)
        for index, system in enumerate(values)
        if seeded[index]
    )
    over_pairs = None if drawn is None else drawn[0].mean(axis=1) - drawn[1].mean(axis=1)
    return Difference(float(values[0].mean() - values[1].mean()), parts, over_pairs)


def _over_seeds(values: NDArray[np.float64], replicates: NDArray[np.float64] | None) -> float:
    """Compute the variance of a mean over seeds by resampling n − 1 of n seeds, averaged over replicates."""
    if len(values) < 2:
        return 0.0
    if replicates is None:
        return float(values.var(ddof=1)) / len(values)
    return float(replicates.var(axis=1, ddof=1).mean()) / len(values)


def mean_difference(differences: Sequence[Difference]) -> Difference:
    """Compute the mean of differences on the same draws of test pairs and with independent seeds."""
    if not differences:
        raise ValueError("cannot compute the mean of no differences")
    count = len(differences)
    parts = tuple((part / count**2, degrees) for each in differences for part, degrees in each.seed_parts)
    drawn = [each.over_pairs for each in differences if each.over_pairs is not None]
    pairs = np.mean(drawn, axis=0) if len(drawn) == count else None
    return Difference(fmean(each.value for each in differences), parts, pairs)


def spread(values: Sequence[float]) -> str:
    """Format mean and standard deviation over seeds; a dash for no value."""
    if not values:
        return "–"
    deviation = f" ± {stdev(values):.1f}" if len(values) > 1 else ""
    return f"{fmean(values):.1f}{deviation}"
