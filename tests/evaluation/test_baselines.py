from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_paraphrase.encoders.search.bm25 import words_and_marks
from hf_paraphrase.evaluation.baselines import (
    SMOOTHING,
    UNTRAINED_BASELINES,
    character_trigrams,
    english_trigram_frequencies,
)
from hf_paraphrase.evaluation.pair_sets import score_with_similarity
from hf_paraphrase.evaluation.sts import evaluate_scored
from hf_paraphrase.evaluation.sts_files import find_sts_sets

TEXTS = st.lists(st.text(alphabet="abc .,é", max_size=20), min_size=1, max_size=8)


def naive_cosine(first, second, weight):
    first, second = Counter(first), Counter(second)
    dot = sum(first[item] * second[item] * weight(item) ** 2 for item in first)
    norms = [sum((count * weight(item)) ** 2 for item, count in bag.items()) for bag in (first, second)]
    return dot / np.sqrt(norms[0] * norms[1]) if all(norms) else 0.0


@given(TEXTS, TEXTS)
def test_every_baseline_equals_a_cosine_counted_with_dictionaries(first, second):
    size = min(len(first), len(second))
    first, second = first[:size], second[:size]
    frequencies = english_trigram_frequencies()
    naive = {
        "words": lambda a, b: naive_cosine(words_and_marks(a), words_and_marks(b), lambda item: 1.0),
        "trigrams": lambda a, b: naive_cosine(character_trigrams(a), character_trigrams(b), lambda item: 1.0),
        "weighted-trigrams": lambda a, b: naive_cosine(
            character_trigrams(a), character_trigrams(b), lambda t: SMOOTHING / (SMOOTHING + frequencies.get(t, 0.0))
        ),
    }
    assert set(naive) == set(UNTRAINED_BASELINES)
    for name, similarity in ((name, baseline.similarity) for name, baseline in UNTRAINED_BASELINES.items()):
        expected = [naive[name](a, b) for a, b in zip(first, second, strict=True)]
        np.testing.assert_allclose(similarity(first, second), expected, atol=1e-12)


def test_a_vowel_sign_belongs_to_its_word():
    assert words_and_marks("वह दिन, Cafe\u0301") == ["वह", "दिन", ",", "cafe\u0301"]


def test_trigrams_span_the_spaces_between_words_and_at_both_ends():
    assert character_trigrams("Ab c") == [" ab", "ab ", "b c", " c "]
    assert character_trigrams("") == []


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "published"), [("words", 54.7), ("trigrams", 65.8), ("weighted-trigrams", 68.7)])
def test_the_baselines_reproduce_the_known_sts16_means(real_data_dir, name, published):
    found = find_sts_sets(real_data_dir / "sts")
    result = evaluate_scored(score_with_similarity(UNTRAINED_BASELINES[name].similarity, found.sets))
    assert result["dev_mean"] == pytest.approx(published, abs=0.5)


@pytest.mark.real_data
def test_the_built_in_frequencies_are_those_of_the_wikipedia_sentences_they_were_counted_on(real_data_dir):
    import re

    lines = (real_data_dir / "turkcorpus" / "tune.8turkers.tok.norm").read_text(encoding="utf-8").split("\n")
    words = [word for line in lines for word in re.findall("[a-z]+", line.lower())]
    counts = Counter(trigram for word in words for trigram in character_trigrams(word))
    counted = {trigram: count / counts.total() for trigram, count in counts.items()}
    built_in = english_trigram_frequencies()
    assert {trigram for trigram, share in counted.items() if share >= 3e-4} == set(built_in)
    assert all(built_in[trigram] == pytest.approx(counted[trigram], abs=5.1e-6) for trigram in built_in)
