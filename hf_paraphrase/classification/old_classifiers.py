"""Opens the reference classifiers of versions 0.1 and 0.2, which had a model type of their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..artefacts.files import read_json_object, wrap_load_errors
from ..artefacts.weights import check_finite
from ..errors import ModelError
from .references import BODIES, LABELS

if TYPE_CHECKING:
    from transformers import PreTrainedModel

OLD_TYPE = "reference_classifier"


def open_old_classifier(folder: Path) -> PreTrainedModel:
    """Open the weights of an old folder as a `SentenceClassifier`, in evaluation mode."""
    from safetensors.torch import load_file

    from ..models.configurations import SentenceClassifierConfig
    from ..models.modeling_sentence_classifier import SentenceClassifier

    pad_token_id = read_json_object(folder / "config.json", ModelError).get("pad_token_id", 0)
    with wrap_load_errors("the model", folder, "train the model or copy it again"):
        weights = load_file(folder / "model.safetensors")
        table = weights.pop("embeddings")
        renamed = {"encoder.embeddings": table}
        sizes = {"vocab_size": table.shape[0], "hidden_size": weights["classifier.weight"].shape[1]}
        body = "lstm" if "lstm.weight_ih_l0" in weights else "avg"
        if body == "lstm":
            sizes["embedding_size"] = table.shape[1]
            renamed["encoder.recurrent.weight_input"] = weights.pop("lstm.weight_ih_l0")
            renamed["encoder.recurrent.weight_state"] = weights.pop("lstm.weight_hh_l0")
            # PyTorch's LSTM adds two biases.
            renamed["encoder.recurrent.bias"] = weights.pop("lstm.bias_ih_l0") + weights.pop("lstm.bias_hh_l0")
        encoder = {**BODIES[body], **sizes, "pad_token_id": pad_token_id}
        model = SentenceClassifier(SentenceClassifierConfig(sentence_encoder=encoder, id2label=dict(LABELS)))
        model.load_state_dict({**renamed, **weights})
    check_finite(model, folder)
    return model.eval()
