from __future__ import annotations

import pytest

from hf_paraphrase.data.sample import adjuncts
from hf_paraphrase.data.sample.adjectives import ADJECTIVE_BY_FRENCH, ADJECTIVES, describes
from hf_paraphrase.data.sample.grammar import PATTERNS
from hf_paraphrase.data.sample.lexicon import table_rows
from hf_paraphrase.data.sample.nouns import NOUN_BY_FRENCH, NOUNS
from hf_paraphrase.data.sample.verb_tables import NAMED_CLASSES
from hf_paraphrase.data.sample.verbs import VERBS, selected_nouns


def test_lexicon_has_several_hundred_lemmas() -> None:
    verb_lemmas = {(verb.french, verb.tail) for verb in VERBS}
    assert len(NOUNS) >= 250
    assert len(verb_lemmas) >= 150
    assert len(ADJECTIVES) >= 85
    assert len(adjuncts.TIMES) + len(adjuncts.PLACES) + len(adjuncts.DESTINATIONS) >= 80


def test_grammar_has_dozens_of_patterns() -> None:
    assert len(PATTERNS) >= 60


def test_many_concepts_have_several_english_wordings() -> None:
    entries = [*NOUNS, *VERBS, *ADJECTIVES]
    assert sum(len(entry.english) > 1 for entry in entries) / len(entries) > 0.4


def test_noun_lemmas_are_unique() -> None:
    assert len(NOUN_BY_FRENCH) == len(NOUNS)
    assert len(ADJECTIVE_BY_FRENCH) == len(ADJECTIVES)


def test_every_verb_has_subjects_and_where_it_needs_them_objects() -> None:
    for verb in VERBS:
        assert selected_nouns(verb.subjects), verb.french
        if verb.objects:
            assert selected_nouns(verb.objects), verb.french


def test_every_class_that_a_verb_names_selects_something() -> None:
    for verb in VERBS:
        for name in (*verb.subjects, *verb.objects):
            assert selected_nouns((name,)), (verb.french, name)


def test_every_lemma_of_a_named_class_is_a_noun() -> None:
    for name, lemmas in NAMED_CLASSES.items():
        assert isinstance(lemmas, tuple), name
        for lemma in lemmas:
            assert lemma in NOUN_BY_FRENCH, (name, lemma)


def test_every_kind_of_place_that_a_verb_names_exists() -> None:
    for verb in VERBS:
        for kind in verb.places:
            assert adjuncts.places_for((kind,)), (verb.french, kind)


def test_every_adjective_describes_something_and_its_antonym_exists() -> None:
    for adjective in ADJECTIVES:
        assert any(describes(adjective, noun) for noun in NOUNS), adjective.french
        assert adjective.antonym is None or adjective.antonym in ADJECTIVE_BY_FRENCH, adjective.french


def test_wordings_are_trimmed_and_not_repeated() -> None:
    for entry in [*NOUNS, *VERBS, *ADJECTIVES]:
        assert entry.english
        assert len(set(entry.english)) == len(entry.english)
        assert all(word == word.strip("*= ") and word for word in entry.english)


def test_things_are_never_selected_as_eaters() -> None:
    eaters = selected_nouns(next(verb for verb in VERBS if verb.french == "manger").subjects)
    assert all({"human", "animal"} & set(noun.classes) for noun in eaters)


def test_table_rows_of_the_wrong_width_are_refused() -> None:
    assert list(table_rows("# remark\na | b\n\n", 2)) == [["a", "b"]]
    with pytest.raises(ValueError, match="expected 3 cells"):
        list(table_rows("a | b", 3))
