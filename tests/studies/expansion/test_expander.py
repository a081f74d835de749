from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.studies.expansion.expander import Expander

SENTENCES = [
    "The boy saw a dog and a tiresome teacher.",
    "Dogs sleep; the old teacher started and thought quickly.",
    "I saw the smart boys in March.",
    "He whispered to the teacher's dog.",
    "Sleep!",
    "",
    "...",
    "Tom and Mary",
    "She painted an apple for an hour.",
    "The dog sleeps.\nThe boys sleep.",
]


@pytest.fixture(scope="module")
def make(wordnet, tagger):
    return lambda **options: Expander(wordnet, tagger, **options)


@pytest.fixture(scope="module")
def every(make):
    return make(share=1.0)


@pytest.mark.parametrize(
    ("sentence", "expanded"),
    [
        ("I saw a boy.", "I perceived by sight or have the power to perceive by sight a youthful male person."),
        ("The old boys", "The having lived for a relatively long time youthful male people"),
        ("He ate an apple.", "He ate a fruit with red or yellow skin."),
        ("Dogs were there.", "Members of the genus Canis were there."),
        ("My dog is old!", "My member of the genus Canis is having lived for a relatively long time!"),
        ("the dog food", "the dog any substance that can be metabolized by an animal"),
        ("The boy's dog barked.", "The boy's member of the genus Canis barked."),
        ("An old hour", "A having lived for a relatively long time period of time equal to 1/24th of a day"),
    ],
)
def test_definitions_stand_in_the_place_of_words_with_articles_and_capitals_that_fit(every, sentence, expanded):
    # `apple` is defined without an article, which is then lacking; `ate` is no word of this small dictionary.
    assert every.expand([sentence]) == [expanded]


@pytest.mark.parametrize(
    "sentence",
    [
        "The Teacher was out with Boy.",
        "We met in March.",
        "It is and was and will be of the who.",
        "The credit card's BOY",
        "a boy-dog at boy@dog.com and <dog>",
        "",
    ],
)
def test_names_stop_words_and_the_like_stay_as_they_are(every, sentence):
    found = every.expand_counted([sentence])
    assert found.texts == [sentence] and found.expanded.tolist() == [0] == found.expandable.tolist()


def test_verbs_of_being_agree_with_what_is_before_them(every):
    texts = ["They sleep.", "I sleep.", "We slept.", "The dogs slept.", "It slept."]
    expected = ["They are asleep.", "I am asleep.", "We were asleep."]
    expected += ["The members of the genus Canis were asleep.", "It was asleep."]
    assert every.expand(texts) == expected


def test_most_words_of_another_language_leave_a_sentence_alone(every):
    sentences = ["Der alte Hund schläft mit dem boy.", "Le vieux chien dort"]
    found = every.expand_counted(sentences)
    assert found.texts == sentences and not found.expandable.any()
    assert every.expand(["dog und Katz"]) == ["a member of the genus Canis und Katz"]


def test_the_mean_number_of_expanded_words_is_the_share(make):
    sentences = [f"{number}: The boy saw a dog." for number in range(3000)]
    found = make(share=0.4).expand_counted(sentences)
    assert set(found.expandable.tolist()) == {3} and set(found.expanded.tolist()) == {1, 2}
    assert found.expanded.mean() == pytest.approx(1.2, abs=0.03)


def test_the_result_depends_on_sentence_seed_and_epoch_alone(make):
    sentences = [f"{text} {number}" for number in range(40) for text in SENTENCES]
    expander = make(share=0.5, seed=3)
    expected = expander.expand(sentences, 1)
    order = list(range(len(sentences)))
    random.Random(0).shuffle(order)
    shuffled = make(share=0.5, seed=3).expand([sentences[place] for place in order], 1)
    assert [shuffled[order.index(place)] for place in range(len(order))] == expected
    assert [expander.expand([text], 1)[0] for text in sentences[:50]] == expected[:50]
    assert expander.expand(sentences, 2) != expected != make(share=0.5, seed=4).expand(sentences, 1)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.text(max_size=30) | st.text(st.sampled_from("boy dogs'saw A.\n\u2028\ud800-"), max_size=30), max_size=4
    )
)
def test_any_text_is_expanded_without_an_error_and_line_breaks_stay(every, sentences):
    texts = every.expand(sentences)
    assert len(texts) == len(sentences)
    assert [text.count("\n") for text in texts] == [text.count("\n") for text in sentences]


def test_paper_004_table_1_on_the_real_dictionary(real_wordnet, tagger):
    expander = Expander.from_wordnet(real_wordnet, share=1.0)
    (text,) = expander.expand(["My dear Mr. Bennet, replied his wife, how can you be so tiresome!"])
    assert text.endswith("how can you be so so lacking in interest as to cause mental weariness!")
    assert "Bennet" in text and text.startswith("My ")
    (text,) = expander.expand(["I started to walk."])
    assert text.startswith("I took the first step or steps in carrying out an action to use one's feet to advance")
