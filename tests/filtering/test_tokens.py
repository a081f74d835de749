from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from hf_paraphrase.filtering.tokens import TokenSpans, tokenize

TEXT = st.text(
    st.sampled_from("abAB1 _'’ntsdrel-.,\n\t\u0301\u0130ßΣéı中\u093f\U00011134\u200b\u00a0\U0001f600\ud800\x00"),
    max_size=14,
) | st.text(max_size=10)


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


def test_vowel_signs_belong_to_their_words():
    assert len(tokenize("वह दिन में काम करता है।")) == 7
    assert tokenize("เขา ทำ งาน") == ["เขา", "ทำ", "งาน"] and tokenize("\U00011107\U00011134 a") == [
        "\U00011107\U00011134",
        "a",
    ]
