from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_ind, ttest_rel

from hf_paraphrase.training.verdicts import (
    Difference,
    Interval,
    bootstrap_means,
    difference,
    mean_difference,
    spread,
)
from hf_paraphrase.vectors.similarity import pearson


def by_seed(values):
    return dict(enumerate(map(float, values)))


def scores(count, seed=0, mean=50.0):
    return by_seed(np.random.default_rng(seed).normal(mean, 1.0, count))


def test_without_test_pairs_the_intervals_are_those_of_student_and_welch():
    first, second = scores(5), scores(4, 1, 52.0)
    found = difference(first, second).interval()
    expected = ttest_ind(list(first.values()), list(second.values()), equal_var=False).confidence_interval(0.95)
    assert [found.low, found.high] == pytest.approx([expected.low, expected.high])
    second = scores(5, 1, 52.0)
    found = difference(first, second, paired=True).interval(comparisons=3)
    expected = ttest_rel(list(first.values()), list(second.values())).confidence_interval(1 - 0.05 / 3)
    assert [found.low, found.high] == pytest.approx([expected.low, expected.high])


def replicates_of(values, count=400, seed=0, correlated=0.8):
    """Scores on redrawn test pairs: an error that all seeds share, and one of each."""
    generator = np.random.default_rng(seed)
    shared = correlated * generator.normal(size=(count, 1))
    return np.array(list(values.values())) + shared + 0.4 * generator.normal(size=(count, len(values)))


@pytest.mark.parametrize("paired", [True, False])
def test_the_variance_is_that_of_a_naive_loop_that_draws_test_pairs_and_seeds(paired):
    first, second = scores(5), scores(5, 1)
    drawn = replicates_of(first), replicates_of(second, seed=1)
    generator = np.random.default_rng(2)
    values = []
    for one, other in zip(*drawn, strict=True):
        for _ in range(30):
            seeds = generator.integers(5, size=4)
            values.append(one[seeds].mean() - other[seeds if paired else generator.integers(5, size=4)].mean())
    found = difference(first, second, paired=paired, pairs=drawn)
    variance = np.var(found.over_pairs, ddof=1) + sum(part for part, _ in found.seed_parts)
    assert variance == pytest.approx(np.var(values, ddof=1), rel=0.05)
    assert found.value == pytest.approx(np.mean(list(first.values())) - np.mean(list(second.values())))


def test_a_system_without_seeds_adds_no_variance_of_seeds():
    first = scores(4)
    against = difference(first, 50.0)
    assert against.seeds == 4 and len(against.seed_parts) == 1
    lone = difference(61.0, 60.0, pairs=(np.array([[60.0], [62.0]]), np.array([[60.0], [60.0]])))
    half = student.ppf(0.975, math.inf) * np.std([0.0, 2.0], ddof=1)
    assert [lone.interval().low, lone.interval().high] == pytest.approx([1 - half, 1 + half])


def test_fewer_than_three_seeds_are_inconclusive_however_alike_they_are():
    found = difference(by_seed([60.0] * 2), by_seed([50.0] * 5)).interval()
    assert found.text() == "+10.0" and found.verdict("above") == found.verdict("equivalent") == "inconclusive"


def test_the_mean_over_corpora_has_the_test_pairs_in_common_and_separate_seeds():
    items = [
        difference(scores(5, place), scores(5, place + 10), pairs=(replicates_of(scores(5, place)),) * 2)
        for place in range(3)
    ]
    found = mean_difference(items)
    assert found.value == pytest.approx(np.mean([item.value for item in items]))
    assert found.over_pairs == pytest.approx(np.mean([item.over_pairs for item in items], axis=0))
    parts = [part for item in items for part, _ in item.seed_parts]
    assert sum(part for part, _ in found.seed_parts) == pytest.approx(sum(parts) / 9) and found.seeds == 5
    assert mean_difference([items[0], Difference(1.0, ((1.0, 4),))]).over_pairs is None


@pytest.mark.parametrize(
    ("low", "high", "above", "below", "little"),
    [
        (0.1, 2.0, "holds", "fails", "inconclusive"),
        (-2.0, -0.1, "fails", "holds", "inconclusive"),
        (0.1, 0.4, "holds", "fails", "holds"),
        (0.6, 0.9, "holds", "fails", "fails"),
        (-0.9, -0.6, "fails", "holds", "fails"),
        (-0.5, 0.4, "inconclusive", "inconclusive", "inconclusive"),
        (0.0, 0.6, "inconclusive", "inconclusive", "inconclusive"),
    ],
)
def test_a_verdict_is_read_from_the_whole_interval(low, high, above, below, little):
    interval = Interval(0.2, low, high)
    verdicts = [interval.verdict(claim) for claim in ("above", "below", "equivalent")]
    assert verdicts == [above, below, little]


def test_numbers_are_written_with_sign_and_interval():
    assert Interval(1.26, -0.5, 2.0).text() == "+1.3 [-0.5, +2.0]"
    assert Interval(0.46, 0.03, 0.97).text() == "+0.46 [+0.03, +0.97]", "on which side of an end 0 lies is seen"
    assert Interval(-0.5, -1.0, -0.004).text() == "-0.500 [-1.000, -0.004]"
    assert Interval(0.0, 0.0, 0.0).text() == "+0.0 [+0.0, +0.0]"
    assert Interval(0.0, -1e-14, 1e-14).text() == "+0.0 [+0.0, +0.0]", "rounding is no side"
    assert Interval(0.0126, -0.005, 0.02).text(2, scale=100) == "+1.26 [-0.50, +2.00]"
    assert Interval(1.0, -math.inf, 2.0).record() == {"value": 1.0, "low": None, "high": 2.0}
    assert Interval.of(1.0, np.arange(101.0)) == Interval(1.0, 2.5, 97.5)
    assert spread([1.0, 3.0]) == "2.0 ± 1.4" and spread([2.0]) == "2.0" and spread([]) == "–"


def test_every_replicate_equals_pearson_on_the_drawn_pairs():
    generator = np.random.default_rng(0)
    sizes = (7, 12)
    scores = [generator.normal(size=size) for size in sizes]
    similarities = [generator.normal(size=(3, size)) for size in sizes]
    found = bootstrap_means(similarities, scores, replicates=20, seed=5)
    again = np.random.default_rng(5)
    expected = np.zeros((20, 3))
    for size, gold, values in zip(sizes, scores, similarities, strict=True):
        counts = again.multinomial(size, np.full(size, 1 / size), size=20)
        for replicate, count in enumerate(counts):
            rows = np.repeat(np.arange(size), count)
            expected[replicate] += [100 * pearson(system[rows], gold[rows]) for system in values]
    assert found == pytest.approx(expected / 2, abs=1e-9)
