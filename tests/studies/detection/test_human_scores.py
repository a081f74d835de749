from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, spearmanr, ttest_ind

from hf_paraphrase.studies.detection.human_scores import band_numbers, compare_scores, holm, score_step


def sample(sizes, seed=0):
    generator = np.random.default_rng(seed)
    scores = np.repeat(np.arange(1.0, 1.0 + len(sizes)), sizes)
    order = generator.permutation(len(scores))
    return scores[order], np.clip(generator.normal(0.1 * scores, 0.05 * scores), -1, 1)[order]


# ----- means and tests


def test_means_deviations_and_welch_tests_are_those_of_scipy():
    scores, cosines = sample([20, 35, 3, 50])
    found = compare_scores(scores, cosines)
    groups = [cosines[scores == score] for score in (1, 2, 3, 4)]
    for group, values in zip(found.groups, groups, strict=True):
        assert group.pairs == len(values) and group.mean == pytest.approx(values.mean())
        assert group.deviation == pytest.approx(values.std(ddof=1))
    assert [group.score for group in found.groups] == [1, 2, 3, 4]
    for test, low, high in zip(found.tests, groups[:-1], groups[1:], strict=True):
        expected = ttest_ind(high, low, equal_var=False)
        assert test.t == pytest.approx(expected.statistic) and test.p == pytest.approx(expected.pvalue)
        assert test.degrees == pytest.approx(expected.df)
        assert test.difference == pytest.approx(high.mean() - low.mean())
    assert found.rho == pytest.approx(100 * spearmanr(scores, cosines).statistic)
    assert found.rises == sum(low.mean() < high.mean() for low, high in pairwise(groups))


def test_order_of_the_pairs_changes_nothing():
    scores, cosines = sample([5, 9, 7])
    order = np.random.default_rng(5).permutation(len(scores))
    one, two = compare_scores(scores, cosines), compare_scores(scores[order], cosines[order])
    for first, second in zip(one.tests, two.tests, strict=True):
        assert first.t == pytest.approx(second.t) and first.p == pytest.approx(second.p)
    assert [group.pairs for group in one.groups] == [group.pairs for group in two.groups]


def test_a_score_with_a_single_pair_has_a_mean_but_no_deviation_and_no_test():
    found = compare_scores(*sample([4, 1, 4]))
    assert [group.deviation is None for group in found.groups] == [False, True, False]
    assert [test.p for test in found.tests] == [None, None]
    assert found.tests[0].note == "fewer than 2 pairs at 2" and found.rho is not None


def test_a_set_with_one_score_has_no_test_and_no_correlation():
    found = compare_scores(np.full(5, 3.0), np.linspace(0, 1, 5))
    assert len(found.groups) == 1 and found.tests == () and found.rho is None
    assert "human scores are equal" in found.note
    single = compare_scores(np.array([3.0]), np.array([0.5]))
    assert single.rho is None and "single pair" in single.note and single.groups[0].deviation is None


def test_cosines_without_spread_have_no_test_rather_than_an_infinite_one():
    scores = np.repeat([1.0, 2.0, 3.0], 3)
    found = compare_scores(scores, np.repeat([0.25, 0.5, 0.5], 3))
    assert [test.note for test in found.tests] == ["no spread at either score"] * 2
    assert [test.difference for test in found.tests] == [0.25, 0.0]
    assert "all cosines are equal" in compare_scores(scores, np.full(9, 0.5)).note


def test_arrays_that_do_not_fit_are_an_error_of_the_caller():
    for scores, cosines in ((np.ones(2), np.ones(3)), (np.empty(0), np.empty(0))):
        with pytest.raises(ValueError, match="as many"):
            compare_scores(scores, cosines)


# ----- bands of scores


@pytest.mark.parametrize(
    ("scores", "step"),
    [
        (np.arange(1, 4.5, 0.5), None),  # Opusparcus
        (np.arange(6) / 5, None),  # PIT-2015
        (np.linspace(0, 5, 26), 0.5),  # STS
        (np.linspace(1, 5, 41), 0.5),  # SICK
        (np.linspace(0, 1, 50), 0.1),
        (np.linspace(0, 100, 50), 10),
        (np.linspace(-3e-5, 3e-5, 40), 1e-5),
    ],
)
def test_few_scores_stand_for_themselves_and_many_are_put_into_at_most_twelve_bands(scores, step):
    found = score_step(scores)
    assert found is None if step is None else found == pytest.approx(step)
    if step is not None:
        assert len(np.unique(band_numbers(scores, found))) <= 12


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=13, max_size=40, unique=True))
def test_there_are_never_more_than_twelve_bands(scores):
    scores = np.array(scores)
    if np.ptp(scores) > 1e-3:
        assert len(np.unique(band_numbers(scores, score_step(scores)))) <= 12


def test_a_band_reaches_from_half_a_step_below_its_middle_and_holds_its_lower_end():
    assert band_numbers(np.array([0.24, 0.25, 0.74, 0.75, -0.25, -0.26]), 0.5).tolist() == [0, 1, 1, 2, 0, -1]
    # 0.15 is not a binary fraction.
    assert band_numbers(np.array([0.05, 0.15, 0.25, 0.35]), 0.1).tolist() == [1, 2, 3, 4]
    found = compare_scores(np.array([0.9, 1.1, 2.0, 1.8]), np.array([0.1, 0.3, 0.4, 0.6]), step=0.5)
    assert [(group.score, group.pairs) for group in found.groups] == [(1.0, 2), (2.0, 2)]


# ----- several tests


def test_holm_on_the_figures_of_a_worked_example():
    # 0.005 · 4, 0.011 · 3, then 0.02 · 2 and 0.04 · 1, none below the one before.
    assert holm([0.02, None, 0.005, 0.04, 0.011]) == [0.04, None, 0.02, 0.04, pytest.approx(0.033)]
    assert holm([0.6, 0.7]) == [1.0, 1.0] and holm([None]) == [None] and holm([]) == []


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_between_the_plain_and_bonferronis_values_and_keeps_the_order(values):
    found = holm(values)
    for plain, corrected in zip(values, found, strict=True):
        assert plain <= corrected <= min(1.0, plain * len(values)) + 1e-12
    assert [found[i] for i in np.argsort(values, kind="stable")] == sorted(found)
    # Holm's procedure is stricter than that of Benjamini and Hochberg.
    assert all(a >= b - 1e-12 for a, b in zip(found, false_discovery_control(values), strict=True))
