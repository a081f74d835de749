from __future__ import annotations

import pytest
import torch

from hf_paraphrase.models.configuration_rnn_search import RnnSearchConfig
from hf_paraphrase.models.modeling_rnn_search import RnnSearchForConditionalGeneration
from hf_paraphrase.translation import decoder_steps
from hf_paraphrase.translation.decoder_steps import (
    Annotated,
    DecoderMatrices,
    DecoderSteps,
)


def weights_by_tanh(keys, query, vector):
    return torch.softmax(torch.tanh(query.unsqueeze(2) + keys.unsqueeze(1)) @ vector, dim=-1)


def case(scale=1.0, dtype=torch.float32):
    torch.manual_seed(0)
    keys, query = (scale * torch.randn((3, length, 16)).to(dtype) for length in (5, 4))
    return keys, query, torch.randn(16).to(dtype)


def prepare(keys, dtype=torch.float32):
    return Annotated.prepare((keys, keys, keys[:, :, 0]), dtype)


@pytest.mark.parametrize(
    ("change", "doubled"),
    [
        ({}, True),
        ({"scale": 0.01}, True),
        ({"scale": 9.0}, True),
        ({"key": 100.0, "query": -100.5}, False),
        ({"key": 39.0, "query": -40.5}, True),
    ],
)
def test_attention_weights_are_those_of_the_tanh_even_where_the_exponential_overflows(change, doubled):
    keys, query, vector = case(change.get("scale", 1.0))
    if "key" in change:
        keys[0, 0, 0], query[0, :, 0] = change["key"], change["query"]
    prepared = prepare(keys)
    assert (prepared.doubled is not None) == doubled
    found = torch.softmax(prepared.energies(query, vector), dim=-1)
    assert torch.allclose(found, weights_by_tanh(keys, query, vector), atol=2e-6)


def test_energies_depend_neither_on_the_block_nor_on_the_other_sentences(monkeypatch):
    keys, query, vector = case()
    prepared = prepare(keys)
    expected = prepared.energies(query, vector)
    rows = torch.tensor([2, 0])
    assert torch.allclose(prepared.select(rows).energies(query[rows], vector), expected[rows], atol=1e-6)
    for elements in (1, 2 * 4 * 5 * 16):
        monkeypatch.setattr(decoder_steps, "_ELEMENTS_AT_ONCE", elements)
        assert torch.allclose(prepared.energies(query, vector), expected, atol=1e-6)


def test_matrices_laid_out_once_serve_the_model_and_a_part_of_its_units():
    torch.manual_seed(0)
    config = RnnSearchConfig(vocab_size=90, embedding_size=24, hidden_size=64, initialization="xavier")
    model = RnnSearchForConditionalGeneration(config).eval().to(torch.bfloat16)
    matrices = DecoderMatrices(model)
    with torch.no_grad():
        readout = torch.randn(5, matrices.readout_size).bfloat16()
        whole = DecoderSteps(matrices).logits(readout)
        chosen = torch.tensor([2, 5, 70])
        part = DecoderSteps(matrices, chosen)
    assert part.output_size == 3 and torch.equal(part.logits(readout), whole[:, chosen])
