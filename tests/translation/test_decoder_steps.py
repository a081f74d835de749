from __future__ import annotations

import pytest
import torch

from hf_paraphrase.translation import decoder_steps
from hf_paraphrase.translation.decoder_steps import Annotated, DecoderSteps


def case():
    """Keys, queries and the vector of three sentences of five units, and a beam of four."""
    torch.manual_seed(0)
    return torch.randn((3, 5, 16)), torch.randn((3, 4, 16)), torch.randn(16)


def prepare(keys):
    return Annotated.prepare((keys, keys, keys[:, :, 0]), torch.float32)


@pytest.mark.parametrize(("key", "query", "doubled"), [(9.0, 9.0, True), (100.0, -100.5, False), (39.0, -40.5, True)])
def test_attention_weights_are_those_of_the_tanh_even_where_the_exponential_overflows(key, query, doubled):
    keys, queries, vector = case()
    keys[0, 0, 0], queries[0, :, 0] = key, query
    prepared = prepare(keys)
    assert (prepared.doubled is not None) == doubled
    expected = torch.softmax(torch.tanh(queries.unsqueeze(2) + keys.unsqueeze(1)) @ vector, dim=-1)
    assert torch.allclose(torch.softmax(prepared.energies(queries, vector), dim=-1), expected, atol=2e-6)


def test_energies_depend_neither_on_the_block_nor_on_the_other_sentences(monkeypatch):
    keys, query, vector = case()
    prepared = prepare(keys)
    expected = prepared.energies(query, vector)
    rows = torch.tensor([2, 0])
    assert torch.allclose(prepared.select(rows).energies(query[rows], vector), expected[rows], atol=1e-6)
    monkeypatch.setattr(decoder_steps, "_ELEMENTS_AT_ONCE", 2 * 4 * 5 * 16)
    assert torch.allclose(prepared.energies(query, vector), expected, atol=1e-6)


def test_steps_laid_out_once_serve_the_model_and_a_part_of_its_units(make_model):
    steps = DecoderSteps(make_model().to(torch.bfloat16))
    chosen = torch.tensor([2, 5, 30])
    with torch.no_grad():
        readout = torch.randn(5, steps.readout_size).bfloat16()
        assert torch.equal(steps.restricted(chosen).logits(readout), steps.logits(readout)[:, chosen])
