from __future__ import annotations

import pytest

from hf_paraphrase.data.sample import english_morphology as english
from hf_paraphrase.data.sample.english_phrases import VerbGroup, attach, invert, verb_group
from hf_paraphrase.data.sample.meaning import Agreement, WordingChooser

HE = Agreement()
THEY = Agreement(plural=True)
CANONICAL = WordingChooser()


@pytest.mark.parametrize(
    ("base", "third", "past", "participle", "gerund"),
    [
        ("go", "goes", "went", "gone", "going"),
        ("carry", "carries", "carried", "carried", "carrying"),
        ("play", "plays", "played", "played", "playing"),
        ("stop", "stops", "stopped", "stopped", "stopping"),
        ("visit", "visits", "visited", "visited", "visiting"),
        ("begin", "begins", "began", "begun", "beginning"),
        ("wash", "washes", "washed", "washed", "washing"),
        ("fix", "fixes", "fixed", "fixed", "fixing"),
        ("write", "writes", "wrote", "written", "writing"),
        ("have", "has", "had", "had", "having"),
        ("be", "is", "was", "been", "being"),
        ("prefer", "prefers", "preferred", "preferred", "preferring"),
        ("cut", "cuts", "cut", "cut", "cutting"),
        ("open", "opens", "opened", "opened", "opening"),
        ("see", "sees", "saw", "seen", "seeing"),
        ("clean", "cleans", "cleaned", "cleaned", "cleaning"),
        ("cook", "cooks", "cooked", "cooked", "cooking"),
    ],
)
def test_verb_forms(base: str, third: str, past: str, participle: str, gerund: str) -> None:
    assert english.third_person(base) == third
    assert english.past(base) == past
    assert english.past_participle(base) == participle
    assert english.present_participle(base) == gerund


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("child", "children"),
        ("fireman", "firemen"),
        ("woman", "women"),
        ("knife", "knives"),
        ("box", "boxes"),
        ("city", "cities"),
        ("boy", "boys"),
        ("mouse", "mice"),
        ("sheep", "sheep"),
        ("police officer", "police officers"),
        ("TV", "TVs"),
        ("class", "classes"),
        ("watch", "watches"),
    ],
)
def test_noun_plurals(singular: str, plural: str) -> None:
    assert english.plural_noun(singular) == plural


def test_indefinite_article_goes_by_sound() -> None:
    articles = {
        word: english.indefinite_article(word) for word in ("apple", "hour", "honest", "useful", "umbrella", "dog")
    }
    assert articles == {"apple": "an", "hour": "an", "honest": "an", "useful": "a", "umbrella": "an", "dog": "a"}


def test_sentence_resolves_articles_and_capitalises() -> None:
    assert english.sentence("a old man saw a useful tool , please") == "An old man saw a useful tool, please."


def test_possessive_of_plurals_and_names() -> None:
    assert english.possessive("the boys") == "the boys'"
    assert english.possessive("the children") == "the children's"
    assert english.possessive("Lucas") == "Lucas's"


@pytest.mark.parametrize(
    ("phrase", "tense", "agreement", "aspect", "statement", "question"),
    [
        ("look for", "past", HE, "simple", "he looked for", "did he look for"),
        ("look for", "present", HE, "progressive", "he is looking for", "is he looking for"),
        ("eat", "present", HE, "simple", "he eats", "does he eat"),
        ("eat", "present", THEY, "simple", "he eat", "do he eat"),
        ("be afraid of", "past", THEY, "simple", "he were afraid of", "were he afraid of"),
        ("work", "present", HE, "perfect", "he has been working", "has he been working"),
        ("know", "present", HE, "state", "he has known", "has he known"),
        ("can swim", "present", HE, "simple", "he can swim", "can he swim"),
        ("have just eaten", "present", HE, "simple", "he has just eaten", "has he just eaten"),
        ("sing", "future", HE, "simple", "he will sing", "will he sing"),
    ],
)
def test_verb_groups_in_statements_and_questions(
    phrase: str, tense: str, agreement: Agreement, aspect: str, statement: str, question: str
) -> None:
    group = verb_group(phrase, tense, agreement, aspect, CANONICAL)
    assert attach("he", False, group, "affirmative", "", CANONICAL) == statement
    assert invert("he", group, "affirmative", "", CANONICAL) == question


def test_negation_uses_do_and_the_base_form() -> None:
    group = verb_group("eat", "past", HE, "simple", CANONICAL)
    assert attach("he", False, group, "negative", "", CANONICAL) == "he did not eat"
    assert attach("he", False, group, "never", "", CANONICAL) == "he never ate"
    assert attach("he", False, VerbGroup("can", "eat"), "negative", "", CANONICAL) == "he cannot eat"
    assert english.contract_not("will") == "won't"


@pytest.mark.parametrize(
    ("adjective", "expected"),
    [
        ("tall", "taller"),
        ("large", "larger"),
        ("big", "bigger"),
        ("happy", "happier"),
        ("shy", "shyer"),
        ("good", "better"),
        ("ill", "more ill"),
        ("necessary", "more necessary"),
        ("modern", "more modern"),
    ],
)
def test_comparatives(adjective, expected):
    assert english.comparative(adjective) == expected
