from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr, ttest_ind

from hf_paraphrase.studies.detection.human_scores import compare_scores, correct, score_bands, score_step


def sample(sizes):
    generator = np.random.default_rng(0)
    scores = generator.permutation(np.repeat(np.arange(1.0, 1.0 + len(sizes)), sizes))
    return scores, np.clip(generator.normal(0.1 * scores, 0.05 * scores), -1, 1)


def test_means_deviations_and_welch_tests_are_those_of_scipy():
    scores, cosines = sample([20, 35, 3, 50])
    found = compare_scores(scores, cosines)
    groups = [cosines[scores == score] for score in (1, 2, 3, 4)]
    assert [(group["score"], group["pairs"]) for group in found["scores"]] == [(1, 20), (2, 35), (3, 3), (4, 50)]
    for group, values in zip(found["scores"], groups, strict=True):
        assert (group["mean"], group["deviation"]) == pytest.approx((values.mean(), values.std(ddof=1)))
    for test, low, high in zip(found["tests"], groups[:-1], groups[1:], strict=True):
        expected = ttest_ind(high, low, equal_var=False)
        assert (test["t"], test["p"], test["degrees"]) == (expected.statistic, expected.pvalue, expected.df)
        assert test["difference"] == pytest.approx(high.mean() - low.mean())
    assert found["spearman"] == pytest.approx(100 * spearmanr(scores, cosines).statistic)


def test_a_score_with_a_single_pair_has_a_mean_but_no_deviation_and_no_test():
    found = compare_scores(*sample([4, 1, 4]))
    assert [group["deviation"] is None for group in found["scores"]] == [False, True, False]
    assert [test["p"] for test in found["tests"]] == [None, None]
    assert found["tests"][0]["note"] == "fewer than 2 pairs at 2" and found["spearman"] is not None


def test_without_spread_nothing_is_tested():
    equal = compare_scores(np.full(5, 3.0), np.linspace(0, 1, 5))
    assert len(equal["scores"]) == 1 and equal["tests"] == [] and equal["spearman"] is None
    scores = np.repeat([1.0, 2.0, 3.0], 3)
    found = compare_scores(scores, np.repeat([0.25, 0.5, 0.5], 3))
    assert [test["note"] for test in found["tests"]] == ["no spread at either score"] * 2
    assert [test["difference"] for test in found["tests"]] == [0.25, 0.0]
    assert "all cosines are equal" in compare_scores(scores, np.full(9, 0.5))["note"]


@pytest.mark.parametrize(
    ("scores", "step"),
    [
        (np.arange(1, 4.5, 0.5), None),  # Opusparcus
        (np.arange(6) / 5, None),  # PIT-2015
        (np.linspace(0, 5, 26), 0.5),  # STS
        (np.linspace(1, 5, 41), 0.5),  # SICK
        (np.linspace(0, 100, 50), 10),
        (np.linspace(-3e-5, 3e-5, 40), 1e-5),
    ],
)
def test_few_scores_stand_for_themselves_and_many_are_put_into_bands(scores, step):
    assert score_step(scores) == (None if step is None else pytest.approx(step))


def test_a_band_reaches_from_half_a_step_below_its_middle_and_includes_its_lower_end():
    assert score_bands(np.array([0.24, 0.25, 0.74, 0.75, -0.25, -0.26]), 0.5).tolist() == [0, 1, 1, 2, 0, -1]
    # 0.15 is not a binary fraction.
    assert score_bands(np.array([0.05, 0.15, 0.25, 0.35]), 0.1).tolist() == [1, 2, 3, 4]
    found = compare_scores(np.array([0.9, 1.1, 2.0, 1.8]), np.array([0.1, 0.3, 0.4, 0.6]), step=0.5)
    assert [(group["score"], group["pairs"]) for group in found["scores"]] == [(1.0, 2), (2.0, 2)]


def holm(values):
    tests = [{"p": value, "p_holm": None} for value in values]
    count = correct({"one": {"a": {"tests": tests[:2]}}, "two": {"a": {"tests": tests[2:]}}})
    assert count == sum(value is not None for value in values)
    return [test["p_holm"] for test in tests]


def test_holm_on_the_figures_of_a_worked_example_over_all_sets_together():
    # 0.005 · 4, 0.011 · 3, then 0.02 · 2 and 0.04 · 1, none below the one before.
    assert holm([0.02, None, 0.005, 0.04, 0.011]) == [0.04, None, 0.02, 0.04, pytest.approx(0.033)]
    assert holm([0.6, 0.7]) == [1.0, 1.0] and holm([None]) == [None]
