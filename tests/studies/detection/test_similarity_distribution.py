from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.studies.detection.similarity_distribution import (
    BANDS,
    BINS,
    BandSample,
    SimilarityDistribution,
)


def counted(values, size=1000, **options):
    distribution = SimilarityDistribution(**options)
    for first in range(0, len(values), size):
        distribution.add(values[first : first + size])
    return distribution


def around(center, spread, count, seed=0):
    return np.clip(np.random.default_rng(seed).normal(center, spread, count), -1, 1)


@settings(deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60), st.integers(1, 61), st.floats(0, 1))
def test_the_numbers_are_those_of_numpy_over_everything_whatever_the_blocks(values, size, share):
    values = np.array(values)
    distribution = counted(values, size)
    np.testing.assert_array_equal(distribution.counts, np.histogram(values, distribution.edges)[0])
    assert (distribution.size, distribution.low, distribution.high) == (len(values), values.min(), values.max())
    assert distribution.mean == pytest.approx(values.mean(), abs=1e-12)
    assert distribution.deviation == pytest.approx(values.std(), abs=1e-7)
    exact = np.quantile(values, share, method="inverted_cdf")
    assert abs(distribution.quantile(share) - exact) <= 2 / BINS + 1e-12


def test_thresholds_count_the_values_that_reach_them_up_to_rounding():
    values = np.array([-0.2, 0.5, 0.7, 0.7 - 1e-12, 0.7 - 1e-6, 1.0 - 1e-15])
    assert counted(values, 2, thresholds=(0.7, 0.5, 1.0)).above == {0.7: 3, 0.5: 5, 1.0: 1}


def test_bars_count_what_the_bins_count():
    values = around(0.1, 0.3, 400)
    edges, counts = counted(values).grouped(20)
    np.testing.assert_array_equal(counts, np.histogram(values, edges)[0])


@pytest.mark.parametrize("count", [50, 1_000, 100_000])
def test_one_bump_has_one_peak_where_its_middle_is(count):
    (peak,) = counted(around(0.1, 0.15, count)).peaks()
    assert peak["cosine"] == pytest.approx(0.1, abs=0.06) and peak["height"] == 1


def test_a_second_smaller_bump_and_a_crowd_at_the_end_are_peaks_with_their_heights():
    values = np.concatenate([around(0.0, 0.1, 90_000), around(0.7, 0.1, 10_000, seed=1)])
    low, high = counted(values).peaks()
    assert (low["cosine"], high["cosine"]) == (pytest.approx(0.0, abs=0.02), pytest.approx(0.7, abs=0.02))
    assert low["height"] == 1 and high["height"] == pytest.approx(1 / 9, abs=0.02)
    values = np.concatenate([around(0.0, 0.1, 5_000), np.ones(2_000)])
    assert [round(peak["cosine"], 1) for peak in counted(values).peaks()] == [0.0, 1.0]


def drawn(cosines, texts, size, count, seed=0):
    sample, numbers = BandSample(count), np.random.default_rng(seed).random(len(texts))
    for first in range(0, len(texts), size):
        part = slice(first, first + size)
        sample.add(cosines[part], texts[part], numbers[part])
    return sample.sentences


def test_the_draw_takes_different_sentences_of_each_range_and_does_not_depend_on_the_blocks():
    cosines = np.random.default_rng(0).uniform(-1, 1, 600)
    texts = [f"text {number % 300}" for number in range(600)]
    found = drawn(cosines, texts, 600, 3)
    assert found == drawn(cosines, texts, 7, 3) == drawn(cosines, texts, 1, 3)
    for band, items in enumerate(found):
        inside = {texts[place] for place in np.flatnonzero((cosines + 1) * BANDS // 2 == band)}
        assert len(items) == len(set(items)) == min(3, len(inside)) and set(items) <= inside


def test_the_draw_is_fair():
    texts = [str(number) for number in range(200)]
    draws = [drawn(np.zeros(200), texts, 64, 5, seed)[BANDS // 2] for seed in range(400)]
    times = np.bincount([int(text) for items in draws for text in items], minlength=200)
    # 400 draws of 5 from 200: ten of each, with a standard deviation of 3.1.
    assert times.min() >= 1 and times.max() <= 26 and abs(times[:100].sum() - 1000) < 110
