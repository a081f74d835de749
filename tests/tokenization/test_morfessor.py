from __future__ import annotations

import random
from math import log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.tokenization.morfessor import (
    LONGEST,
    Morphs,
    learn_morphs,
    morfessor_tokenizer,
    word_splitter,
)

baseline = pytest.importorskip("morfessor.baseline")

STEMS = ["talo", "auto", "kissa", "koira", "juokse", "laula"]
ENDINGS = ["", "ssa", "sta", "lla", "t", "n", "mme", "ssamme", "kin", "ssakin"]
WORDS = {
    stem + ending: 1 + (3 * row + column) % 7
    for row, stem in enumerate(STEMS)
    for column, ending in enumerate(ENDINGS)
}


def segmented(tokenizer, word):
    return tokenizer.convert_ids_to_tokens(tokenizer(word)["input_ids"])


def cost(morphs, pieces):
    """What Morfessor minimises: the letters that are not morphs first, then the cost of the morphs."""
    total = log(morphs.tokens + morphs.boundaries)
    known = [total - log(morphs.counts[piece]) for piece in pieces if piece in morphs.counts]
    return [len(pieces) - len(known), sum(known)]


@pytest.fixture(scope="module")
def morphs():
    return learn_morphs(WORDS)


@pytest.fixture(scope="module")
def tokenizer(morphs):
    return morfessor_tokenizer(morphs, lower_case=True)


def test_learning_shrinks_the_vocabulary_and_repeats_with_its_seed_and_leaves_the_random_numbers_alone(morphs, capfd):
    random.seed(5)
    expected = random.random()
    random.seed(5)
    again = learn_morphs(dict(reversed(WORDS.items())))
    assert random.random() == expected
    assert again == morphs and len(morphs.counts) < len(WORDS) / 2
    rare = learn_morphs({**WORDS, "xyzzyx": 1}, min_frequency=2, dampening="ones")
    assert "xyzzyx" not in "".join(rare.counts) and rare.words == rare.boundaries == sum(
        n >= 2 for n in WORDS.values()
    )
    assert learn_morphs({"a": 3, "b": 7}, dampening="log").boundaries == 2 + 3
    assert morphs.rounds > 1 and "..." not in capfd.readouterr().err


@pytest.fixture(scope="module")
def model(morphs):
    model = baseline.BaselineModel()
    # A word for each morph, as often as it occurs, and a word boundary more or less does not change the order.
    model.load_segmentations([(count, morph, (morph,)) for morph, count in morphs.counts.items()])
    model._corpus_coding.boundaries = morphs.boundaries
    return model


@settings(max_examples=150, deadline=None)
@given(word=st.text(alphabet="talouikssrn.mex", min_size=1, max_size=45))
def test_any_word_is_segmented_as_morfessor_does_or_at_the_same_cost(word, morphs, tokenizer, model):
    for piece, _ in word_splitter(lower_case=True).pre_tokenizer.pre_tokenize_str(word):
        if not set(piece) <= set("".join(morphs.counts)):
            continue
        expected, found = model.viterbi_segment(piece, addcount=0)[0], segmented(tokenizer, piece)
        if expected != found:
            assert cost(morphs, found) == pytest.approx(cost(morphs, expected), rel=1e-12)


def test_morphs_longer_than_morfessors_search_finds_are_left_out():
    long = "ab" * 20
    counts = {"ab": 9, long: 9}
    model = baseline.BaselineModel()
    model.load_segmentations([(9, "ab", ("ab",)), (9, long, (long,))])
    tokenizer = morfessor_tokenizer(Morphs(counts, 18, 2))
    assert len(long) > LONGEST and long not in tokenizer.get_vocab()
    assert segmented(tokenizer, long) == model.viterbi_segment(long, addcount=0)[0] == ["ab"] * 20


def test_letters_that_are_no_morphs_are_known_but_only_taken_where_nothing_else_fits():
    tokenizer = morfessor_tokenizer(Morphs({"talo": 1, "t": 1}, 2, 2), "x")
    assert segmented(tokenizer, "talo") == ["talo"]
    assert segmented(tokenizer, "talotx") == ["talo", "t", "x"]
    assert segmented(tokenizer, "xalo") == ["x", "a", "l", "o"]
    assert segmented(tokenizer, "taloqqö") == ["talo", "[UNK]"]


def test_no_words_no_morphs_and_a_missing_package_are_refused(monkeypatch):
    with pytest.raises(InputError, match="no text"):
        learn_morphs({})
    with pytest.raises(InputError, match="no morphs"):
        morfessor_tokenizer(Morphs({}, 0, 0))
    monkeypatch.setattr("hf_paraphrase.tokenization.morfessor.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="needs the package morfessor"):
        learn_morphs({"a": 1})
