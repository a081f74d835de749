"""A small model of every type, and one tensor that it computes."""

from __future__ import annotations

import torch

from hf_paraphrase.models.registry import MODELS, config_class, model_class

SMALL = {"vocab_size": 9, "hidden_size": 4}
SETTINGS = {
    "avg": [SMALL],
    "gran": [SMALL, {**SMALL, "cell": "gru"}, {**SMALL, "peepholes": False, "bidirectional": True}],
    "recurrent": [{**SMALL, "embedding_size": 3}, {**SMALL, "bidirectional": True, "pooling": "mean"}],
    "concatenation": [{"vocab_sizes": [5, 4], "part_size": 2}],
    "sdae": [SMALL, {**SMALL, "share_embeddings": False}, {**SMALL, "has_decoder": False}],
    "reference_classifier": [
        {"vocab_size": 9, "embedding_size": 4},
        {"vocab_size": 9, "embedding_size": 4, "body": "lstm", "hidden_size": 3},
    ],
    "parallel_bigru": [
        {"source_vocab_size": 9, "target_vocab_size": 7, "embedding_size": 3, "hidden_size": 2},
        {"source_vocab_size": 9, "target_vocab_size": 7, "share_rnn": True, "score_layer": "product_difference"},
    ],
    "rnn_search": [
        {**SMALL, "embedding_size": 3},
        {**SMALL, "embedding_size": 3, "tie_word_embeddings": True, "share_embeddings": True},
    ],
    "sentence_classifier": [
        {"sentence_encoder": {"model_type": "avg", **SMALL}},
        {"sentence_encoder": {"model_type": "gran", **SMALL, "peepholes": False}, "objective": "regression"},
        {"sentence_encoder": {"model_type": "concatenation", "vocab_sizes": [5, 4], "part_size": 2}},
    ],
}
CASES = [(model_type, settings) for model_type in MODELS for settings in SETTINGS[model_type]]


def small_model(model_type, settings):
    """A model with random weights."""
    torch.manual_seed(0)
    return model_class(model_type)(config_class(model_type)(**settings)).eval()


def output_of(model, ids):
    """A vector, logits or a loss."""
    ids = torch.tensor([ids])
    if model.config.model_type == "parallel_bigru":
        return model(ids, None, torch.tensor([[2, 3]])).logits
    if model.config.is_encoder_decoder:
        return model(ids.clamp_max(8), labels=ids).loss
    output = model(ids, **({"labels": ids} if getattr(model.config, "has_decoder", False) else {}))
    return output.pooler_output if "pooler_output" in output else output.logits
