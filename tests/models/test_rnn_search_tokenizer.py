from __future__ import annotations

import copy
import pickle

import pytest

from hf_paraphrase.tokenization.subword import train_separate_bpe_tokenizer

SOURCES = ["le chat dort", "un chien mange", "le chien dort"]
TARGETS = ["the cat sleeps", "a dog eats", "the dog sleeps"]


@pytest.fixture(scope="module")
def tokenizer():
    return train_separate_bpe_tokenizer(SOURCES, TARGETS, 60)


def read(tokenizer, side):
    found = tokenizer(SOURCES) if side == "source" else tokenizer(text_target=TARGETS)
    return found["input_ids"]


def both(tokenizer):
    ids = read(tokenizer, "target")
    return read(tokenizer, "source"), ids, tokenizer.batch_decode(ids, skip_special_tokens=True)


def test_a_call_that_fails_on_the_target_side_does_not_leave_the_tokenizer_there(tokenizer):
    expected = tokenizer.encode(SOURCES[0])
    with pytest.raises(ValueError, match="text input must be"):
        tokenizer(text_target=[3])
    assert tokenizer.encode(SOURCES[0]) == expected == read(tokenizer, "source")[0]


def test_the_source_side_is_given_by_one_of_its_two_names(tokenizer):
    source = tokenizer._source_tokenizer
    for given in ({}, {"source_tokenizer_file": "source.json", "source_tokenizer_object": source}):
        with pytest.raises(ValueError, match="give either"):
            type(tokenizer)(**given)


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda tokenizer: pickle.loads(pickle.dumps(tokenizer))]
)
def test_a_copy_reads_both_sides_as_the_tokenizer_does(tokenizer, duplicate):
    assert both(duplicate(tokenizer)) == both(tokenizer)
