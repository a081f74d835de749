from __future__ import annotations

import itertools

import pytest
from transformers import PreTrainedTokenizerFast

from hf_paraphrase.tokenization.subword import train_bpe_tokenizer, train_separate_bpe_tokenizer
from hf_paraphrase.translation.batching import MaxiBatchSampler, RedrawnBitext, tokenize_bitext

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


def make_joint():
    return train_bpe_tokenizer([*SOURCES, *TARGETS] * 3, 90)


def make_separate():
    return train_separate_bpe_tokenizer(SOURCES * 3, TARGETS * 3, 60)


def rows(bitext):
    return [bitext[index] for index in range(len(bitext))]


@pytest.mark.parametrize("make", [make_joint, make_separate])
def test_every_epoch_cuts_the_same_texts_into_other_units(make):
    tokenizer = make()
    plain = tokenize_bitext(tokenizer, SOURCES, TARGETS)
    bitext = tokenize_bitext(tokenizer, SOURCES, TARGETS, bpe_dropout=0.3, seed=4)
    assert rows(bitext) == rows(plain), "before the first epoch"
    seen = []
    for epoch in range(4):
        lengths = bitext.set_epoch(epoch)
        seen.append(rows(bitext))
        assert lengths.tolist() == [max(map(len, row.values())) for row in seen[-1]]
        for row, target in zip(seen[-1], TARGETS, strict=True):
            assert row["labels"][-1] == row["input_ids"][-1] == tokenizer.eos_token_id
            assert tokenizer.decode(row["labels"], skip_special_tokens=True) == tokenizer.decode(
                tokenizer(text_target=target)["input_ids"], skip_special_tokens=True
            )
    assert all(one != other for number, one in enumerate(seen) for other in seen[:number])
    assert sum(len(row["labels"]) for row in seen[0]) > sum(len(row["labels"]) for row in rows(plain))


def test_without_dropout_an_epoch_has_the_units_of_the_tokenizer():
    for tokenizer in (make_joint(), make_separate()):
        plain = tokenize_bitext(tokenizer, SOURCES, TARGETS)
        bitext = RedrawnBitext(plain, tokenizer, (SOURCES, TARGETS), dropout=0.0, seed=0)
        expected = rows(plain)
        bitext.set_epoch(3)
        assert rows(bitext) == expected


def test_an_epoch_depends_on_its_number_and_the_seed_alone():
    def drawn(seed, *epochs):
        bitext = tokenize_bitext(make_joint(), SOURCES, TARGETS, bpe_dropout=0.3, seed=seed)
        for epoch in epochs:
            bitext.set_epoch(epoch)
        return rows(bitext)

    assert drawn(4, 0, 1, 2) == drawn(4, 2)
    assert drawn(4, 2) != drawn(5, 2)


def test_pairs_are_chosen_by_their_length_with_all_merges():
    tokenizer = make_joint()
    most = int(sorted(tokenize_bitext(tokenizer, SOURCES, TARGETS).lengths())[1]) - 1
    plain = tokenize_bitext(tokenizer, SOURCES, TARGETS, max_units=most)
    bitext = tokenize_bitext(tokenizer, SOURCES, TARGETS, max_units=most, bpe_dropout=0.9)
    assert 0 < len(bitext) == len(plain) < len(SOURCES)
    bitext.set_epoch(0)
    assert bitext.lengths().max() > most + 1


def test_batches_are_sorted_by_the_lengths_of_their_epoch():
    bitext = tokenize_bitext(make_joint(), SOURCES * 5, TARGETS * 5, bpe_dropout=0.5)
    sampler = MaxiBatchSampler(bitext.lengths(), 4, batches_per_maxi_batch=5, lengths_of_epoch=bitext.set_epoch)
    sampler.set_epoch(1)
    batches = list(sampler)
    lengths = bitext.lengths()
    spans = sorted((lengths[batch].min(), lengths[batch].max()) for batch in batches)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))


def test_other_tokenizers_have_no_merges_to_leave_out():
    from tokenizers import Tokenizer, models

    backend = Tokenizer(models.WordLevel({"[PAD]": 0, "[EOS]": 1, "a": 2}, unk_token="a"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="[PAD]", eos_token="[EOS]", unk_token="a")
    with pytest.raises(ValueError, match="BPE"):
        tokenize_bitext(tokenizer, ["a"], ["a"], bpe_dropout=0.1)
