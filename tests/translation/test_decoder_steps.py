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
    Int8Product,
    int8_is_fast,
)

NEEDS_INT8 = pytest.mark.skipif(not int8_is_fast(), reason="this processor has no instructions for products in 8 bits")


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


# ----- products in 8 bits


@NEEDS_INT8
@pytest.mark.parametrize("rows", [1, 70])
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("scale", [1e-3, 300.0])
def test_a_product_is_that_of_the_rounded_integers(rows, has_bias, scale):
    torch.manual_seed(0)
    inputs, weight = scale * torch.randn(rows, 33), torch.randn(50, 33) * torch.rand(50, 1)
    bias = torch.randn(50) if has_bias else None
    steps, step = weight.abs().amax(1, keepdim=True) / 127, inputs.abs().amax() / 127
    exact = torch.round(inputs / step).double() @ torch.round(weight / steps).double().T
    expected = exact * float(step) * steps.double().T + (0 if bias is None else bias.double())
    found = Int8Product(weight, bias)(inputs)
    assert found.dtype == torch.bfloat16 and found.shape == (rows, 50)
    assert torch.allclose(found.double(), expected, rtol=2**-7, atol=1e-3 * scale)


@pytest.mark.parametrize("int8", [False, pytest.param(True, marks=NEEDS_INT8)])
def test_matrices_laid_out_once_serve_the_model_and_a_part_of_its_units(int8):
    torch.manual_seed(0)
    config = RnnSearchConfig(vocab_size=90, embedding_size=24, hidden_size=64, initialization="xavier")
    model = RnnSearchForConditionalGeneration(config).eval().to(torch.bfloat16)
    matrices = DecoderMatrices(model, int8=int8)
    with torch.no_grad():
        readout = torch.randn(5, matrices.readout_size).bfloat16()
        whole = DecoderSteps(matrices).logits(readout)
        exact = DecoderSteps(DecoderMatrices(model)).logits(readout)
        chosen = torch.tensor([2, 5, 70])
        part = DecoderSteps(matrices, chosen)
    assert part.output_size == 3 and torch.equal(part.logits(readout), whole[:, chosen])
    assert float((whole - exact).abs().max()) < 0.05 * float(exact.abs().max())
    assert int8 != torch.equal(whole, exact)


@pytest.mark.parametrize("has", [{"avx512_f": True, "avx512_vnni": False}, {"avx2": True, "avx_vnni": True}])
def test_a_processor_without_the_instructions_multiplies_in_other_ways(monkeypatch, has):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: has)
    assert not int8_is_fast() and not int8_is_fast("cuda")
