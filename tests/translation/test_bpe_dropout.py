from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from hf_paraphrase.tokenization.subword import train_bpe_tokenizer, train_separate_bpe_tokenizer
from hf_paraphrase.translation.batching import MaxiBatchSampler, tokenize_bitext
from hf_paraphrase.translation.bpe_dropout import VARIANTS, BpeMerges

SOURCES = [
    "le chat noir dort, ici.",
    "les chats noirs dorment là",
    "un chien brun mange le pain",
    "le pain des chiens",
]
TARGETS = [
    "the black cat sleeps, here.",
    "the black cats sleep there",
    "a brown dog eats the bread",
    "the dogs' bread",
]


@pytest.fixture(scope="module")
def tokenizer():
    return train_bpe_tokenizer([*SOURCES, *TARGETS] * 3, 90)


@settings(max_examples=200, deadline=None)
@given(st.text("abcdehiknorst", min_size=1, max_size=12))
def test_without_dropout_a_word_is_cut_as_the_tokenizer_cuts_it(word):
    tokenizer = train_bpe_tokenizer([*SOURCES, *TARGETS] * 3, 90)
    merges = BpeMerges(tokenizer.backend_tokenizer)
    expected = tokenizer(word)["input_ids"][:-1]
    assert merges.segment("▁" + word, 0.0, random.Random(0)) == expected
    assert merges.spelling(expected) == "▁" + word


def test_with_full_dropout_only_characters_are_left(tokenizer):
    merges = BpeMerges(tokenizer.backend_tokenizer)
    units = merges.segment("▁chat", 1.0, random.Random(0))
    assert tokenizer.convert_ids_to_tokens(units) == ["▁", "c", "h", "a", "t"]


def test_the_share_of_passed_over_merges_is_the_dropout():
    # One merge only: it is carried out unless it is passed over once.
    merges = BpeMerges(Tokenizer(models.BPE(vocab={"a": 0, "b": 1, "ab": 2}, merges=[("a", "b")])))
    generator = random.Random(1)
    cut = Counter(len(merges.segment("ab", 0.3, generator)) for _ in range(20_000))
    assert cut[2] / 20_000 == pytest.approx(0.3, abs=0.01)


def test_a_tokenizer_without_merges_is_refused():
    with pytest.raises(ValueError, match="BPE"):
        BpeMerges(Tokenizer(models.WordLevel(vocab={"a": 0}, unk_token="a")))


def test_before_the_first_epoch_sentences_and_lengths_are_the_tokenizers_own(tokenizer):
    plain = tokenize_bitext(tokenizer, SOURCES, TARGETS)
    drawn = tokenize_bitext(tokenizer, SOURCES, TARGETS, bpe_dropout=0.5)
    assert [drawn[index] for index in range(4)] == [plain[index] for index in range(4)]
    assert drawn.lengths().tolist() == plain.lengths().tolist()
    assert (drawn.set_epoch(0) > plain.lengths()).any()
    assert drawn.is_redrawn and not plain.is_redrawn


@pytest.mark.parametrize("separate", [False, True])
def test_every_epoch_cuts_otherwise_and_keeps_the_text_and_the_end(separate):
    if separate:
        tokenizer = train_separate_bpe_tokenizer(SOURCES * 3, TARGETS * 3, 70)
        source_side = tokenizer.source_tokenizer
    else:
        tokenizer = train_bpe_tokenizer([*SOURCES, *TARGETS] * 3, 90)
        source_side = tokenizer.backend_tokenizer
    bitext = tokenize_bitext(tokenizer, SOURCES, TARGETS, bpe_dropout=0.3, seed=4)
    epochs = []
    for epoch in range(3):
        bitext.set_epoch(epoch)
        pairs = [bitext[index] for index in range(len(bitext))]
        assert [source_side.decode(pair["input_ids"]) for pair in pairs] == SOURCES
        assert tokenizer.batch_decode([pair["labels"] for pair in pairs], skip_special_tokens=True) == TARGETS
        assert all(pair[side][-1] == tokenizer.eos_token_id for pair in pairs for side in pair)
        epochs.append(pairs)
    assert epochs[0] != epochs[1] != epochs[2]
    again = tokenize_bitext(tokenizer, SOURCES, TARGETS, bpe_dropout=0.3, seed=4)
    again.set_epoch(1)
    assert [again[index] for index in range(len(again))] == epochs[1], "an epoch depends on the ones before it"
    other = tokenize_bitext(tokenizer, SOURCES, TARGETS, bpe_dropout=0.3, seed=5)
    other.set_epoch(1)
    assert [other[index] for index in range(len(other))] != epochs[1]


def test_the_same_word_is_cut_in_several_ways_within_an_epoch(tokenizer):
    bitext = tokenize_bitext(tokenizer, ["chats"] * 50, ["cats"] * 50, bpe_dropout=0.5)
    bitext.set_epoch(0)
    found = {tuple(bitext[index]["input_ids"]) for index in range(50)}
    assert 1 < len(found) <= VARIANTS


def test_words_with_unknown_characters_and_special_tokens_stay_as_they_are(tokenizer):
    sentences = ["le 漢 chat", "漢漢", "", "a </s> b"]
    plain = tokenize_bitext(tokenizer, sentences, sentences)
    bitext = tokenize_bitext(tokenizer, sentences, sentences, bpe_dropout=0.9)
    bitext.set_epoch(2)
    assert bitext[1] == plain[1]
    assert bitext[2] == plain[2] == {"input_ids": [tokenizer.eos_token_id], "labels": [tokenizer.eos_token_id]}
    for index in (0, 3):
        kept = {tokenizer.unk_token_id, tokenizer.eos_token_id}
        assert [unit for unit in bitext[index]["labels"] if unit in kept] == [
            unit for unit in plain[index]["labels"] if unit in kept
        ]


def test_pairs_that_are_too_long_are_left_out_with_dropout_too(tokenizer):
    plain = tokenize_bitext(tokenizer, SOURCES, TARGETS, max_units=8)
    bitext = tokenize_bitext(tokenizer, SOURCES, TARGETS, max_units=8, bpe_dropout=0.5)
    assert 0 < len(bitext) < 4
    assert [bitext[index] for index in range(len(bitext))] == [plain[index] for index in range(len(plain))]


def test_batches_are_sorted_by_the_lengths_of_their_epoch(tokenizer):
    random.seed(0)
    words = [" ".join(random.choices(" ".join(SOURCES).split(), k=random.randint(1, 12))) for _ in range(400)]
    bitext = tokenize_bitext(tokenizer, words, words, bpe_dropout=0.5)
    sampler = MaxiBatchSampler(bitext.lengths(), 10, batches_per_maxi_batch=40, lengths_of_epoch=bitext.set_epoch)
    sampler.set_epoch(3)
    batches = list(sampler)
    expected = tokenize_bitext(tokenizer, words, words, bpe_dropout=0.5)
    lengths = expected.set_epoch(3)
    assert [bitext[index] for index in range(400)] == [expected[index] for index in range(400)]
    ranges = sorted((lengths[batch].min(), lengths[batch].max()) for batch in batches)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(ranges))
