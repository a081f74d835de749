from __future__ import annotations

import collections
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from hf_paraphrase.tokenization.word_level import (
    build_word_level_tokenizer,
    reachable_words,
    save_tokenizer,
    sentence_vocabulary,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("ab c.D'", max_size=12), max_size=6), st.integers(1, 3))
def test_vocabulary_equals_a_plain_count(sentences, min_frequency):
    counts = collections.Counter(word for text in sentences for word in re.findall(r"\w+|[^\w\s]", text.lower()))
    expected = [word for word in sorted(counts, key=lambda w: (-counts[w], w)) if counts[word] >= min_frequency]
    found = sentence_vocabulary(sentences, contractions=False, min_frequency=min_frequency)
    assert found == expected
    assert sentence_vocabulary(sentences, contractions=False, min_frequency=min_frequency, max_size=2) == found[:2]


def test_special_tokens_come_first_and_none_is_added_to_a_sentence():
    tokenizer = build_word_level_tokenizer(["cat", "dog", "cat"])
    assert tokenizer.get_vocab() == {"[PAD]": 0, "[UNK]": 1, "cat": 2, "dog": 3}
    assert (tokenizer.pad_token_id, tokenizer.unk_token_id) == (0, 1)
    assert tokenizer("cat bird dog")["input_ids"] == [2, 1, 3]
    assert tokenizer("")["input_ids"] == [] and tokenizer(" \t ")["input_ids"] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't stop!", ["do", "n't", "stop", "!"]),
        ("can’t, won't", ["ca", "n't", ",", "wo", "n't"]),
        ("It's John's; they've I'd", ["it", "'s", "john", "'s", ";", "they", "'ve", "i", "'d"]),
        ("'sand' rock'n'roll", ["'", "sand", "'", "rock", "'", "n", "'", "roll"]),
    ],
)
def test_english_is_split_as_the_penn_treebank_does(text, words):
    assert build_word_level_tokenizer(words).tokenize(text) == words


def test_reachable_words_depend_on_case_and_splitting():
    words = ["cat", "London", "new york", "well-known", "n't", "'s", ".", "...", "l'", "naïve", "½", "x9"]
    assert reachable_words(words) == ["cat", "n't", "'s", ".", "naïve", "x9"]
    assert "London" in reachable_words(words, lower_case=False)
    assert reachable_words(["well-known", "don't", "u.s."], treebank=True) == ["well-known", "u.s."]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=20))
def test_reachable_means_one_token(word):
    tokenizer = build_word_level_tokenizer([word, "x"])
    # Text that looks like a special token is one, whatever the words are.
    if "[PAD]" not in word and "[UNK]" not in word:
        assert (reachable_words([word]) == [word]) == (tokenizer.tokenize(word) == [word])


@pytest.mark.parametrize(
    ("digits", "words"),
    [
        ("keep", ["in", "1982", ",", "٣", ".", "5", "%", "b2b"]),
        ("zero", ["in", "0000", ",", "0", ".", "0", "%", "b0b"]),
        ("remove", ["in", ",", ".", "%", "bb"]),
    ],
)
def test_digits_are_treated_by_the_tokenizer_and_so_in_a_saved_one(digits, words, tmp_path):
    text = "In 1982, ٣.5 % B2B"
    assert sorted(sentence_vocabulary([text], digits=digits)) == sorted(set(words))
    save_tokenizer(build_word_level_tokenizer(words, digits=digits), tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    assert tokenizer.model_max_length > 10**9 and tokenizer.padding_side == "right"
    assert tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"]) == words


@pytest.fixture(scope="module")
def split():
    """Splits a text into words without changing its case."""
    tokenizer = build_word_level_tokenizer(["x"], lower_case=False, treebank=True).backend_tokenizer
    return lambda text: [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)]


@settings(max_examples=200, deadline=None)
@given(st.text("ab1.,:'\"()-$n t's", min_size=1, max_size=9))
def test_any_text_is_split_without_losing_a_character(split, text):
    assert "".join(split(text)) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a well-known 1.5 and/or 3,000 at 10:30", "a well-known 1.5 and/or 3,000 at 10:30"),
        ("The U.S. grew, said J. Smith of Acme Inc., Ltd.", "The U.S. grew , said J. Smith of Acme Inc. , Ltd."),
        ('He said "It\'s $5!" (twice)...', 'He said " It \'s $ 5 ! " ( twice ) ...'),
        (
            "I cannot and don't; they'll. The dogs' 'n' -- gonna",
            "I can not and do n't ; they 'll . The dogs ' 'n ' -- gon na",
        ),
        ("“Non” — 5€", "“ Non ” — 5 €"),
    ],
)
def test_what_the_treebank_keeps_whole_and_what_it_splits(split, text, words):
    assert split(text) == words.split()
