from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, reachable_words


@pytest.fixture(scope="module")
def split():
    """Splits a text into words without changing its case."""
    tokenizer = build_word_level_tokenizer(["x"], lower_case=False, treebank=True).backend_tokenizer
    return lambda text: [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)]


@settings(max_examples=400, deadline=None)
@given(st.text("ab1.,:'\"()-$n t's", min_size=1, max_size=9))
def test_any_text_is_split_without_losing_a_character(split, text):
    assert "".join(split(text)) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a well-known 1.5 and/or 3,000 at 10:30", "a well-known 1.5 and/or 3,000 at 10:30"),
        ("The U.S. grew, said J. Smith of Acme Inc., Ltd.", "The U.S. grew , said J. Smith of Acme Inc. , Ltd."),
        ("He left. She, and I.", "He left . She , and I ."),
        ('He said "It\'s $5!" (twice)...', 'He said " It \'s $ 5 ! " ( twice ) ...'),
        (
            "I cannot and don't; they'll. The dogs' 'n' -- gonna",
            "I can not and do n't ; they 'll . The dogs ' 'n ' -- gon na",
        ),
        ("“Non” — 5€", "“ Non ” — 5 €"),
        ("approx. x (Ph.D.)", "approx. x ( Ph.D. )"),
    ],
)
def test_what_the_treebank_keeps_whole_and_what_it_splits(split, text, words):
    assert split(text) == words.split()


def test_words_that_the_treebank_keeps_are_reachable():
    words = ["well-known", "don't", "u.s.", "1.5"]
    assert reachable_words(words, treebank=True) == ["well-known", "u.s.", "1.5"]
