"""The model types of the package, one line each, and how the Auto classes of transformers come to know them.

Importing it imports neither a model nor transformers: `import hf_paraphrase` must stay cheap. :func:`register` tells
the Auto classes at once if they are loaded; otherwise it is done at the end of their own import, whoever causes it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
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
_AUTO_MODULES = [f"transformers.models.auto.{part}_auto" for part in ("configuration", "modeling", "tokenization")]
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


def _register_in(module: ModuleType) -> None:
    """Tells the Auto classes of one of transformers' modules which classes are ours."""
    part = module.__name__.rpartition(".")[2]
    for model_type, entry in MODELS.items():
        config = config_class(model_type)
        if part == "configuration_auto":
            module.AutoConfig.register(model_type, config, exist_ok=True)
        elif part == "modeling_auto":
            getattr(module, entry.auto_class).register(config, model_class(model_type), exist_ok=True)
        elif entry.tokenizer is not None:
            tokenizer = _imported("tokenization", model_type, entry.tokenizer)
            module.AutoTokenizer.register(config, tokenizer_class=tokenizer, exist_ok=True)


class _AutoModuleFinder(MetaPathFinder):
    """Finds transformers' auto modules as the import system does, and has them end with our registration.

    transformers has no way of its own to tell it of models before it is imported, which takes seconds.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _AUTO_MODULES:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            run_module = spec.loader.exec_module

            def run_and_register(module: ModuleType) -> None:
                run_module(module)
                _register_in(module)

            setattr(spec.loader, "exec_module", run_and_register)  # noqa: B010
        return spec


def register() -> None:
    """Makes the Auto classes know our model types, now or when they get imported."""
    if not any(isinstance(finder, _AutoModuleFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AutoModuleFinder())
    for name in _AUTO_MODULES:
        if name in sys.modules:
            _register_in(sys.modules[name])
