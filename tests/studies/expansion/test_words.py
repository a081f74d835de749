from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_paraphrase.studies.expansion.words import begins_sentence, split_words


@given(st.text(st.sampled_from("abnts.'’-_/@ \n,!1é"), max_size=40) | st.text(max_size=40))
def test_words_and_what_is_between_them_are_the_sentence(sentence):
    parts = split_words(sentence)
    assert len(parts) % 2 == 1 and "".join(parts) == sentence
    assert all(parts[1::2])


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("I don't know Tom's dog.", ["I", "do", "n't", "know", "Tom", "'s", "dog"]),
        ("Can't you? We’re here", ["Ca", "n't", "you", "We", "’re", "here"]),
        ("at 5 o'clock, O'Brien's", ["at", "5", "o'clock", "O'Brien", "'s"]),
        ("a well-known rock'n'roll-band", ["a", "well-known", "rock'n'roll-band"]),
        ("e.g. the U.S. army", ["e.g", "the", "U.S", "army"]),
        ("'quoted' (words)", ["quoted", "words"]),
        ("see http://a.org/dog.html or x@y.com now", ["see", "http://a.org/dog.html", "or", "x@y.com", "now"]),
        ("the <b>dog</b> and my_dog", ["the", "<b>dog</b>", "and", "my_dog"]),
        ("naïve Äpfel", ["naïve", "Äpfel"]),
        ("...", []),
        ("", []),
    ],
)
def test_sentences_are_cut_as_the_tagger_was_trained(sentence, words):
    assert split_words(sentence)[1::2] == words


@pytest.mark.parametrize(
    ("between", "begins"),
    [(". ", True), ("! ", True), (': "', True), (' "', True), (" (", True), (" ", False), (", ", False), ("-", False)],
)
def test_a_capital_may_be_due_to_the_place_behind_these(between, begins):
    assert begins_sentence(between) == begins
