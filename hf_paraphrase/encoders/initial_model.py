"""The encoder that a training continues from, in the place of a new one: its kind, its tokenizer, its weights."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.hub_models import fetched_folder, model_folder, repository_name
from ..artefacts.model_loading import load_tokenizer
from ..errors import ModelError, UsageError
from ..registry import BUILTIN, ENCODERS
from ..settings import flag
from ..tokenization.character_trigram import looks_like_trigrams
from .encoder_vocabulary import EncoderVocabulary
from .kinds import check_own_class, encoder_class, encoder_kind, is_of_transformers, third_party_type
from .onnx_encoder import is_onnx_folder

if TYPE_CHECKING:
    from .sentence_encoder import SentenceEncoder


def initial_kind(name: str | os.PathLike[str]) -> str:
    """Names the type of encoder, one of :data:`~hf_paraphrase.registry.ENCODERS`, that a folder holds.

    Averages of words and of character trigrams are of one class; their tokenizers distinguish them. Of a transformer
    it is the model type, such as `bert`.
    """
    folder = model_folder(name, any_type=True)
    if is_onnx_folder(folder):
        raise ModelError("an ONNX export cannot be trained", path=folder, remedy="give the model it was made from")
    if (third_party := third_party_type(folder)) is not None:
        return third_party
    model_class = encoder_class(folder)
    kinds = {kind: encoder_kind(kind) for kind in ENCODERS}
    able = [kind for kind in kinds if kinds[kind].model_class is model_class]
    if not able:
        model_type = model_class.config_class.model_type
        remedy = "give a folder that train-encoder made"
        raise ModelError(f"a model of type `{model_type}` is not trained on pairs", path=folder, remedy=remedy)
    if len(able) > 1:
        config: Any = model_class.config_class.from_pretrained(folder, local_files_only=True)
        trigrams = looks_like_trigrams(load_tokenizer(folder, config.vocab_size).backend_tokenizer)
        able = [kind for kind in able if kinds[kind].trigrams == trigrams] or able
    return able[0]


def initial_encoder(
    name: str | os.PathLike[str], dropouts: Mapping[str, float | None]
) -> tuple[SentenceEncoder, EncoderVocabulary]:
    """Opens the encoder that a training continues from, with the dropouts of this training, and its tokens."""
    encoder = trainable(model_folder(name, any_type=True))
    config = encoder.model.config
    for option, rate in dropouts.items():
        if hasattr(encoder.model, "embeddings") and hasattr(config, option):
            setattr(config, option, rate or 0.0)
        elif rate:
            raise UsageError(f"{flag(option)} is not for a model of type `{config.model_type}`", remedy="leave it out")
    sizes = getattr(config, "vocab_sizes", None) or [config.vocab_size]
    return encoder, EncoderVocabulary(encoder.tokenizer, list(sizes), None, None)


def trainable(model: Any, tokenizer: Any = None) -> SentenceEncoder:
    """Returns an encoder whose model a trainer can train; its `folder` is where it comes from, if that is known."""
    import torch

    from .pooled_transformer import PooledTransformer, reading_of
    from .sentence_encoder import SentenceEncoder

    if isinstance(model, str | os.PathLike):
        if "/" not in str(model) and not Path(model).exists() and model != BUILTIN:
            ENCODERS[str(model)]  # explains which names there are
        model = SentenceEncoder.from_pretrained(model)
    if isinstance(model, SentenceEncoder):
        given = model
        if not isinstance(given.model, torch.nn.Module):
            raise ModelError(
                "this encoder cannot be trained", path=given.folder, remedy="give the model it was made from"
            )
        encoder = SentenceEncoder(
            given.model,
            tokenizer or given.tokenizer,
            prompts=given.prompts,
            default_prompt_name=given.default_prompt_name,
            reading=given.reading,
        )
        encoder.folder = given.folder
    else:
        if tokenizer is None:
            raise UsageError("a model comes with its tokenizer", remedy="give it as processing_class")
        encoder = SentenceEncoder(model, tokenizer)
        if is_of_transformers(model):
            if tokenizer.pad_token_id is None:
                raise UsageError("the tokenizer has no padding token", remedy="set its pad_token first")
            encoder = SentenceEncoder(PooledTransformer(model), tokenizer, reading=reading_of(model, tokenizer))
        name = getattr(model.config, "_name_or_path", "")
        source = Path(name) if name and Path(name).is_dir() else fetched_folder(name) if name else None
        encoder.folder = source if source is not None and (source / "config.json").is_file() else None
    if not isinstance(encoder.model, PooledTransformer):
        check_own_class(encoder.model)
    if encoder.model.dtype in (torch.float16, torch.bfloat16):
        encoder.model.float()
    encoder.model.train()
    return encoder


def name_on_card(name: str | os.PathLike[str]) -> str:
    """Describes for a card what a training continued from."""
    folder = model_folder(name, any_type=True)
    return repository_name(folder) or folder.resolve().name
