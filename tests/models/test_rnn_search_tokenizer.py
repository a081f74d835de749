from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Event, current_thread

import pytest
from transformers import PreTrainedTokenizerFast

from hf_paraphrase.tokenization.subword import train_separate_bpe_tokenizer

SOURCES = ["le chat dort", "un chien mange", "le chien dort"]
TARGETS = ["the cat sleeps", "a dog eats", "the dog sleeps"]
SECONDS = 60


@pytest.fixture(scope="module")
def tokenizer():
    return train_separate_bpe_tokenizer(SOURCES, TARGETS, 60)


def read(tokenizer, side):
    found = tokenizer(SOURCES) if side == "source" else tokenizer(text_target=TARGETS)
    return found["input_ids"]


def both(tokenizer):
    ids = read(tokenizer, "target")
    return read(tokenizer, "source"), ids, tokenizer.batch_decode(ids, skip_special_tokens=True)


@pytest.mark.parametrize("second", ["source", "target"])
@pytest.mark.parametrize("first", ["source", "target"])
def test_threads_that_meet_in_the_tokenizer_read_their_own_sides_and_leave_it_as_it_was(
    tokenizer, monkeypatch, first, second
):
    tokenizer = copy.deepcopy(tokenizer)
    expected = both(tokenizer)
    assert expected[0] != expected[1] and expected[2] == TARGETS
    inside = {"first": Event(), "second": Event()}
    first_done, decoded, waited = Event(), [], []
    own = PreTrainedTokenizerFast.set_truncation_and_padding

    def meet(self, *args, **kwargs):
        name = current_thread().name.split("_")[0]
        inside[name].set()
        waited.append((inside["second"] if name == "first" else first_done).wait(SECONDS))
        decoded.append(tokenizer.batch_decode(expected[1], skip_special_tokens=True))
        return own(self, *args, **kwargs)

    monkeypatch.setattr(PreTrainedTokenizerFast, "set_truncation_and_padding", meet)
    with ThreadPoolExecutor(1, "first") as one, ThreadPoolExecutor(1, "second") as two:
        found = [one.submit(read, tokenizer, first)]
        assert inside["first"].wait(SECONDS)
        found.append(two.submit(read, tokenizer, second))
        found[0].add_done_callback(lambda _: first_done.set())
        results = [item.result(SECONDS) for item in found]
    monkeypatch.undo()
    assert all(waited) and decoded == [TARGETS] * 2
    assert results == [expected[side == "target"] for side in (first, second)]
    assert both(tokenizer) == expected


def test_a_call_that_fails_on_the_target_side_does_not_leave_the_tokenizer_there(tokenizer):
    expected = tokenizer.encode(SOURCES[0])
    with pytest.raises(ValueError, match="text input must be"):
        tokenizer(text_target=[3])
    assert tokenizer.encode(SOURCES[0]) == expected == read(tokenizer, "source")[0]


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda tokenizer: pickle.loads(pickle.dumps(tokenizer))]
)
def test_a_copy_reads_both_sides_as_the_tokenizer_does(tokenizer, duplicate):
    assert both(duplicate(tokenizer)) == both(tokenizer)
