from __future__ import annotations

import pytest
import torch

from hf_paraphrase.models.configuration_rnn_search import RnnSearchConfig
from hf_paraphrase.models.modeling_rnn_search import RnnSearchForConditionalGeneration
from hf_paraphrase.translation.decoder_steps import DecoderMatrices, DecoderSteps
from hf_paraphrase.translation.int8_products import Int8Product, int8_is_fast

NEEDS_INT8 = pytest.mark.skipif(not int8_is_fast(), reason="this processor has no instructions for products in 8 bits")


@NEEDS_INT8
@pytest.mark.parametrize("rows", [1, 3, 70])
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 300.0])
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


@NEEDS_INT8
def test_rows_of_zeros_and_inputs_of_zeros_are_multiplied_exactly():
    weight = torch.tensor([[0.0] * 8, [1.0] * 8])
    product = Int8Product(weight, torch.tensor([0.5, 0.25]))
    assert product(torch.zeros(2, 8)).tolist() == [[0.5, 0.25]] * 2
    assert product(torch.full((1, 8), -2.0)).tolist() == [[0.5, -15.75]]


@NEEDS_INT8
def test_matrices_laid_out_once_serve_the_model_and_a_part_of_its_units():
    torch.manual_seed(0)
    config = RnnSearchConfig(vocab_size=90, embedding_size=24, hidden_size=64, initialization="xavier")
    model = RnnSearchForConditionalGeneration(config).eval().to(torch.bfloat16)
    matrices = DecoderMatrices(model, int8=True)
    with torch.no_grad():
        readout = torch.randn(5, matrices.readout_size).bfloat16()
        whole = DecoderSteps(model, matrices=matrices).logits(readout)
        exact = DecoderSteps(model).logits(readout)
        chosen = torch.tensor([2, 5, 70])
        part = DecoderSteps(model, candidates=chosen, matrices=matrices)
    assert part.output_size == 3 and torch.equal(part.logits(readout), whole[:, chosen])
    assert 0 < float((whole - exact).abs().max()) < 0.05 * float(exact.abs().max())


@pytest.mark.parametrize("has", [{"avx512_f": True, "avx512_vnni": False}, {"avx2": True, "avx_vnni": True}])
def test_a_processor_without_the_instruction_or_avx_512_and_a_gpu_are_not_taken_for_fast(monkeypatch, has):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: has)
    assert not int8_is_fast()
    assert not int8_is_fast("cuda")
