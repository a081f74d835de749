from __future__ import annotations

import pytest
import torch

from hf_paraphrase.translation.beam_search import translate_batch
from hf_paraphrase.translation.search_settings import SearchConstraints

SOURCES = ["un", "deux trois un deux", "trois un"]


def ids_of(tokenizer, texts):
    return [list(ids) for ids in tokenizer(texts)["input_ids"]]


def search(model, tokenizer, texts=SOURCES, **settings):
    settings = {"num_beams": 5, "num_return_sequences": 5, "scorer": model, **settings}
    return translate_batch(model, tokenizer, ids_of(tokenizer, texts), **settings)


def assert_same_lists(found, expected):
    for own, other in zip(found, expected, strict=True):
        assert [(item.text, item.num_tokens, item.finished) for item in own] == [
            (item.text, item.num_tokens, item.finished) for item in other
        ]
        assert [item.log_prob for item in own] == pytest.approx([item.log_prob for item in other], abs=1e-4)


def test_a_restricted_search_equals_one_in_which_the_other_units_are_impossible(make_model, tiny_tokenizer):
    candidates = torch.tensor([0, 1, 2, 3, 7, 9, 10, 15, 21])
    model, closed = make_model(5, end_bias=1.0), make_model(5, end_bias=1.0)
    others = torch.ones(len(tiny_tokenizer), dtype=torch.bool)
    others[candidates] = False
    with torch.no_grad():
        closed.lm_head.bias[others] = -torch.inf
    found = search(model, tiny_tokenizer, candidates=candidates)
    expected = search(closed, tiny_tokenizer, scorer=model)
    assert_same_lists(found, expected)
    free = search(model, tiny_tokenizer)
    assert [item.text for item in free[1]] != [item.text for item in found[1]], "the candidates restrict nothing here"


def test_length_limits_hold_for_every_sentence_by_itself(make_model, tiny_tokenizer):
    eager, endless = make_model(2, end_bias=500.0), make_model(2, end_bias=-50.0)
    limits = SearchConstraints(min_length_ratio=0.5, max_length_ratio=1.5)
    lengths = [len(ids) for ids in ids_of(tiny_tokenizer, SOURCES)]
    assert all(nbest[0].num_tokens == 0 for nbest in search(eager, tiny_tokenizer))
    for length, nbest in zip(lengths, search(eager, tiny_tokenizer, constraints=limits), strict=True):
        assert all(item.finished and item.num_tokens + 1 >= length // 2 + 1 for item in nbest)
        assert any(item.num_tokens + 1 == length // 2 + 1 for item in nbest)
    for length, nbest in zip(lengths, search(endless, tiny_tokenizer, constraints=limits), strict=True):
        assert [(item.num_tokens, item.finished) for item in nbest] == [(int(1.5 * length), False)]


def test_least_lengths_never_exceed_greatest_ones(make_model, tiny_tokenizer):
    narrow = SearchConstraints(min_length_ratio=1.0, max_length_ratio=1.1, max_target_units=1)
    for nbest in search(make_model(1), tiny_tokenizer, constraints=narrow, num_beams=len(tiny_tokenizer)):
        assert [item.num_tokens for item in nbest] == [0] and nbest[0].finished


@pytest.mark.parametrize(
    "constraints",
    [
        SearchConstraints(min_length_ratio=1.0, max_length_ratio=2.0),
        SearchConstraints(max_target_units=5),
    ],
)
def test_the_fast_search_and_plain_generate_keep_to_constraints_alike(make_model, tiny_tokenizer, constraints):
    model = make_model(4, end_bias=1.0)
    fast, plain = (search(model, tiny_tokenizer, constraints=constraints, fast=choice) for choice in (True, False))
    assert_same_lists(fast, plain)
    free = search(model, tiny_tokenizer)
    assert [item.text for nbest in fast for item in nbest] != [item.text for nbest in free for item in nbest]
