from __future__ import annotations

import pickle
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.errors import ModelError
from hf_paraphrase.studies.expansion.tagger import PartOfSpeechTagger

LABELS = ["A", "B|x", "C"]
WORDS = ["run", "Run", "dog", "dogs", "2nd", "a", "RUNNING", "über", "to", "dogs'"]
FIXED = {"a": "C", "to": "A"}


def features(words, place, previous, before):
    """The features as Honnibal's tagger has them, written down once more."""
    lower = [word.lower() for word in words]
    word = words[place]
    shape = ("X" if word[:1].isupper() else "x") + ("d" if any(sign.isdigit() for sign in word) else "")
    around = ["<s>", "<s>", *lower, "</s>", "</s>"]
    here = place + 2
    own = lower[place]
    return [
        "bias",
        *[f"suf3 {own[-3:]}", f"suf2 {own[-2:]}", f"suf1 {own[-1:]}", f"pre1 {own[:1]}", f"shape {shape}", f"w {own}"],
        *[f"t-1 {previous}", f"t-2 {before}", f"t-1t-2 {previous} {before}", f"t-1 w {previous} {own}"],
        *[f"w-1 {around[here - 1]}", f"w-2 {around[here - 2]}"],
        *[f"w+1 {around[here + 1]}", f"w+2 {around[here + 2]}"],
    ]


def naive(weights, words):
    found, previous, before = [], "<s>", "<s>"
    for place, word in enumerate(words):
        sums = dict.fromkeys(LABELS, 0.0)
        for feature in features(words, place, previous, before):
            for label, weight in weights.get(feature, {}).items():
                sums[label] += round(weight * 1000)
        label = FIXED.get(word.lower()) or max(sums, key=lambda label: (sums[label], label))
        found.append(label)
        previous, before = label, previous
    return found


def random_weights(seed):
    draw = random.Random(seed)
    names = set()
    for _ in range(400):
        words = draw.choices(WORDS, k=draw.randint(1, 5))
        labels = draw.choices([*LABELS, "<s>"], k=2)
        names.update(features(words, draw.randrange(len(words)), *labels))
    # Few different values, so that sums are often equal.
    return {name: {label: draw.choice([-1.5, 0.5, 1.0]) for label in draw.sample(LABELS, 2)} for name in sorted(names)}


@pytest.fixture(scope="module")
def weights():
    return random_weights(3)


@pytest.fixture(scope="module")
def tagger(weights):
    return PartOfSpeechTagger(weights, FIXED, LABELS)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=7), max_size=6))
def test_a_batch_gets_the_labels_that_one_word_after_the_other_gets(weights, tagger, sentences):
    assert tagger.tag(sentences) == [naive(weights, words) for words in sentences]


def test_labels_do_not_depend_on_the_other_sentences_of_a_batch(tagger):
    draw = random.Random(1)
    sentences = [draw.choices(WORDS, k=draw.randint(0, 6)) for _ in range(50)]
    assert tagger.tag(sentences) == [tagger.tag([words])[0] for words in sentences]


def test_a_copy_sent_to_another_process_tags_alike(tagger):
    sentences = [["dogs", "run", "to", "a", "dog"], ["Run"]]
    assert pickle.loads(pickle.dumps(tagger)).tag(sentences) == tagger.tag(sentences)


def test_forgetting_words_changes_no_label(tagger, monkeypatch):
    sentences = [["dogs", "run", "to", "a", "dog"], ["Run", "über", "2nd"]]
    expected = tagger.tag(sentences)
    monkeypatch.setattr("hf_paraphrase.studies.expansion.tagger._MOST_FORMS", 4)
    assert tagger.tag(sentences) == expected
    assert len(tagger.forms) <= 2 + 8


def test_more_words_than_the_tables_hold_at_first_are_tagged_alike(weights, tagger):
    many = [[f"w{number}", "dogs"] for number in range(3000)]
    assert tagger.tag(many) == [naive(weights, words) for words in many]


def test_weights_of_features_that_are_not_computed_are_refused(weights):
    with pytest.raises(ModelError, match="w-3"):
        PartOfSpeechTagger({**weights, "w-3 dog": {"A": 1.0}}, {}, LABELS)
    with pytest.raises(ModelError, match="unknown"):
        PartOfSpeechTagger({"bias": {"Z": 1.0}}, {}, LABELS)


def test_no_sentences_have_no_labels(tagger):
    assert tagger.tag([]) == []
    assert tagger.tag([[], []]) == [[], []]
    assert tagger.tag_forms(np.empty(0, np.int64), np.zeros(2, np.int64)).shape == (0,)


# The tags of the Penn Treebank that stand for words with definitions, by their first letters.
COARSE = {"NNP": "PROPN", "NN": "NOUN", "VB": "VERB", "MD": "VERB", "JJ": "ADJ", "RB": "ADV"}


def coarse_of_treebank(tag):
    return next((kind for start, kind in COARSE.items() if tag.startswith(start)), "other")


def coarse_of_label(label):
    kind = label.partition("|")[0].replace("AUX", "VERB")
    return kind if kind in COARSE.values() else "other"


@pytest.mark.real_data
def test_most_tags_of_tweets_are_those_that_another_tagger_gave_them(real_data_dir):
    pytest.importorskip("denckring_en_pos")
    tagged = set()
    for line in (real_data_dir / "pit2015" / "dev.data").read_text(encoding="utf-8").splitlines():
        # Two columns of WORD/entity/TAG/chunk/event.
        tagged.update(line.split("\t")[5:7])
    sentences = []
    for text in sorted(tagged):
        tokens = [token.rsplit("/", 4) for token in text.split()]
        words = [(token[0], token[2]) for token in tokens if len(token) == 5]
        sentences.append([(word, tag) for word, tag in words if any(sign.isalnum() for sign in word)])
    found = PartOfSpeechTagger.load().tag([[word for word, _ in words] for words in sentences])
    pairs = [
        (coarse_of_treebank(tag), coarse_of_label(label))
        for words, labels in zip(sentences, found, strict=True)
        for (_, tag), label in zip(words, labels, strict=True)
    ]
    shares = {kind: [ours == kind for theirs, ours in pairs if theirs == kind] for kind in (*COARSE.values(), "other")}
    recalls = {kind: sum(hits) / len(hits) for kind, hits in shares.items()}
    accuracy = sum(theirs == ours for theirs, ours in pairs) / len(pairs)
    # Those tags are a machine's as well, and of tweets: many names are in lower case.
    assert len(pairs) > 40_000 and accuracy > 0.83, (accuracy, recalls)
    assert min(recalls[kind] for kind in ("NOUN", "VERB", "ADV")) > 0.8 and recalls["ADJ"] > 0.7, recalls


def test_the_installed_model_tags_as_its_own_package_does():
    package = pytest.importorskip("denckring_en_pos")
    reference = package.tagger()
    draw = random.Random(7)
    vocabulary = sorted(reference.vocabulary)
    words = [*draw.sample(vocabulary, 300), "the", "of", "is", "n't", "'s", "I", "dogs", "Paris", "1999", "zyxt"]
    sentences = [draw.choices(words, k=draw.randint(1, 20)) for _ in range(300)]
    sentences += [[word.capitalize() for word in words] for words in sentences[:50]]
    assert PartOfSpeechTagger.load().tag(sentences) == [reference.tag(words) for words in sentences]
