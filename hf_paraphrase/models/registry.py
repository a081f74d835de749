"""The model types of the package, and their registration with the Auto classes of transformers.

A configuration class registers itself on import, and its model when a configuration is made. This module imports
neither models nor transformers.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel


@dataclass(frozen=True)
class ModelEntry:
    """The classes of a model type, in `configurations.py`, `modeling_<type>.py` and `tokenization_<type>.py`.

    Attributes:
        auto_class: The Auto class of the model.
        is_sentence_encoder: Whether the forward pass returns sentence embeddings.
        tokenizer: The tokenizer class, or None for a class of transformers.
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
_AUTO = "transformers.models.auto"
SENTENCE_ENCODERS = tuple(name for name, entry in MODELS.items() if entry.is_sentence_encoder)
"""The model types that are sentence encoders."""


def config_class(model_type: str) -> type[PreTrainedConfig]:
    """Import the configuration class of a model type without its model."""
    config: type[PreTrainedConfig] = _import_class("configurations", MODELS[model_type].config)
    return config


def model_class(model_type: str) -> type[PreTrainedModel]:
    """Import the model class of a model type."""
    model: type[PreTrainedModel] = _import_class(f"modeling_{model_type}", MODELS[model_type].model)
    return model


def _import_class(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"{__package__}.{module}"), name)


def register() -> None:
    """Register all model types, so that the Auto classes open them without `trust_remote_code`.

    Imports transformers, which takes seconds. Not needed if the model class or the Auto classes are imported already.
    """
    for model_type in MODELS:
        register_type(model_type)


@cache
def register_type(model_type: str) -> None:
    """Register the configuration, the model and the tokenizer of a model type."""
    import transformers

    auto_class: Any = getattr(transformers, MODELS[model_type].auto_class)
    auto_class.register(config_class(model_type), model_class(model_type), exist_ok=True)
    register_tokenizer(model_type)


@cache
def register_tokenizer(model_type: str) -> None:
    """Register the tokenizer class of a model type, if it has one."""
    if (name := MODELS[model_type].tokenizer) is not None:
        from transformers import AutoTokenizer

        tokenizer = _import_class(f"tokenization_{model_type}", name)
        AutoTokenizer.register(config_class(model_type), tokenizer_class=tokenizer, exist_ok=True)


def register_if_loaded() -> None:
    """Register configurations and tokenizers if the Auto classes are imported already."""
    for model_type in MODELS:
        if f"{_AUTO}.configuration_auto" in sys.modules:
            config_class(model_type)
        if f"{_AUTO}.tokenization_auto" in sys.modules:
            register_tokenizer(model_type)
