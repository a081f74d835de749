from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr, ttest_ind

from hf_paraphrase.studies.detection.human_scores import banded, compare_scores, correct


def test_means_deviations_and_welch_tests_are_those_of_scipy():
    generator = np.random.default_rng(0)
    scores = generator.permutation(np.repeat([1.0, 2.0, 3.0, 4.0], [20, 35, 3, 50]))
    cosines = np.clip(generator.normal(0.1 * scores, 0.05 * scores), -1, 1)
    found = compare_scores(scores, cosines)
    groups = [cosines[scores == score] for score in (1, 2, 3, 4)]
    assert [(row["score"], row["pairs"]) for row in found["scores"]] == [(1, 20), (2, 35), (3, 3), (4, 50)]
    for row, values in zip(found["scores"], groups, strict=True):
        assert (row["mean"], row["deviation"]) == pytest.approx((values.mean(), values.std(ddof=1)))
    for row, low, high in zip(found["scores"][1:], groups[:-1], groups[1:], strict=True):
        expected = ttest_ind(high, low, equal_var=False)
        assert (row["t"], row["p"], row["degrees"]) == (expected.statistic, expected.pvalue, expected.df)
        assert row["difference"] == pytest.approx(high.mean() - low.mean())
    assert found["spearman"] == pytest.approx(100 * spearmanr(scores, cosines).statistic)


def test_single_pairs_and_scores_without_spread_are_not_tested():
    found = compare_scores(np.array([1.0, 1.0, 2.0, 3.0, 3.0]), np.array([0.1, 0.2, 0.3, 0.5, 0.4]))
    assert [row["deviation"] is None for row in found["scores"]] == [False, True, False]
    assert [row["p"] for row in found["scores"]] == [None] * 3 and found["spearman"] is not None
    found = compare_scores(np.repeat([1.0, 2.0, 3.0], 3), np.repeat([0.25, 0.5, 0.5], 3))
    assert [row["difference"] for row in found["scores"]] == [None, 0.25, 0.0]
    assert all(row["p"] is None for row in found["scores"])
    assert compare_scores(np.full(5, 3.0), np.linspace(0, 1, 5))["spearman"] is None
    assert compare_scores(np.arange(5.0), np.full(5, 0.5))["spearman"] is None


def test_few_scores_stand_for_themselves_and_many_are_rounded_to_eleven():
    opusparcus = np.arange(1, 4.5, 0.5)
    assert banded(opusparcus) is opusparcus
    sts = np.linspace(0, 5, 26)
    assert np.unique(banded(sts)).tolist() == [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5]
    # A band includes its lower end, also where that is no binary fraction.
    assert banded(np.linspace(1, 5, 41))[[0, 1, 2, 38, 39]].tolist() == [1, 1, 1.4, 5, 5]


def holm(values):
    rows = [{"p": value, "p_holm": None} for value in values]
    count = correct({"one": {"a": {"scores": rows[:2]}}, "two": {"a": {"scores": rows[2:]}}})
    assert count == sum(value is not None for value in values)
    return [row["p_holm"] for row in rows]


def test_holm_on_the_figures_of_a_worked_example_over_all_sets_together():
    # 0.005 · 4, 0.011 · 3, then 0.02 · 2 and 0.04 · 1, each at least the previous value.
    assert holm([0.02, None, 0.005, 0.04, 0.011]) == [0.04, None, 0.02, 0.04, pytest.approx(0.033)]
    assert holm([0.6, 0.7]) == [1.0, 1.0] and holm([None]) == [None]
