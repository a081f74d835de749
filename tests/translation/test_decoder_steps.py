from __future__ import annotations

import pytest
import torch

from hf_paraphrase.translation import decoder_steps
from hf_paraphrase.translation.decoder_steps import AttentionKeys


def weights_by_tanh(keys, query, vector):
    return torch.softmax(torch.tanh(query.unsqueeze(2) + keys.unsqueeze(1)) @ vector, dim=-1)


def case(scale=1.0, dtype=torch.float32):
    torch.manual_seed(0)
    return (
        scale * torch.randn((3, 5, 16)).to(dtype),
        scale * torch.randn((3, 4, 16)).to(dtype),
        torch.randn(16).to(dtype),
    )


@pytest.mark.parametrize("scale", [0.01, 1.0, 9.0])
def test_attention_weights_are_those_of_the_tanh(scale):
    keys, query, vector = case(scale)
    prepared = AttentionKeys.prepare(keys, torch.float32)
    assert prepared.doubled is not None
    found = torch.softmax(prepared.energies(query, vector), dim=-1)
    assert torch.allclose(found, weights_by_tanh(keys, query, vector), atol=2e-6)


def test_attention_weights_of_bfloat16_queries_are_computed_in_fp32():
    keys, query, vector = case(dtype=torch.bfloat16)
    found = AttentionKeys.prepare(keys.float(), torch.bfloat16).energies(query, vector)
    assert found.dtype == torch.float32
    expected = weights_by_tanh(keys.double(), query.double(), vector.double())
    assert torch.allclose(torch.softmax(found, dim=-1).double(), expected, atol=2e-6)


@pytest.mark.parametrize("large", ["keys", "query"])
def test_values_whose_exponential_overflows_take_the_tanh(large):
    keys, query, vector = case()
    keys[0, 0, 0] = 100.0 if large == "keys" else 39.0
    query[0, :, 0] = -100.5 if large == "query" else -39.5
    prepared = AttentionKeys.prepare(keys, torch.float32)
    assert (prepared.doubled is None) == (large == "keys")
    found = torch.softmax(prepared.energies(query, vector), dim=-1)
    assert torch.allclose(found, weights_by_tanh(keys, query, vector), atol=2e-6)


def test_keys_and_queries_of_opposite_signs_at_the_limit_keep_their_difference():
    keys, query = torch.tensor([[[39.9], [39.4]]]), torch.tensor([[[-39.5]]])
    found = AttentionKeys.prepare(keys, torch.float32).energies(query, torch.ones(1)).flatten()
    expected = torch.tanh(keys + query).flatten()
    assert float(found[0] - found[1]) == pytest.approx(float(expected[0] - expected[1]), abs=1e-5)


def test_energies_do_not_depend_on_how_many_sentences_are_computed_together(monkeypatch):
    keys, query, vector = case()
    prepared = AttentionKeys.prepare(keys, torch.float32)
    expected = prepared.energies(query, vector)
    for elements in (1, 2 * 4 * 5 * 16):
        monkeypatch.setattr(decoder_steps, "_ELEMENTS_AT_ONCE", elements)
        assert torch.allclose(prepared.energies(query, vector), expected, atol=1e-6)


def test_selected_sentences_keep_their_own_keys():
    keys, query, vector = case()
    prepared = AttentionKeys.prepare(keys, torch.float32)
    rows = torch.tensor([2, 0])
    found = prepared.select(rows).energies(query[rows], vector)
    assert torch.allclose(found, prepared.energies(query, vector)[rows], atol=1e-6)
