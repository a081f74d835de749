from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hf_paraphrase.filtering.measuring import add_measures
from hf_paraphrase.filtering.tokens import tokenize

SENTENCE = st.lists(
    st.sampled_from(["a", "The", "the", "cat", "dogs", "sat,", "don't", "ÉTÉ", "été", "."]), max_size=10
).map(" ".join)
PAIRS = st.lists(st.tuples(SENTENCE, SENTENCE, SENTENCE), max_size=8)


def scored(triples, *names):
    columns = ("source", "sentence1", "sentence2")
    table = pa.table({name: pa.array([row[i] for row in triples], pa.string()) for i, name in enumerate(columns)})
    return add_measures(table, names).to_pydict()


def naive_distance(first, second):
    previous = list(range(len(second) + 1))
    for row, one in enumerate(first, 1):
        current = [row]
        for column, two in enumerate(second, 1):
            current.append(min(previous[column] + 1, current[-1] + 1, previous[column - 1] + (one != two)))
        previous = current
    return previous[-1]


def naive_repetition(text, order):
    tokens = tokenize(text)
    grams = [token for token in tokens if len(token) >= 3]
    if order == 3:
        grams = [tuple(tokens[place : place + 3]) for place in range(len(tokens) - 2)]
    return sum(gram in grams[:place] for place, gram in enumerate(grams)) / len(grams) if grams else 0.0


def same(found, expected):
    assert len(found) == len(expected)
    for one, two in zip(found, expected, strict=True):
        assert one == pytest.approx(two, abs=1e-12) or (math.isnan(one) and math.isnan(two))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=9), st.text(max_size=9)), max_size=6))
@example([("", ""), ("", "a"), ("Kitten", "sITTING"), ("\U0001f600a", "a")])
def test_edit_distance_equals_the_table_of_wagner_and_fischer(pairs):
    expected = []
    for first, second in pairs:
        one, two = first.lower(), second.lower()
        expected.append(naive_distance(one, two) / max(len(one), len(two), 1))
    same(scored([("", *pair) for pair in pairs], "edit_distance")["edit_distance"], expected)


def test_edit_distance_equals_that_of_nltk():
    metrics = pytest.importorskip("nltk.metrics.distance", reason="nltk is not installed")
    pairs = [("a cat sat on the mat", "the cat sat down"), ("dogs bark", "no"), ("same", "same")]
    expected = [metrics.edit_distance(*pair) / max(map(len, pair)) for pair in pairs]
    same(scored([("", *pair) for pair in pairs], "edit_distance")["edit_distance"], expected)


@settings(max_examples=60, deadline=None)
@given(PAIRS)
def test_repetition_is_the_share_of_words_and_trigrams_seen_before_in_the_sentence(triples):
    table = scored(triples, "repetition")
    for order in (1, 3):
        same(table[f"repetition_{order}"], [naive_repetition(row[2], order) for row in triples])
        same(table[f"repetition_reference_{order}"], [naive_repetition(row[1], order) for row in triples])


def test_golden_values_of_repetition():
    text = "The staff were very nice and the room was very nice and the staff were very nice ."
    table = scored([("", "A b a b", text)], "repetition")
    # Of 17 words of three letters or more, the, very, nice, and, the, staff, were, very and nice came before.
    assert table["repetition_1"] == [9 / 17]
    # Of 16 trigrams: very nice and, nice and the, the staff were, staff were very, were very nice.
    assert table["repetition_3"] == [5 / 16]
    assert table["repetition_reference_1"] == table["repetition_reference_3"] == [0.0]


@settings(max_examples=60, deadline=None)
@given(PAIRS)
def test_copy_rates_are_shares_of_the_translation_that_stand_on_the_other_side(triples):
    expected, from_source = [], []
    for source, reference, translation in triples:
        tokens = tokenize(translation)
        words = [token for token in tokens if len(token) >= 3]
        for rates, kept, other in ((expected, tokens, reference), (from_source, words, source)):
            rates.append(sum(token in tokenize(other) for token in kept) / len(kept) if kept else math.nan)
    table = scored(triples, "copy_rate", "copy_rate_source")
    same(table["copy_rate"], expected)
    same(table["copy_rate_source"], from_source)


def test_bleu_with_one_added_for_higher_orders_only_is_that_of_nltk():
    """nltk's method 2 leaves unigrams and the brevity penalty alone; the parts that both share agree."""
    bleu = pytest.importorskip("nltk.translate.bleu_score", reason="nltk is not installed")
    first = ["the", "cat", "sat", "on", "the", "mat", "today"]
    second = ["the", "cat", "is", "on", "a", "mat", "today", "."]
    theirs = bleu.sentence_bleu([first], second, smoothing_function=bleu.SmoothingFunction().method2)
    ours = scored([("", " ".join(first), " ".join(second))], "bleu")["bleu"][0]
    matches = sum(min(first.count(word), second.count(word)) for word in set(second))
    ours *= ((matches / len(second)) / ((matches + 1) / (len(second) + 1))) ** 0.25
    assert ours == pytest.approx(theirs, abs=1e-12)


def test_empty_sides_have_the_stated_values():
    names = ("length", "overlap", "bleu", "edit_distance", "repetition", "copy_rate", "copy_rate_source")
    table = scored([("", "", ""), ("a cat", "a cat", ""), ("", "", "a cat")], *names)
    assert table["length"] == [0, 0, 2]
    assert table["overlap_1"] == [*table["bleu"][:2], 0.0] == [0.0] * 3
    assert table["edit_distance"] == [0.0, 1.0, 1.0]
    assert table["repetition_1"] == [0.0] * 3
    same(table["copy_rate"], [math.nan, math.nan, 0.0])
    same(table["length_ratio"], [math.nan, 0.0, math.nan])
