from __future__ import annotations

import unicodedata

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.text.normalization import (
    are_visible,
    is_blank,
    normalize_text,
    normalize_texts,
    normalize_words,
    normalize_words_all,
)
from hf_paraphrase.text.words import combining_marks

INVISIBLE = "\u200b\ufeff\u200e\xad\u2060\u3164\u2800\x07\x00\u200d"
LETTERS = st.characters(exclude_categories=["Cs"]) | st.sampled_from(f"aB \t\v\x1c_İıßς{INVISIBLE}")
TEXTS = st.lists(st.text(LETTERS), max_size=6)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A  cat\u00a0", "a cat"),
        ("caf\u00e9", "Cafe\u0301"),
        ("İstanbul", "istanbul"),
        ("STRASSE", "straße"),
        ("a\u200bb", "ab"),
        ("a\xadb\x07", "AB"),
    ],
)
def test_texts_are_the_same_whatever_their_case_white_space_and_invisible_characters(one, other):
    assert normalize_text(one) == normalize_text(other)


@pytest.mark.parametrize(("one", "other"), [("a b", "ab"), ("a.", "a"), ("करता", "करती"), ("résumé", "resume")])
def test_other_texts_are_not_the_same(one, other):
    assert normalize_text(one) != normalize_text(other)


@given(TEXTS)
@settings(deadline=None)
def test_many_texts_at_once_are_as_one_by_one_and_the_form_is_its_own_form(texts):
    array = pa.array(texts, pa.string())
    assert normalize_texts(array).to_pylist() == [normalize_text(text) for text in texts]
    assert normalize_words_all(array).to_pylist() == [normalize_words(text) for text in texts]
    assert are_visible(array).tolist() == [bool(normalize_text(text)) for text in texts]
    assert [normalize_words(normalize_words(text)) for text in texts] == [normalize_words(text) for text in texts]


@pytest.mark.parametrize("text", [*INVISIBLE, INVISIBLE, f" {INVISIBLE} ", "", "\u3000"])
def test_a_text_of_invisible_characters_is_empty(text):
    assert not are_visible(pa.array([text]))[0] and not normalize_text(text)
    assert is_blank(text) and not is_blank(f"{text}a")


def test_words_are_runs_of_letters_marks_and_digits():
    assert normalize_words("Two men's DOGS -- run_fast! ²") == "two men s dogs run fast 2"
    assert normalize_words("करता है।") == unicodedata.normalize("NFC", "करता है")
    marks = {chr(code) for low, high in combining_marks() for code in range(low, high + 1)}
    assert {"\u0301", "\u093f"} < marks and not {"a", "क"} & marks
