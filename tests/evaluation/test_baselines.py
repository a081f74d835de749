from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.encoders.dev_sets.pair_sets import score_with_similarity
from hf_paraphrase.encoders.dev_sets.sts_files import find_sts_sets
from hf_paraphrase.evaluation.baselines import (
    SMOOTHING,
    UNTRAINED_BASELINES,
    list_trigrams,
    read_trigram_frequencies,
)
from hf_paraphrase.evaluation.sts import evaluate_scored
from hf_paraphrase.text.words import split_words
from hf_paraphrase.vectors.similarity import cosine_similarities

TEXTS = st.lists(st.text(alphabet="abc .,é", max_size=20), min_size=8, max_size=8)


def naive_cosine(first, second, items_of, weight):
    first, second = Counter(items_of(first)), Counter(items_of(second))
    dot = sum(first[item] * second[item] * weight(item) ** 2 for item in first)
    norms = [sum((count * weight(item)) ** 2 for item, count in bag.items()) for bag in (first, second)]
    return dot / np.sqrt(norms[0] * norms[1]) if all(norms) else 0.0


@settings(max_examples=10)
@given(TEXTS, TEXTS)
def test_every_baseline_equals_a_cosine_counted_with_dictionaries(first, second):
    frequencies = read_trigram_frequencies()
    naive = {
        "words": (split_words, lambda item: 1.0),
        "trigrams": (list_trigrams, lambda item: 1.0),
        "weighted-trigrams": (list_trigrams, lambda t: SMOOTHING / (SMOOTHING + frequencies.get(t, 0.0))),
    }
    assert set(naive) == set(UNTRAINED_BASELINES)
    for name, how in naive.items():
        expected = [naive_cosine(a, b, *how) for a, b in zip(first, second, strict=True)]
        np.testing.assert_allclose(UNTRAINED_BASELINES[name].similarity(first, second), expected, atol=1e-12)


@pytest.mark.parametrize("name", UNTRAINED_BASELINES)
def test_the_cosine_of_a_baselines_vectors_is_about_the_baseline(name):
    baseline = UNTRAINED_BASELINES[name]
    first = ["the cat sat on the mat", "a cat sat on a mat", "dogs bark at night", "the dog barks at night", ""]
    second = first[1:] + first[:1]
    exact = baseline.similarity(first, second)
    projected = cosine_similarities(baseline.encode(first), baseline.encode(second))
    assert np.abs(exact - projected).max() < 0.2 and exact.max() > 0.4 and not baseline.encode([""]).any()
    np.testing.assert_array_equal(baseline.encode(first)[2], baseline.encode(first[2:3])[0])


def test_a_vector_is_the_mean_of_its_items_and_a_weight_follows_from_a_share_of_english_text():
    encode = UNTRAINED_BASELINES["words"].encode
    np.testing.assert_allclose(encode(["night night night"]), encode(["night"]), rtol=1e-6)
    assert read_trigram_frequencies()[" th"] == 0.02005


def test_a_vowel_sign_belongs_to_its_word_and_trigrams_span_the_spaces_at_both_ends():
    assert split_words("वह दिन, Cafe\u0301") == ["वह", "दिन", ",", "cafe\u0301"]
    assert list_trigrams("Ab c") == [" ab", "ab ", "b c", " c "]
    assert list_trigrams("") == []


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "published"), [("words", 54.7), ("trigrams", 65.8), ("weighted-trigrams", 68.7)])
def test_the_baselines_reproduce_the_known_sts16_means(real_data_dir, name, published):
    found = find_sts_sets(real_data_dir / "sts")
    result = evaluate_scored(score_with_similarity(UNTRAINED_BASELINES[name].similarity, found.sets))
    assert result["dev_mean"] == pytest.approx(published, abs=0.5)
