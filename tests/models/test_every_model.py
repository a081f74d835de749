"""Every model opens with its Auto class, and its table of vectors can be read, set and resized."""

from __future__ import annotations

import pytest
import torch
import transformers
from tiny_encoders import new_model
from torch import nn

from hf_paraphrase.models.registry import MODELS

SMALL = {"vocab_size": 9, "hidden_size": 4}
SETTINGS = {
    "avg": [SMALL],
    "gran": [SMALL, {**SMALL, "cell": "gru"}, {**SMALL, "peepholes": False, "bidirectional": True}],
    "recurrent": [{**SMALL, "embedding_size": 3}, {**SMALL, "bidirectional": True, "pooling": "mean"}],
    "concatenation": [{"vocab_sizes": [5, 4], "part_size": 2}],
    "sdae": [SMALL, {**SMALL, "share_embeddings": False}, {**SMALL, "has_decoder": False}],
    "parallel_bigru": [
        {"source_vocab_size": 9, "target_vocab_size": 7, "embedding_size": 3, "hidden_size": 2},
        {"source_vocab_size": 9, "target_vocab_size": 7, "share_rnn": True, "score_layer": "product_difference"},
    ],
    "rnn_search": [
        {**SMALL, "embedding_size": 3},
        {**SMALL, "embedding_size": 3, "tie_word_embeddings": True, "share_embeddings": True},
    ],
    "sentence_classifier": [
        {"sentence_encoder": {"model_type": "gran", **SMALL, "peepholes": False}, "objective": "regression"},
        {"sentence_encoder": {"model_type": "concatenation", "vocab_sizes": [5, 4], "part_size": 2}},
    ],
}
CASES = [(model_type, settings) for model_type in MODELS for settings in SETTINGS[model_type]]


def output_of(model, ids):
    """A vector, logits or a loss."""
    ids = torch.tensor([ids])
    if model.config.model_type == "parallel_bigru":
        return model(ids, None, torch.tensor([[2, 3]])).logits
    if model.config.is_encoder_decoder:
        return model(ids.clamp_max(8), labels=ids).loss
    output = model(ids, **({"labels": ids} if getattr(model.config, "has_decoder", False) else {}))
    return output.pooler_output if "pooler_output" in output else output.logits


@pytest.mark.parametrize(("model_type", "settings"), CASES)
def test_a_saved_model_opens_with_its_auto_class_and_computes_the_same(model_type, settings, tmp_path):
    model = new_model(model_type, **settings).eval()
    model.save_pretrained(tmp_path)
    device_map = "auto" if model_type == "avg" else None
    opened = getattr(transformers, MODELS[model_type].auto_class).from_pretrained(tmp_path, device_map=device_map)
    assert type(opened) is type(model) and all(weight.requires_grad for weight in opened.parameters())
    for name, weight in model.state_dict().items():
        assert torch.equal(opened.state_dict()[name], weight), name
    # Not to the last bit: the memory layout of a matrix can change the order of a sum.
    torch.testing.assert_close(output_of(opened.eval(), [3, 8]), output_of(model, [3, 8]), atol=1e-6, rtol=0)
    if model_type == "rnn_search":
        assert (opened.lm_head.weight is opened.decoder.embeddings.weight) == opened.config.tie_word_embeddings
        assert (opened.encoder.embeddings.weight is opened.decoder.embeddings.weight) == opened.config.share_embeddings


@pytest.mark.parametrize(("model_type", "settings"), CASES)
def test_a_resized_model_keeps_its_results_and_learns_and_saves_the_new_tokens(model_type, settings, tmp_path):
    model = new_model(model_type, **settings).eval()
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
    model = new_model(model_type, **settings).eval()
    before = output_of(model, [3, 8])
    other = nn.Embedding(*model.get_input_embeddings().weight.shape)
    model.set_input_embeddings(other)
    assert model.get_input_embeddings().weight is other.weight
    assert not torch.equal(output_of(model, [3, 8]), before)


def test_recurrent_layers_of_torch_start_gate_by_gate():
    model = new_model("parallel_bigru", embedding_size=20, hidden_size=30)
    for name, values in model.source_gru.named_parameters():
        for gate in values.split(30):
            if name.startswith("weight_hh"):
                torch.testing.assert_close(gate @ gate.T, torch.eye(30), atol=1e-5, rtol=0)
            elif name.startswith("weight_ih"):
                assert 0.9 * (6 / 50) ** 0.5 < gate.abs().max() <= (6 / 50) ** 0.5
            else:
                assert not gate.any()


def test_a_smaller_concatenation_loses_tokens_of_its_last_part_only():
    model = new_model("concatenation", **SETTINGS["concatenation"][0])
    model.resize_token_embeddings(6)
    assert model.config.vocab_sizes == [5, 1]
    with pytest.raises(ValueError, match="would leave none to the last of the parts"):
        model.resize_token_embeddings(5)
    assert model.config.vocab_sizes == [5, 1]
