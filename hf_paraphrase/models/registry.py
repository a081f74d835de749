"""The model types of the package, one line each; importing it imports no model."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True)
class ModelEntry:
    """Where the classes of a model type are and what they are for.

    Attributes:
        config: The configuration class, in `configuration_<type>.py`.
        model: The model class, in `modeling_<type>.py`.
        auto_class: The Auto class of transformers that opens it.
        is_sentence_encoder: Whether its forward pass gives sentence embeddings.
        tokenizer: The tokenizer class, in `tokenization_<type>.py`, of a type that needs one of its own.
    """

    config: str
    model: str
    auto_class: str = "AutoModel"
    is_sentence_encoder: bool = True
    tokenizer: str | None = None


MODELS = {
    "avg": ModelEntry("AvgConfig", "AvgModel"),
    "gran": ModelEntry("GranConfig", "GranModel"),
    "concatenation": ModelEntry("ConcatenationConfig", "ConcatenationModel", tokenizer="ConcatenationTokenizer"),
    "recurrent": ModelEntry("RecurrentConfig", "RecurrentModel"),
    "parallel_bigru": ModelEntry("ParallelBiGruConfig", "ParallelBiGruModel", is_sentence_encoder=False),
    "reference_classifier": ModelEntry(
        "ReferenceClassifierConfig",
        "ReferenceClassifier",
        "AutoModelForSequenceClassification",
        is_sentence_encoder=False,
    ),
    "rnn_search": ModelEntry(
        "RnnSearchConfig",
        "RnnSearchForConditionalGeneration",
        "AutoModelForSeq2SeqLM",
        is_sentence_encoder=False,
        tokenizer="RnnSearchTokenizer",
    ),
    "sdae": ModelEntry("SdaeConfig", "SdaeModel"),
    "sentence_classifier": ModelEntry(
        "SentenceClassifierConfig",
        "SentenceClassifier",
        "AutoModelForSequenceClassification",
        is_sentence_encoder=False,
    ),
}
SENTENCE_ENCODERS = tuple(name for name, entry in MODELS.items() if entry.is_sentence_encoder)
"""The model types that are sentence encoders."""


def config_class(model_type: str) -> type[PreTrainedConfig]:
    """Imports the configuration class of a model type (and nothing of its model)."""
    module = importlib.import_module(f"{__package__}.configuration_{model_type}")
    config: type[PreTrainedConfig] = getattr(module, MODELS[model_type].config)
    return config


def model_class(model_type: str) -> type[PreTrainedModel]:
    """Imports the model class of a model type."""
    module = importlib.import_module(f"{__package__}.modeling_{model_type}")
    model: type[PreTrainedModel] = getattr(module, MODELS[model_type].model)
    return model


def tokenizer_class(model_type: str) -> type[PreTrainedTokenizerBase] | None:
    """Imports the tokenizer class of a model type; None if it has none of its own."""
    name = MODELS[model_type].tokenizer
    if name is None:
        return None
    module = importlib.import_module(f"{__package__}.tokenization_{model_type}")
    tokenizer: type[PreTrainedTokenizerBase] = getattr(module, name)
    return tokenizer
