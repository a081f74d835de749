from __future__ import annotations

from collections import Counter

from hypothesis import example, given, settings
from hypothesis import strategies as st

from hf_paraphrase.filtering.tokens import TokenSpans, shared_ngrams, tokenize

TEXT = st.text(
    st.sampled_from("abAB1 _'’ntsdrel-.,\n\t\u0301\u0130ßΣéı中\u200b\u00a0\U0001f600\ud800\x00"), max_size=14
) | st.text(max_size=10)
SENTENCE = st.lists(st.sampled_from(["a", "b", "cat", "house", "'", "."]), max_size=70).map(" ".join)


def texts_of(spans, sentences):
    joined = "\n".join(sentences).replace("\u2019", "'")
    return [joined[start : start + size] for start, size in zip(spans.starts, spans.sizes, strict=True)]


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
    tokens = texts_of(spans, lowered)
    found = [tokens[first : first + count] for first, count in zip(spans.first, spans.counts, strict=True)]
    assert found == [tokenize(text) for text in lowered]
    assert spans.sizes.tolist() == [len(token) for tokens in found for token in tokens]


def grams(tokens, order):
    return [tuple(tokens[place : place + order]) for place in range(len(tokens) - order + 1)]


def naive(pairs, order, shortest):
    rows = []
    for pair in pairs:
        tokens = ([token for token in tokenize(text) if len(token) >= shortest] for text in pair)
        one, two = (grams(side, order) for side in tokens)
        rows.append(
            (
                len(one),
                len(two),
                sum(gram in set(two) for gram in one),
                sum(gram in set(one) for gram in two),
                sum((Counter(one) & Counter(two)).values()),
                sum(gram in one[:place] for place, gram in enumerate(one)),
                sum(gram in two[:place] for place, gram in enumerate(two)),
            )
        )
    return rows


def counted(pairs, order=1, shortest=1):
    spans = TokenSpans([first for first, _ in pairs] + [second for _, second in pairs])
    found = shared_ngrams(spans, order, shortest=shortest)
    return list(zip(*(column.tolist() for column in found), strict=True))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(SENTENCE, SENTENCE), max_size=8), st.integers(1, 5), st.integers(1, 4))
def test_counts_equal_those_of_lists_and_counters(pairs, order, shortest):
    assert counted(pairs, order, shortest) == naive(pairs, order, shortest)
