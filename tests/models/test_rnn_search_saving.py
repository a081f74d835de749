from __future__ import annotations

import pytest
import torch
from rnn_search_by_hand import SOURCE_VOCABULARY, VOCABULARY
from transformers import AutoModelForSeq2SeqLM

from hf_paraphrase.models.configuration_rnn_search import RnnSearchConfig
from hf_paraphrase.models.modeling_rnn_search import RnnSearchForConditionalGeneration


@pytest.mark.parametrize("tying", ["none", "output", "all"])
def test_save_and_load_gives_equal_outputs_through_the_auto_class(tmp_path, tying):
    settings = {
        "none": {},
        "output": {"tie_word_embeddings": True},
        "all": {"tie_word_embeddings": True, "share_embeddings": True, "source_vocab_size": VOCABULARY},
    }[tying]
    torch.manual_seed(3)
    sizes = {"vocab_size": VOCABULARY, "source_vocab_size": SOURCE_VOCABULARY, "embedding_size": 4, "hidden_size": 6}
    config = RnnSearchConfig(**{**sizes, **settings})
    model = RnnSearchForConditionalGeneration(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter))
    model.save_pretrained(tmp_path)
    loaded, report = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, output_loading_info=True)
    assert type(loaded) is RnnSearchForConditionalGeneration
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    ids = torch.tensor([[3, 4, 5, 2]])
    labels = torch.tensor([[5, 2]])
    weights = loaded.state_dict()
    assert weights.keys() == model.state_dict().keys()
    assert all(torch.equal(weights[name], value) for name, value in model.state_dict().items())
    torch.testing.assert_close(loaded(ids, labels=labels).logits, model(ids, labels=labels).logits)
    assert torch.equal(loaded.generate(ids, num_beams=2, max_length=6), model.generate(ids, num_beams=2, max_length=6))
    assert (loaded.lm_head.weight is loaded.decoder.embeddings.weight) == (tying != "none")
    assert (loaded.encoder.embeddings.weight is loaded.decoder.embeddings.weight) == (tying == "all")


def test_initial_weights_are_as_documented():
    torch.manual_seed(0)
    sizes = {"vocab_size": 200, "embedding_size": 40, "hidden_size": 60}
    reference = RnnSearchForConditionalGeneration(RnnSearchConfig(**sizes))
    xavier = RnnSearchForConditionalGeneration(RnnSearchConfig(**sizes, initialization="xavier"))
    for model in (reference, xavier):
        for gru in (model.encoder.forward_gru, model.encoder.backward_gru, model.decoder.gru):
            for matrix in (*gru.gate_weight.chunk(2), gru.candidate_weight):
                torch.testing.assert_close(matrix @ matrix.T, torch.eye(60), atol=1e-5, rtol=0)
            assert not gru.candidate_bias.any()
    assert not reference.decoder.attention_vector.any() and xavier.decoder.attention_vector.any()
    assert reference.decoder.attention_key.std().item() == pytest.approx(0.001, rel=0.05)
    assert reference.decoder.context_to_gru.std().item() == pytest.approx(0.01, rel=0.05)
    assert xavier.decoder.embeddings.weight[3:].std().item() == pytest.approx(40**-0.5, rel=0.05)
    # Glorot's bound for one gate of (60, 120), not for the three stacked ones.
    assert xavier.decoder.context_to_gru.abs().max().item() == pytest.approx((6 / 180) ** 0.5, rel=0.01)
