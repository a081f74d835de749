"""The encoder that a training continues from, in the place of a new one: its kind, its tokenizer, its weights."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..artefacts.hub_models import model_folder, repository_name
from ..artefacts.model_loading import load_model_folder, load_tokenizer
from ..errors import ModelError, UsageError
from ..registry import ENCODERS
from ..settings import flag
from ..tokenization.character_trigram import looks_like_trigrams
from .encoder_vocabulary import EncoderVocabulary
from .kinds import encoder_class, encoder_kind
from .onnx_encoder import is_onnx_folder

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def initial_kind(name: str | os.PathLike[str]) -> str:
    """Names the type of encoder, one of :data:`~hf_paraphrase.registry.ENCODERS`, that a folder holds.

    Averages of words and of character trigrams are of one class; their tokenizers distinguish them.
    """
    folder = model_folder(name)
    remedy = "give a folder that train-encoder made"
    if is_onnx_folder(folder):
        raise ModelError("an ONNX export cannot be trained", path=folder, remedy="give the model it was made from")
    model_class = encoder_class(folder)
    kinds = {kind: encoder_kind(kind) for kind in ENCODERS}
    able = [kind for kind in kinds if kinds[kind].model_class is model_class]
    if not able:
        model_type = model_class.config_class.model_type
        raise ModelError(f"a model of type `{model_type}` is not trained on pairs", path=folder, remedy=remedy)
    if len(able) > 1:
        config: Any = model_class.config_class.from_pretrained(folder, local_files_only=True)
        trigrams = looks_like_trigrams(load_tokenizer(folder, config.vocab_size).backend_tokenizer)
        able = [kind for kind in able if kinds[kind].trigrams == trigrams] or able
    return able[0]


def initial_encoder(
    name: str | os.PathLike[str], dropouts: Mapping[str, float | None]
) -> tuple[PreTrainedModel, EncoderVocabulary]:
    """Opens the encoder that a training continues from, with the dropouts of this training.

    Returns:
        The encoder in float32, and its tokens.
    """
    folder = model_folder(name)
    model_class = encoder_class(folder)
    config: Any = model_class.config_class.from_pretrained(folder, local_files_only=True)
    for option, rate in dropouts.items():
        if rate and not hasattr(config, option):
            raise UsageError(f"{flag(option)} is not for a model of type `{config.model_type}`", remedy="leave it out")
    supported = {option: rate or 0.0 for option, rate in dropouts.items() if hasattr(config, option)}
    model, tokenizer = load_model_folder(folder, model_class, **supported)
    sizes = getattr(model.config, "vocab_sizes", None) or [model.config.vocab_size]
    return model.float().train(), EncoderVocabulary(tokenizer, list(sizes), None, None)


def name_on_card(name: str | os.PathLike[str]) -> str:
    """Describes for a card what a training continued from."""
    folder = model_folder(name)
    return repository_name(folder) or folder.resolve().name
