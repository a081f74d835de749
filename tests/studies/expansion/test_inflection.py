from __future__ import annotations

import pytest

from hf_paraphrase.studies.expansion.inflection import Analysis, a_or_an, analyse, inflected

pytest.importorskip("lemminflect")


@pytest.mark.parametrize(
    ("word", "label", "found"),
    [
        ("dogs", "NOUN|-", Analysis("dog", "n", "NNS")),
        ("dog", "NOUN|-", Analysis("dog", "n", "NN")),
        ("went", "VERB|Fin", Analysis("go", "v", "VBD")),
        ("gone", "VERB|Part", Analysis("go", "v", "VBN")),
        ("goes", "VERB|Fin", Analysis("go", "v", "VBZ")),
        ("going", "VERB|Ger", Analysis("go", "v", "VBG")),
        ("go", "VERB|Inf", Analysis("go", "v", "VB")),
        ("go", "VERB|Fin", Analysis("go", "v", "VBP")),
        ("saw", "VERB|Fin", Analysis("see", "v", "VBD")),
        ("smarter", "ADJ|-", Analysis("smart", "a", "JJR")),
        ("oldest", "ADJ|-", Analysis("old", "a", "JJS")),
        ("quickly", "ADV|-", Analysis("quickly", "r", "RB")),
    ],
)
def test_a_word_is_analysed_into_its_lemma_and_form(wordnet, word, label, found):
    assert analyse(word, label, wordnet) == found


@pytest.mark.parametrize(
    ("word", "label"), [("dogs", "VERB|Fin"), ("dog", "PROPN|-"), ("zyxt", "NOUN|-"), ("is", "AUX|Fin")]
)
def test_a_word_without_definition_in_its_part_of_speech_has_no_analysis(wordnet, word, label):
    assert analyse(word, label, wordnet) is None


def test_forms_come_from_the_tables_and_none_is_made_up():
    assert [inflected("take", form) for form in ("VB", "VBP", "VBZ", "VBD", "VBN", "VBG")] == [
        *["take", "take", "takes", "took", "taken", "taking"]
    ]
    assert inflected("person", "NNS") == "people" and inflected("be", "VBD") == "was"
    assert inflected("zyxt", "NNS") is None


@pytest.mark.parametrize(
    ("text", "article"),
    [
        *[("dog", "a"), ("apple", "an"), ("hour", "an"), ("unit", "a"), ("unimportant", "an"), ("European", "a")],
        *[("one-eyed man", "a"), ("“old” man", "an"), ("8-hour day", "an"), ("umbrella", "an"), ("", "a")],
    ],
)
def test_the_article_follows_the_sound(text, article):
    assert a_or_an(text) == article


def test_the_models_that_are_pickles_are_never_opened(wordnet, monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a pickle was opened")

    monkeypatch.setattr("pickle.load", refuse)
    monkeypatch.setattr("pickle.loads", refuse)
    assert inflected.__wrapped__("blorkify", "VBD") is None
    assert analyse("blorkified", "VERB|Fin", wordnet) is None
