from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_ind, ttest_rel

from hf_paraphrase.evaluation.correlation import pearson
from hf_paraphrase.evaluation.verdicts import (
    Difference,
    Interval,
    bootstrap_means,
    difference,
    mean_difference,
    spread,
)


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
        for _ in range(60):
            seeds = generator.integers(5, size=4)
            values.append(one[seeds].mean() - other[seeds if paired else generator.integers(5, size=4)].mean())
    found = difference(first, second, paired=paired, pairs=drawn)
    variance = np.var(found.over_pairs, ddof=1) + sum(part for part, _ in found.seed_parts)
    assert variance == pytest.approx(np.var(values, ddof=1), rel=0.03)
    assert found.value == pytest.approx(np.mean(list(first.values())) - np.mean(list(second.values())))


@pytest.mark.parametrize(("paired", "seeds"), [(True, 3), (False, 5)])
def test_intervals_cover_the_true_difference_of_trained_systems_as_often_as_they_say(paired, seeds):
    # Two systems whose similarities have errors of their own, of their seed, and of a draw that equal seeds share.
    generator = np.random.default_rng(4)
    pairs, trials, hits = 120, 100, 0

    def similarities(gold, level):
        return 0.8 * gold + level[:, None] * generator.normal(size=(seeds, len(gold)))

    def correlation(level):
        # E r over levels, of 0.8 g + level e with g.
        return np.mean(100 * 0.8 / np.sqrt(0.64 + level**2))

    many = generator.normal(0.0, 0.12, size=200_000)
    truth = correlation(0.7 + many) - correlation(0.9 + many)
    for trial in range(trials):
        gold = generator.normal(size=pairs)
        draws = generator.normal(0.0, 0.12, size=(2, seeds))
        first, second = similarities(gold, 0.7 + draws[0]), similarities(gold, 0.9 + draws[0 if paired else 1])
        drawn = bootstrap_means([np.concatenate([first, second])], [gold], replicates=100, seed=trial)
        sides = [by_seed([100 * np.corrcoef(row, gold)[0, 1] for row in side]) for side in (first, second)]
        found = difference(*sides, paired=paired, pairs=(drawn[:, :seeds], drawn[:, seeds:])).interval()
        hits += found.low <= truth <= found.high
    assert 0.91 * trials <= hits


def test_a_bootstrap_over_test_pairs_alone_would_miss_the_spread_of_the_seeds():
    first, second = by_seed([50.0, 53.0, 56.0]), by_seed([51.0, 50.5, 49.5])
    drawn = np.zeros((50, 3)) + list(first.values()), np.zeros((50, 3)) + list(second.values())
    found = difference(first, second, pairs=drawn)
    assert np.var(found.over_pairs) == pytest.approx(0) and found.interval().verdict("above") == "inconclusive"


def test_a_system_without_seeds_adds_no_variance_of_seeds():
    first = scores(4)
    against = difference(first, 50.0)
    assert against.seeds == 4 and len(against.seed_parts) == 1
    lone = difference(61.0, 60.0, pairs=(np.array([[60.0], [62.0]]), np.array([[60.0], [60.0]])))
    half = student.ppf(0.975, math.inf) * np.std([0.0, 2.0], ddof=1)
    assert [lone.interval().low, lone.interval().high] == pytest.approx([1 - half, 1 + half])


@pytest.mark.parametrize("count", [1, 2])
def test_fewer_than_three_seeds_are_inconclusive_however_alike_they_are(count):
    found = difference(by_seed([60.0] * count), by_seed([50.0] * 5)).interval()
    assert found.text() == "+10.0" and found.verdict("above") == found.verdict("little") == "inconclusive"


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
    with pytest.raises(ValueError, match="no differences"):
        mean_difference([])


@pytest.mark.parametrize(
    ("low", "high", "above", "below", "little"),
    [
        (0.1, 2.0, "holds", "fails", "inconclusive"),
        (-2.0, -0.1, "fails", "holds", "inconclusive"),
        (-0.4, 0.4, "inconclusive", "inconclusive", "holds"),
        (0.1, 0.4, "holds", "fails", "holds"),
        (0.6, 0.9, "holds", "fails", "fails"),
        (-0.9, -0.6, "fails", "holds", "fails"),
        (-0.5, 0.4, "inconclusive", "inconclusive", "inconclusive"),
        (0.0, 0.6, "inconclusive", "inconclusive", "inconclusive"),
        (-math.inf, math.inf, "inconclusive", "inconclusive", "inconclusive"),
    ],
)
def test_a_verdict_is_read_from_the_whole_interval(low, high, above, below, little):
    interval = Interval(0.2, low, high)
    assert (interval.verdict("above"), interval.verdict("below"), interval.verdict("little")) == (above, below, little)


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
