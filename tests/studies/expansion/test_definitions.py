from __future__ import annotations

import pytest

from hf_paraphrase.data.decontamination import load_fingerprints
from hf_paraphrase.studies.expansion.definitions import (
    Definition,
    Definitions,
    a_or_an,
    analyse,
    clean_definition,
    inflected,
)


@pytest.fixture(scope="module")
def definitions(wordnet, tagger):
    return Definitions(wordnet, tagger)


@pytest.mark.parametrize(
    ("gloss", "cleaned"),
    [
        ("a dog (of some kind (large)) that barks; occurs in many breeds", "a dog that barks"),
        ("so lacking in interest; ; ; - Edmund Burke; ; - Mark Twain", "so lacking in interest"),
        ("(used of persons) having lived long", "having lived long"),
        ("broken ( bracket", "broken bracket"),
        ("; - nobody", ""),
        ("", ""),
    ],
)
def test_remarks_attributions_and_later_clauses_are_dropped(gloss, cleaned):
    assert clean_definition(gloss) == cleaned


@pytest.mark.parametrize(
    ("word", "label", "expected"),
    [
        ("boy", "NOUN|-", Definition("youthful male person", "a", "NN")),
        ("dogs", "NOUN|-", Definition("members of the genus Canis", "", "NNS")),
        ("teachers", "NOUN|-", Definition("people whose occupation is teaching", "", "NNS")),
        ("painter", "NOUN|-", Definition("person who paints or draws pictures", "a", "NN")),
        ("food", "NOUN|-", Definition("any substance that can be metabolized by an animal", "", "NN")),
        ("march", "NOUN|-", Definition("act of marching", "the", "NN")),
        ("started", "VERB|Fin", Definition("took the first step or steps in carrying out an action", "", "VBD")),
        ("thinks", "VERB|Fin", Definition("judges or regards", "", "VBZ")),
        ("saw", "VERB|Fin", Definition("perceived by sight or have the power to perceive by sight", "", "VBD")),
        ("whispered", "VERB|Part", Definition("spoken softly", "", "VBN")),
        ("tiresome", "ADJ|-", Definition("so lacking in interest as to cause mental weariness", "", "JJ")),
        ("smarter", "ADJ|-", Definition("more showing mental alertness", "", "JJR")),
        ("quickly", "ADV|-", Definition("with rapid movements", "", "RB")),
    ],
)
def test_definitions_take_over_the_form_of_the_word(definitions, word, label, expected):
    assert definitions.find(word, label) == expected


def test_definitions_that_are_evaluation_sentences_give_place_to_the_next_sense(wordnet, tagger, tmp_path):
    evaluation = tmp_path / "sts.txt"
    evaluation.write_text(
        "A member of the genus Canis; occurs in many breeds.\tA youthful male person!\n"
        "the act of marching; walking with regular steps\tApply paint to\n"
    )
    definitions = Definitions(wordnet, tagger, avoid=load_fingerprints([evaluation]))
    assert definitions.find("dogs", "NOUN|-").text == "dull girls or women"
    assert definitions.find("boy", "NOUN|-") is None and definitions.find("march", "NOUN|-") is None
    # Three words are too few to prove anything.
    assert definitions.find("paint", "VERB|Inf") is not None


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
