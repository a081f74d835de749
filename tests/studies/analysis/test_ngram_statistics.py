from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.studies.analysis.ngram_statistics import (
    average_idf,
    contrast_ngrams,
    count_ngrams,
    document_frequencies,
    rank_correlations,
)
from hf_paraphrase.studies.analysis.pairs import PairSample, ranked_examples
from hf_paraphrase.text.words import tokenize

TEXTS = st.lists(st.text("ab .'xyz", max_size=24), min_size=1, max_size=6)


def ngrams(text, order):
    tokens = tokenize(text)
    return [tuple(tokens[i : i + order]) for i in range(len(tokens) - order + 1)]


@settings(max_examples=20, deadline=None)
@given(TEXTS, st.sampled_from([1, 2, 3]))
def test_entropy_and_repetition_equal_counting(texts, order):
    found = count_ngrams(texts, order)
    counts = Counter(gram for text in texts for gram in ngrams(text, order))
    total = sum(counts.values())
    expected = -sum(count / total * math.log2(count / total) for count in counts.values())
    assert found.entropy() == pytest.approx(expected, abs=1e-9)
    considered = repeated = 0
    for place, text in enumerate(texts):
        grams = [gram for gram in ngrams(text, order) if order > 1 or len(gram[0]) >= 3]
        again = sum(gram in grams[:i] for i, gram in enumerate(grams))
        assert (found.considered[place], found.repeated[place]) == (len(grams), again)
        assert found.repetition[place] == (again / len(grams) if grams else 0)
        considered, repeated = considered + len(grams), repeated + again
    assert found.repetition_rate() == pytest.approx(100 * repeated / considered if considered else 0)


def test_the_contrast_finds_fewer_words_and_more_repetition():
    generator = np.random.default_rng(0)
    human = [" ".join(f"word{i}" for i in generator.permutation(60)[:9]) for _ in range(160)]
    machine = [" ".join(f"word{i}" for i in generator.integers(6, size=9)) for _ in range(160)]
    sides = [[count_ngrams(texts, order) for order in (1, 3)] for texts in (human, machine)]
    found = contrast_ngrams(*sides, replicates=30)
    assert [item["verdict"] for item in found] == ["holds"] * 4
    assert [item["verdict"] for item in contrast_ngrams(*sides[::-1], replicates=30)] == ["fails"] * 4
    for item in found:
        difference = item["difference"]
        assert difference.value == pytest.approx(item["reference"] - item["translation"])
        assert difference.low < difference.value < difference.high


def test_idf_is_high_for_rare_words():
    frequencies = document_frequencies(["the cat", "The dog the", "a bird"])
    assert frequencies == {"the": 2, "cat": 1, "dog": 1, "a": 1, "bird": 1}
    common, rare, unknown, empty = average_idf(["the the", "cat dog", "unicorn", ""], frequencies, 3)
    assert common == pytest.approx(math.log(4 / 3)) and rare == pytest.approx(math.log(2))
    assert unknown == pytest.approx(math.log(4)) and math.isnan(empty)


def test_rank_correlations_are_those_of_scipy_with_missing_values_left_out():
    from scipy.stats import spearmanr

    generator = np.random.default_rng(0)
    values, other = generator.normal(size=50), generator.normal(size=50)
    other[7] = np.nan
    found = rank_correlations(values, {"length": other, "opposite": -values})
    there = ~np.isnan(other)
    assert found["length"].value == pytest.approx(100 * spearmanr(values[there], other[there]).statistic)
    assert found["length"].low < found["length"].value < found["length"].high
    assert found["opposite"].value == pytest.approx(-100)


def test_examples_are_ranked_and_shown_once():
    sample = PairSample(["a", "b", "c", "same"], ["x", "y", "X", "Same"], 4, False)
    numbers = np.arange(4.0)
    found = ranked_examples(sample, np.array([3.0, 1.0, 2.0, 9.0]), (numbers, numbers + 10), 3)
    assert [item["translation"] for item in found] == ["x", "y"]
    assert [(item["reference_number"], item["translation_number"]) for item in found] == [(0, 10), (1, 11)]
