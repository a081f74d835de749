"""Words, WordNet, definitions, expanded sentences, and the verb `expand`."""

from __future__ import annotations

import random
import shutil

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_runs import run

from hf_paraphrase.data.decontamination import load_fingerprints
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.data.schema import PAIRS
from hf_paraphrase.errors import InputError
from hf_paraphrase.studies.expansion.definitions import (
    Definition,
    Definitions,
    PartOfSpeechTagger,
    a_or_an,
    analyse,
    clean_definition,
    inflected,
    split_words,
)
from hf_paraphrase.studies.expansion.expander import Expander
from hf_paraphrase.studies.expansion.wordnet import WordNet, find_wordnet


@pytest.fixture(scope="session")
def tagger():
    """The installed part-of-speech tagger; it takes a second to open."""
    pytest.importorskip("denckring_en_pos")
    pytest.importorskip("lemminflect")
    return PartOfSpeechTagger.load()


@pytest.fixture(scope="session")
def wordnet(tiny_wordnet):
    """A few dozen words."""
    return WordNet(tiny_wordnet)


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


def test_senses_come_in_their_order_without_examples_and_names_are_those_written_with_a_capital(wordnet):
    definitions = [sense.definition for sense in wordnet.senses("dog", "n")]
    assert definitions == [
        "a member of the genus Canis (probably from the wolf); occurs in many breeds",
        "a dull girl or woman",
    ]
    assert wordnet.senses("go", "v")[0].definition == "change location"
    assert wordnet.senses("domestic_dog", "n") == wordnet.senses("dog", "n")[:1]
    assert [sense.is_name for sense in wordnet.senses("march", "n")] == [True, False]
    assert not wordnet.senses("boring", "a")[0].is_name


def test_the_folder_is_found_by_the_environment_and_in_the_usual_places(tiny_wordnet, monkeypatch, tmp_path):
    folder = shutil.copytree(tiny_wordnet, tmp_path / "home" / "dict")
    monkeypatch.delenv("WNSEARCHDIR", raising=False)
    monkeypatch.delenv("WNHOME", raising=False)
    assert find_wordnet(None, [str(tmp_path / "absent"), str(folder)]) == folder
    with pytest.raises(InputError, match="wordnet-base"):
        find_wordnet(None, [])
    monkeypatch.setenv("WNHOME", str(folder.parent))
    assert find_wordnet(None, []) == folder


@pytest.mark.parametrize("damage", [b"dog n", b"dog n 1 1 @ 1 0 00000099"])
def test_a_damaged_word_is_named_when_it_is_asked_for(tiny_wordnet, tmp_path, damage):
    index = shutil.copytree(tiny_wordnet, tmp_path / "dict") / "index.noun"
    lines = index.read_bytes().split(b"\n")
    index.write_bytes(b"\n".join(damage if line.startswith(b"dog ") else line for line in lines))
    wordnet = WordNet(index.parent)
    assert wordnet.senses("teacher", "n")
    with pytest.raises(InputError, match=r"index\.noun: `dog` is damaged here or in data\.noun"):
        wordnet.senses("dog", "n")


@pytest.mark.parametrize(
    ("gloss", "cleaned"),
    [
        ("a dog (of some kind (large)) that barks; occurs in many breeds", "a dog that barks"),
        ("so lacking in interest; ; ; - Edmund Burke; ; - Mark Twain", "so lacking in interest"),
        ("(used of persons) having lived long", "having lived long"),
        ("broken ( bracket", "broken bracket"),
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
        ("thinks", "VERB|Fin", Definition("judges or regard", "", "VBZ")),
        ("saw", "VERB|Fin", Definition("perceived by sight or have the power to perceive by sight", "", "VBD")),
        ("whispered", "VERB|Part", Definition("spoken softly", "", "VBN")),
        ("smarter", "ADJ|-", Definition("more showing mental alertness", "", "JJR")),
        ("quickly", "ADV|-", Definition("with rapid movements", "", "RB")),
    ],
)
def test_definitions_take_over_the_form_of_the_word(wordnet, tagger, word, label, expected):
    assert Definitions(wordnet, tagger).find(word, label) == expected


def test_definitions_that_are_evaluation_sentences_give_place_to_the_next_sense(wordnet, tagger, tmp_path):
    evaluation = tmp_path / "sts.txt"
    evaluation.write_text(
        "A member of the genus Canis; occurs in many breeds.\tA youthful male person!\n"
        "the act of marching; walking with regular steps\tApply paint to\n"
    )
    definitions = Definitions(wordnet, tagger, avoid=load_fingerprints([evaluation]))
    assert definitions.find("dogs", "NOUN|-").text == "dull girls or woman"
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
        ("He ate an apple.", "He ate a fruit with red or yellow skin."),
        ("Dogs were there.", "Members of the genus Canis were there."),
        ("My dog is old!", "My member of the genus Canis is having lived for a relatively long time!"),
        ("the dog food", "the dog any substance that can be metabolized by an animal"),
        ("The boy's dog barked.", "The boy's member of the genus Canis barked."),
    ],
)
def test_definitions_stand_in_the_place_of_words_with_articles_and_capitals_that_fit(every, sentence, expanded):
    # `apple` is defined without an article, which is then lacking; `ate` is no word of this small dictionary.
    assert every.expand([sentence]) == [expanded]


@pytest.mark.parametrize(
    "sentence",
    [
        "The Teacher was out with Boy in March.",
        "It is and was of the who.",
        "The credit card's BOY",
        "boy@dog.com <dog>",
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


@settings(max_examples=10, deadline=None)
@given(
    st.lists(
        st.text(max_size=30) | st.text(st.sampled_from("boy dogs'saw A.\n\u2028\ud800-"), max_size=30), max_size=4
    )
)
def test_any_text_is_expanded_without_an_error_and_line_breaks_stay(every, sentences):
    texts = every.expand(sentences)
    assert len(texts) == len(sentences)
    assert [text.count("\n") for text in texts] == [text.count("\n") for text in sentences]


def test_paper_004_table_1_on_the_real_dictionary(tagger):
    try:
        expander = Expander.from_wordnet(find_wordnet(), share=1.0)
    except InputError as error:
        pytest.skip(f"{error}: WNSEARCHDIR can name it")
    (text,) = expander.expand(["My dear Mr. Bennet, replied his wife, how can you be so tiresome!"])
    assert text.endswith("how can you be so so lacking in interest as to cause mental weariness!")
    assert "Bennet" in text and text.startswith("My ")
    (text,) = expander.expand(["I started to walk."])
    assert text.startswith("I took the first step or steps in carrying out an action to use one's feet to advance")


LINES = ["The boy saw a dog.", "nothing of this", "", "She is a teacher.", "Le vieux chien dort ici"]


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


@pytest.mark.usefixtures("tagger")
def test_a_text_gives_pairs_of_its_sentences_and_their_expansions(text, tmp_path, tiny_wordnet, capfd):
    output = tmp_path / "expanded"
    words = ["--text", text, "--output", output, "--wordnet", tiny_wordnet, "--share", 1, "--seed", 5]
    assert run("expand", *words) == 0
    expected = Expander.from_wordnet(tiny_wordnet, share=1.0, seed=5).expand([LINES[0], LINES[3]])
    rows = DataFolder(output).table().to_pylist()
    assert [(row["sentence1"], row["sentence2"]) for row in rows] == list(zip(LINES[::3], expected, strict=True))
    assert [row["expanded_words"] for row in rows] == [3, 1]
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "4 of 4 expandable words expanded, in 2 of 4 sentences" in captured.err
    assert captured.err.splitlines()[-1] == f"pairs of a sentence and its expansion saved to {output}"


@pytest.mark.usefixtures("tagger")
@pytest.mark.parametrize(
    ("sentence", "flags"),
    [("a youthful male person", []), ("Some youthful male person", ["--decontaminate-similarity", 0.8])],
)
def test_definitions_in_evaluation_sets_are_not_used_and_the_card_says_so(sentence, flags, tmp_path, tiny_wordnet):
    pairs = tmp_path / "pairs"
    table = pa.table({"sentence1": LINES[:2], "sentence2": [LINES[3], "The dog"]}, schema=PAIRS)
    write_split(pairs, "train", [table], PAIRS)
    evaluation = tmp_path / "sts.txt"
    evaluation.write_text(f"{sentence}\n")
    words = ["expand", "--pairs", pairs, "--wordnet", tiny_wordnet, "--share", 1]
    assert run(*words, "--output", tmp_path / "a", "--decontaminate", evaluation, *flags) == 0
    assert run(*words, "--output", tmp_path / "b") == 0
    checked, unchecked = (" ".join(DataFolder(tmp_path / name).table()["sentence2"].to_pylist()) for name in "ab")
    assert "youthful" not in checked and "boy" in checked and "youthful" in unchecked
    assert "were not used: sts.txt" in (tmp_path / "a" / "README.md").read_text()
    assert "not compared with any evaluation set" in (tmp_path / "b" / "README.md").read_text()
