"""Opens a translation model for use."""

from __future__ import annotations

import hashlib
import json
import os

import torch
from transformers import GenerationConfig, PreTrainedModel, PreTrainedTokenizerFast

from ..artefacts.model_loading import check_model_type, load_model_folder
from ..errors import ModelError
from ..models.modeling_rnn_search import RnnSearchForConditionalGeneration

_GENERATION = ("num_beams", "max_length", "length_penalty", "early_stopping")
"""What `train-nmt` writes into `generation_config.json`, but for the special units."""


def load_translation_model(
    folder: str | os.PathLike[str], *, device: str | None = None
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Opens a translation model folder on the fastest device.

    Of its `generation_config.json` what `train-nmt` writes counts: all else would reach a model that does not know it.
    Padding and end are those of the tokenizer.

    Args:
        folder: The folder.
        device: Where to compute; a GPU if there is one and None is given.

    Raises:
        ModelError: If the folder is missing, damaged, or holds another kind of model, weights that are not finite, or
            units to begin, pad and end with that it does not have.
    """
    check_translation_model(folder)
    model, tokenizer = load_model_folder(folder, RnnSearchForConditionalGeneration)
    units = _special_units(model, tokenizer, folder)
    settings = {name: getattr(model.generation_config, name) for name in _GENERATION}
    model.generation_config = GenerationConfig(**units, **settings)
    return model.to(device or ("cuda" if torch.cuda.is_available() else "cpu")), tokenizer


def check_translation_model(folder: str | os.PathLike[str]) -> None:
    """Checks that there is a translation model under a name, without reading its weights."""
    check_model_type(folder, ["rnn_search"], kind="translation model", verb="train-nmt")


def _special_units(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, folder: str | os.PathLike[str]
) -> dict[str, int]:
    """Returns the special units of a search by the names of their settings."""
    settings = model.generation_config
    start = None if settings is None else settings.decoder_start_token_id
    if start is None and settings is not None:
        start = settings.bos_token_id
    units = {
        "padding": tokenizer.pad_token_id,
        "end": tokenizer.eos_token_id,
        "unknown": tokenizer.unk_token_id,
        "start": start,
    }
    for name, unit in units.items():
        if not isinstance(unit, int) or not 0 <= unit < model.config.vocab_size:
            raise ModelError(
                f"the {name} unit of the translation model is {unit!r}, none of its {model.config.vocab_size:,} units",
                path=folder,
                remedy="save the model and its tokenizer again",
            )
    return {
        "decoder_start_token_id": units["start"],
        "bos_token_id": units["start"],
        "pad_token_id": units["padding"],
        "eos_token_id": units["end"],
    }


def unit_fingerprint(tokenizer: PreTrainedTokenizerFast) -> str:
    """Computes the SHA-256 of the units of a tokenizer with their numbers, on both sides.

    How texts are cut into them is left out: its written form changes with the versions of the `tokenizers` library.
    """
    backends = [tokenizer.backend_tokenizer, getattr(tokenizer, "source_tokenizer", None)]
    units = [sorted(backend.get_vocab().items()) for backend in backends if backend is not None]
    return hashlib.sha256(json.dumps(units).encode()).hexdigest()
