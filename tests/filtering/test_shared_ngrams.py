from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hf_paraphrase.filtering import shared_ngrams
from hf_paraphrase.filtering.shared_ngrams import SharedNgramCounter
from hf_paraphrase.filtering.tokens import TokenSpans, tokenize

TEXT = st.text(
    st.sampled_from("abAB1 _'’ntsdrel-.,\n\t\u0301\u0130ßΣéı中\u200b\u00a0\U0001f600\ud800\x00"), max_size=14
) | st.text(max_size=10)
SENTENCE = st.lists(st.sampled_from(["a", "b", "cat", "house", "'", "."]), max_size=10).map(" ".join)
LONG = st.lists(st.sampled_from(["a", "b", "cat", "house", "'", "."]), min_size=60, max_size=70).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(st.lists(TEXT, max_size=6))
@example(
    [
        "don't 'tis rock'n'roll ''",
        "a'",
        "'b",
        "a''b",
        "e\u0301'a",
        "it's we'll I'd’ve n't nn’t can'ts 'sn't n't's",
        "x'r",
        "n",
    ]
)
@example(["'"])
@example(["n't"])
def test_spans_are_the_tokens_of_the_regular_expression(texts):
    lowered = [text.lower() for text in texts]
    spans = TokenSpans(lowered)
    found = [
        [spans.text(token) for token in range(first, first + count)]
        for first, count in zip(spans.first, spans.counts, strict=True)
    ]
    assert found == [tokenize(text) for text in lowered]
    assert spans.sizes.tolist() == [len(token) for tokens in found for token in tokens]


@settings(max_examples=100, deadline=None)
@given(st.lists(TEXT, max_size=6))
def test_tokens_have_the_same_number_exactly_if_they_are_equal(texts):
    spans = TokenSpans([text.lower() for text in texts])
    tokens = [spans.text(token) for token in range(len(spans))]
    assert (
        len(set(tokens))
        == len(set(spans.numbers.tolist()))
        == len(set(zip(tokens, spans.numbers.tolist(), strict=True)))
    )


def grams(tokens, order):
    return [tuple(tokens[place : place + order]) for place in range(len(tokens) - order + 1)]


def naive(pairs, order):
    rows = []
    for first, second in pairs:
        one, two = grams(tokenize(first), order), grams(tokenize(second), order)
        rows.append(
            (
                sum(gram in set(two) for gram in one),
                sum(gram in set(one) for gram in two),
                sum((Counter(one) & Counter(two)).values()),
                sum(gram in one[:place] for place, gram in enumerate(one)),
                sum(gram in two[:place] for place, gram in enumerate(two)),
            )
        )
    return rows


def counter(pairs):
    return SharedNgramCounter(TokenSpans([first for first, _ in pairs] + [second for _, second in pairs]))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(SENTENCE, SENTENCE), max_size=8), st.integers(1, 5))
def test_counts_equal_those_of_lists_and_counters(pairs, order):
    found = counter(pairs).of_order(order)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == naive(pairs, order)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(SENTENCE | LONG, SENTENCE | LONG), max_size=5), st.integers(1, 4))
def test_long_sentences_among_short_ones_are_counted_the_same_way(pairs, order):
    found = counter(pairs).of_order(order)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == naive(pairs, order)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(SENTENCE | LONG, SENTENCE | LONG), max_size=5))
def test_words_of_a_length_are_counted_with_those_seen_before_or_on_the_other_side(pairs):
    counts = counter(pairs)
    words1, repeated1, words2, repeated2 = counts.repeated_words(3)
    words, present = counts.present_words(3)
    for row, (first, second) in enumerate(pairs):
        one, two = ([token for token in tokenize(text) if len(token) >= 3] for text in (first, second))
        assert (words1[row], repeated1[row]) == (len(one), len(one) - len(set(one)))
        assert (words2[row], repeated2[row]) == (len(two), len(two) - len(set(two)))
        assert (words[row], present[row]) == (len(two), sum(token in set(tokenize(first)) for token in two))


def test_numbers_that_agree_in_their_high_bits_only_are_distinguished(monkeypatch):
    pairs = [("a b", "b c")] * 3
    spans = TokenSpans([first for first, _ in pairs] + [second for _, second in pairs])
    distinct = np.unique(spans.numbers)
    spans.numbers = np.searchsorted(distinct, spans.numbers).astype(np.uint64)
    found = shared_ngrams.SharedNgramCounter(spans).of_order(1)
    assert found.present1.tolist() == found.present2.tolist() == [1, 1, 1]
