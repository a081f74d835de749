from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.studies.detection.sentence_blocks import SentenceBlock
from hf_paraphrase.studies.detection.similarity_bands import BANDS, BandSamples, marking_words
from hf_paraphrase.studies.detection.similarity_distribution import BINS, SimilarityDistribution


def counted(values, size=1000, **options):
    distribution = SimilarityDistribution(**options)
    for first in range(0, len(values), size):
        distribution.add(values[first : first + size])
    return distribution


def around(center, spread, count, seed=0):
    return np.clip(np.random.default_rng(seed).normal(center, spread, count), -1, 1)


# ----- counting


@settings(deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60), st.integers(1, 61), st.sampled_from([1, 2, 10, BINS]))
def test_the_histogram_is_that_of_numpy_over_everything_whatever_the_blocks(values, size, bins):
    values = np.array(values)
    distribution = counted(values, size, bins=bins)
    np.testing.assert_array_equal(distribution.counts, np.histogram(values, distribution.edges)[0])
    assert distribution.size == len(values)
    assert (distribution.low, distribution.high) == (values.min(), values.max())
    assert distribution.mean == pytest.approx(values.mean(), abs=1e-12)
    assert distribution.deviation == pytest.approx(values.std(), abs=1e-7)


def test_values_on_every_edge_are_in_the_bin_that_begins_there():
    distribution = counted(np.linspace(-1, 1, BINS + 1))
    assert distribution.counts.tolist() == [1] * (BINS - 1) + [2]


def test_thresholds_count_the_values_that_reach_them_up_to_rounding():
    values = np.array([-0.2, 0.5, 0.7, 0.7 - 1e-12, 0.7 - 1e-6, 1.0 - 1e-15])
    distribution = counted(values, 2, thresholds=(0.7, 0.5, 1.0))
    assert distribution.above == {0.7: 3, 0.5: 5, 1.0: 1}


@settings(deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60), st.floats(0, 1))
def test_a_quantile_is_true_to_the_width_of_a_bin(values, share):
    distribution = counted(np.array(values))
    exact = np.quantile(values, share, method="inverted_cdf")
    assert abs(distribution.quantile(share) - exact) <= 2 / BINS + 1e-12


def test_quantiles_do_not_fall():
    distribution = counted(around(0.1, 0.2, 500))
    found = [distribution.quantile(share) for share in np.linspace(0, 1, 101)]
    assert found == sorted(found) and found[-1] == distribution.high and found[0] >= distribution.low


def test_shares_above_and_groups_count_what_the_bins_count():
    values = around(0.1, 0.3, 400)
    distribution = counted(values)
    places = [0, 700, 1100, BINS - 1]
    expected = [(values >= distribution.edges[place]).mean() for place in places]
    np.testing.assert_allclose(distribution.shares_above()[places], expected)
    edges, counts = distribution.grouped(100)
    np.testing.assert_array_equal(counts, np.histogram(values, edges)[0])


def test_nothing_counted_has_no_numbers_and_no_peaks():
    distribution = counted(np.empty(0))
    assert np.isnan([distribution.mean, distribution.deviation, distribution.quantile(0.5)]).all()
    assert distribution.peaks() == [] and distribution.size == 0


# ----- peaks


def test_one_bump_has_one_peak_where_its_middle_is():
    for count in (50, 1_000, 100_000):
        (peak,) = counted(around(0.1, 0.15, count)).peaks()
        assert peak.cosine == pytest.approx(0.1, abs=0.06) and peak.height == 1


def test_a_second_smaller_bump_is_seen_with_its_height():
    values = np.concatenate([around(0.0, 0.1, 90_000), around(0.7, 0.1, 10_000, seed=1)])
    low, high = counted(values).peaks()
    assert (low.cosine, high.cosine) == (pytest.approx(0.0, abs=0.02), pytest.approx(0.7, abs=0.02))
    assert low.height == 1 and high.height == pytest.approx(1 / 9, abs=0.02)


def test_a_crowd_at_the_very_end_of_the_scale_is_a_peak():
    values = np.concatenate([around(0.0, 0.1, 5_000), np.ones(2_000)])
    assert [round(peak.cosine, 1) for peak in counted(values).peaks()] == [0.0, 1.0]


# ----- sentences drawn from bands


def blocks_of(cosines, texts, size):
    for first in range(0, cosines.shape[1], size):
        part = slice(first, first + size)
        yield SentenceBlock(np.arange(cosines.shape[1])[part] + 1, cosines[:, part], texts and texts[part])


def drawn(cosines, texts, size, **options):
    samples = BandSamples(len(cosines), **options)
    for block in blocks_of(cosines, texts, size):
        samples.add(block)
    return [samples.result(query) for query in range(len(cosines))]


def test_the_draw_takes_different_sentences_of_each_band_and_does_not_depend_on_the_blocks():
    cosines = np.random.default_rng(0).uniform(-1, 1, (2, 600))
    texts = [f"text {number % 300}" for number in range(600)]
    found = drawn(cosines, texts, 600, count=3)
    assert found == drawn(cosines, texts, 7, count=3) == drawn(cosines, texts, 1, count=3)
    for query, bands in enumerate(found):
        for band, items in enumerate(bands):
            inside = {texts[i] for i in np.flatnonzero((cosines[query] + 1) * BANDS // 2 == band)}
            assert len(items) == len(set(items)) == min(3, len(inside)) and set(items) <= inside


def test_the_draw_is_by_the_seed_and_fair():
    cosines = np.zeros((1, 200))
    texts = [str(number) for number in range(200)]
    draws = [drawn(cosines, texts, 64, count=5, seed=seed)[0][BANDS // 2] for seed in range(400)]
    assert draws[0] == drawn(cosines, texts, 64, count=5, seed=0)[0][BANDS // 2] != draws[1]
    times = np.bincount([int(text) for items in draws for text in items], minlength=200)
    # 400 draws of 5 from 200: ten of each, with a standard deviation of 3.1.
    assert times.min() >= 1 and times.max() <= 26 and abs(times[:100].sum() - 1000) < 110


def test_the_words_that_stand_out_are_listed_with_their_shares():
    plain = [f"a {number}." for number in range(60)]
    negated = [f"Don't {number}!" if number % 2 else f"a b {number}" for number in range(40)]
    few = ["rare word"] * 19
    low, high, small = marking_words([plain, negated, few], np.array([900, 100, 1]))
    # Every sentence of the first has `a`, but so have nearly all.
    assert low == [] and small == []
    assert [(item.word, item.share) for item in high] == [("b", 0.5), ("do", 0.5), ("n't", 0.5)]
    assert high[0].overall == pytest.approx(0.5 * 100 / 1001)
    assert marking_words([plain, negated, few], np.array([900, 100, 1]), most=1)[1] == high[:1]


def test_only_the_first_queries_of_a_block_are_drawn_for():
    cosines, texts = np.random.default_rng(0).uniform(-1, 1, (3, 50)), [str(number) for number in range(50)]
    samples = BandSamples(1, 2)
    for block in blocks_of(cosines, texts, 20):
        samples.add(block)
    assert samples.result(0) == drawn(cosines, texts, 50, count=2)[0]


def test_vectors_without_texts_and_a_count_of_none_give_no_examples():
    cosines = np.zeros((1, 5))
    assert not any(drawn(cosines, None, 2, count=3)[0]) and not any(drawn(cosines, list("abcde"), 2, count=0)[0])
