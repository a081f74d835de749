from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.translation.batching import TranslationCollator, split_batch


def collate(lengths):
    """Makes a mini-batch of pairs whose units all differ."""
    unit = iter(range(1, 10_000))
    pairs = [
        {"input_ids": [next(unit) for _ in range(a)], "labels": [next(unit) for _ in range(b)]} for a, b in lengths
    ]
    return TranslationCollator(0)(pairs)


def rows(batch):
    """Returns the units of every pair of a mini-batch, without padding."""
    sources = [
        row[mask.bool()].tolist() for row, mask in zip(batch["input_ids"], batch["attention_mask"], strict=True)
    ]
    return list(zip(sources, [row[row != -100].tolist() for row in batch["labels"]], strict=True))


def cells(batch):
    return batch["input_ids"].numel() * batch["labels"].shape[1]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=12), st.integers(1, 900))
def test_pieces_hold_every_pair_once_in_order_and_keep_to_the_limit(lengths, largest):
    batch = collate(lengths)
    pieces = split_batch(batch, largest)
    assert [pair for piece in pieces for pair in rows(piece)] == rows(batch)
    assert all(cells(piece) <= largest or len(piece["labels"]) == 1 for piece in pieces)
    assert all(set(piece) == set(batch) for piece in pieces)


def test_a_batch_within_the_limit_is_left_as_it_is():
    batch = collate([(4, 5), (2, 3)])
    assert split_batch(batch, 2 * 4 * 5) == [batch]
    assert len(split_batch(batch, 2 * 4 * 5 - 1)) == 2


def test_a_piece_has_no_padding_that_none_of_its_pairs_needs():
    short, long = split_batch(collate([(2, 3), (1, 2), (9, 2), (3, 8)]), 2 * 9 * 8)
    assert short["input_ids"].shape == (2, 2) and short["labels"].shape == (2, 3)
    assert long["input_ids"].shape == (2, 9) and long["labels"].shape == (2, 8)


def test_weighted_gradients_of_the_pieces_add_up_to_that_of_the_whole(make_model, tiny_tokenizer):
    batch = collate([(2, 3), (1, 2), (7, 2), (3, 8), (5, 5)])
    size = len(tiny_tokenizer)
    batch = {
        "input_ids": batch["input_ids"] % size,
        "attention_mask": batch["attention_mask"],
        "labels": torch.where(batch["labels"] == -100, -100, batch["labels"] % size),
    }
    model = make_model(label_smoothing=0.1).double().train()
    model(**batch).loss.backward()
    whole = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    pieces = split_batch(batch, 120)
    assert len(pieces) == 3
    for piece in pieces:
        (model(**piece).loss * (piece["labels"] != -100).sum() / (batch["labels"] != -100).sum()).backward()
    for name, parameter in model.named_parameters():
        # The loss itself is computed in fp32.
        assert parameter.grad.numpy() == pytest.approx(whole[name].numpy(), rel=1e-4, abs=1e-6), name
