"""What the tab of similarities draws, and what typed texts may be."""

from __future__ import annotations

import html
import re

import pytest

from hf_paraphrase.demo.answers import answered, sentences_of
from hf_paraphrase.demo.model_catalogue import ModelCatalogue
from hf_paraphrase.demo.similarity_tab import EXAMPLE, compared
from hf_paraphrase.errors import UsageError


@pytest.fixture
def catalogue(models):
    return ModelCatalogue([str(models)])


def words_of(picture):
    return html.unescape(re.sub(r"<[^>]*>", " ", picture))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("one", "nothing to compare"),
        ("x " * 50_000 + "\nshort", "sentence 1 has 99,999 characters"),
        ("a\n" * 1000, "1,000 sentences"),
    ],
)
def test_texts_that_cannot_be_compared_are_refused_in_words(text, said):
    with pytest.raises(UsageError, match=said):
        sentences_of(text)


def test_sentences_of_which_the_encoder_knows_no_word_are_named(catalogue):
    shown = words_of(compared(catalogue, "avg", "the car\nquark strangeness"))
    assert "no word of “quark strangeness” is in the encoder's vocabulary: cosines with it are meaningless" in shown


def test_markup_that_was_typed_is_text(catalogue):
    picture = compared(catalogue, "avg", '<img src=x onerror=alert(1)>\n"quoted" <b>\'')
    assert "<img" not in picture and "<b>" not in picture and "&lt;img" in picture


def test_errors_are_answered_in_words_and_so_are_faults():
    @answered(("empty",))
    def handler(error):
        raise error

    shown, other = handler(UsageError("<b>this</b> is wrong", remedy="do that"))
    assert "&lt;b&gt;this&lt;/b&gt; is wrong (do that)" in shown and 'role="alert"' in shown and other == "empty"
    assert "this failed: ZeroDivisionError: oh" in answered()(handler.__wrapped__)(ZeroDivisionError("oh"))
    assert "not enough memory" in handler(MemoryError("Unable to allocate 9 GiB"))[0]


def test_the_example_is_similar_where_it_should_be_under_the_encoder_that_is_selected_first(models):
    catalogue = ModelCatalogue([str(models)])
    cosines = catalogue.encoder(catalogue.encoders[0]).similarity(*[EXAMPLE.splitlines()] * 2)
    assert min(cosines[0, 1], cosines[2, 3]) > 0.4 > 0.2 > cosines[:2, 2:].max()
