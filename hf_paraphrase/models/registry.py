"""The model types of the package, one line each, and :func:`register` for the Auto classes of transformers.

Importing it imports neither a model nor transformers: `import hf_paraphrase` must stay cheap.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel


@dataclass(frozen=True)
class ModelEntry:
    """The classes of a model type, in `configuration_<type>.py`, `modeling_<type>.py` and `tokenization_<type>.py`.

    Attributes:
        auto_class: The Auto class of transformers that opens it.
        is_sentence_encoder: Whether its forward pass gives sentence embeddings.
        tokenizer: The tokenizer class of a type that needs one of its own.
    """

    config: str
    model: str
    auto_class: str = "AutoModel"
    is_sentence_encoder: bool = True
    tokenizer: str | None = None


_CLASSIFIER: dict[str, Any] = {"auto_class": "AutoModelForSequenceClassification", "is_sentence_encoder": False}

MODELS = {
    "avg": ModelEntry("AvgConfig", "AvgModel"),
    "gran": ModelEntry("GranConfig", "GranModel"),
    "concatenation": ModelEntry("ConcatenationConfig", "ConcatenationModel", tokenizer="ConcatenationTokenizer"),
    "recurrent": ModelEntry("RecurrentConfig", "RecurrentModel"),
    "parallel_bigru": ModelEntry("ParallelBiGruConfig", "ParallelBiGruModel", is_sentence_encoder=False),
    "reference_classifier": ModelEntry("ReferenceClassifierConfig", "ReferenceClassifier", **_CLASSIFIER),
    "rnn_search": ModelEntry(
        "RnnSearchConfig",
        "RnnSearchForConditionalGeneration",
        "AutoModelForSeq2SeqLM",
        is_sentence_encoder=False,
        tokenizer="RnnSearchTokenizer",
    ),
    "sdae": ModelEntry("SdaeConfig", "SdaeModel"),
    "sentence_classifier": ModelEntry("SentenceClassifierConfig", "SentenceClassifier", **_CLASSIFIER),
}
SENTENCE_ENCODERS = tuple(name for name, entry in MODELS.items() if entry.is_sentence_encoder)
"""The model types that are sentence encoders."""


def config_class(model_type: str) -> type[PreTrainedConfig]:
    """Imports the configuration class of a model type (and nothing of its model)."""
    config: type[PreTrainedConfig] = _imported("configuration", model_type, MODELS[model_type].config)
    return config


def model_class(model_type: str) -> type[PreTrainedModel]:
    """Imports the model class of a model type."""
    model: type[PreTrainedModel] = _imported("modeling", model_type, MODELS[model_type].model)
    return model


def _imported(kind: str, model_type: str, name: str) -> Any:
    return getattr(importlib.import_module(f"{__package__}.{kind}_{model_type}"), name)


def register() -> None:
    """Makes the Auto classes of transformers open our model types without `trust_remote_code`; a second call is free.

    It imports the Auto classes, which takes seconds, so `import hf_paraphrase` leaves it to the caller.
    """
    import transformers

    for model_type, entry in MODELS.items():
        config = config_class(model_type)
        transformers.AutoConfig.register(model_type, config, exist_ok=True)
        auto_class: Any = getattr(transformers, entry.auto_class)
        auto_class.register(config, model_class(model_type), exist_ok=True)
        if entry.tokenizer is not None:
            tokenizer = _imported("tokenization", model_type, entry.tokenizer)
            transformers.AutoTokenizer.register(config, tokenizer_class=tokenizer, exist_ok=True)
