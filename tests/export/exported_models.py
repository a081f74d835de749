"""Small encoders of every type and kind, with all parameters moved away from where they start."""

from __future__ import annotations

import torch

from hf_paraphrase.export.onnx_model import build_onnx
from hf_paraphrase.export.stored_weights import store_weights
from hf_paraphrase.models.registry import config_class, model_class

CELLS = [
    {"cell": "lstm"},
    {"cell": "lstm", "peepholes": False},
    {"cell": "lstm", "output_gate": False},
    {"cell": "lstm", "output_gate": False, "peepholes": False},
    {"cell": "lstm", "bidirectional": True},
    {"cell": "lstm", "bidirectional": True, "direction_merge": "sum", "peepholes": False},
    {"cell": "gru"},
    {"cell": "gru", "candidate_activation": "tanh", "bidirectional": True, "direction_merge": "sum"},
    {"cell": "gru", "negative_slope": 0.05, "bidirectional": True},
]
VARIANTS = [
    ("avg", {}),
    ("concatenation", {}),
    ("concatenation", {"part_weights": [0.8, 0.2, 0.4]}),
    *(("gran", cell) for cell in CELLS),
    *(("recurrent", {"pooling": pooling, **cell}) for cell in CELLS for pooling in ("last", "mean")),
    ("sdae", {}),
]
MAIN = [("avg", {}), ("concatenation", {}), ("gran", {}), ("gran", {"cell": "gru"}), ("recurrent", {}), ("sdae", {})]
SKIPPING = [
    (model_type, {**settings, "skip_unknown": True})
    for model_type, settings in VARIANTS
    if model_type != "concatenation" and settings.get("output_gate", True)
]


def name_of(variant):
    return " ".join([variant[0], *(f"{key}={value}" for key, value in variant[1].items())])


def make(variant, size=6):
    model_type, settings = variant
    given = {"vocab_size": 40, "hidden_size": size, "initializer_range": 0.8, **settings}
    if model_type == "concatenation":
        given = {"vocab_sizes": [8, 3, 29], "part_size": size, "initializer_range": 0.8, **settings}
    if model_type in ("recurrent", "sdae"):
        given["embedding_size"] = 4
    torch.manual_seed(3)
    model = model_class(model_type)(config_class(model_type)(**given))
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return model.eval()


def stored(model, weights="float32"):
    return store_weights({name: value.numpy() for name, value in model.state_dict().items()}, weights)


def graph_of(model, weights="float32"):
    return build_onnx(model.config, stored(model, weights))
