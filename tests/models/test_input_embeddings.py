"""`get_input_embeddings`, `set_input_embeddings` and `resize_token_embeddings`, as transformers has them."""

from __future__ import annotations

import pytest
import torch
from small_models import CASES, SETTINGS, output_of, small_model
from torch import nn


@pytest.mark.parametrize(("model_type", "settings"), CASES)
def test_a_resized_model_keeps_its_results_and_learns_and_saves_the_new_tokens(model_type, settings, tmp_path):
    model = small_model(model_type, settings)
    before = model.get_input_embeddings().weight.detach().clone()
    expected = output_of(model, [3, 8]).detach() if model_type != "rnn_search" else None
    assert len(before) == model.config.vocab_size == 9
    layer = model.resize_token_embeddings(12)
    assert isinstance(layer, nn.Embedding) and layer.weight.shape == (12, before.shape[1])
    assert layer.weight is model.get_input_embeddings().weight
    assert model.config.vocab_size == 12 and torch.equal(layer.weight[:9], before)
    if expected is not None:
        torch.testing.assert_close(output_of(model, [3, 8]).detach(), expected, atol=1e-6, rtol=0)
    output_of(model, [11, 3]).sum().backward()
    assert layer.weight.grad[11].any()
    model.save_pretrained(tmp_path)
    loaded = type(model).from_pretrained(tmp_path).eval()
    torch.testing.assert_close(output_of(loaded, [11, 3]), output_of(model, [11, 3]), atol=1e-6, rtol=0)


@pytest.mark.parametrize(("model_type", "settings"), CASES)
def test_embeddings_that_are_set_are_used(model_type, settings):
    model = small_model(model_type, settings)
    before = output_of(model, [3, 8])
    other = nn.Embedding(*model.get_input_embeddings().weight.shape)
    model.set_input_embeddings(other)
    assert model.get_input_embeddings().weight is other.weight
    assert not torch.equal(output_of(model, [3, 8]), before)


def test_a_smaller_concatenation_loses_tokens_of_its_last_part_only():
    model = small_model("concatenation", SETTINGS["concatenation"][0])
    model.resize_token_embeddings(6)
    assert model.config.vocab_sizes == [5, 1]
    with pytest.raises(ValueError, match="would leave none to the last of the parts"):
        model.resize_token_embeddings(5)
    assert model.config.vocab_sizes == [5, 1]
