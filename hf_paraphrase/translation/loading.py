"""Opens a translation model for use."""

from __future__ import annotations

import hashlib
import json
import os

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from ..artefacts.model_loading import check_model_type, load_model_folder
from ..errors import ModelError
from ..models.modeling_rnn_search import RnnSearchForConditionalGeneration
from ..training.threads import keep_freed_memory


def load_translation_model(
    folder: str | os.PathLike[str], *, device: str | None = None
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Opens a translation model folder on the fastest device.

    Args:
        folder: The folder.
        device: Where to compute; a GPU if there is one and None is given.

    Raises:
        ModelError: If the folder is missing, damaged, or holds another kind of model or weights that are not finite.
    """
    check_translation_model(folder)
    keep_freed_memory()
    model, tokenizer = load_model_folder(folder, RnnSearchForConditionalGeneration)
    check_finite(model, folder)
    return model.to(device or ("cuda" if torch.cuda.is_available() else "cpu")), tokenizer


def check_translation_model(folder: str | os.PathLike[str]) -> None:
    """Makes sure that there is a translation model under a name, without reading its weights.

    Raises:
        ModelError: If the folder is missing or holds another kind of model.
    """
    check_model_type(folder, ["rnn_search"], kind="translation model", verb="train-nmt")


def check_finite(model: PreTrainedModel, folder: str | os.PathLike[str] | None = None) -> None:
    """Refuses a model whose training diverged.

    Args:
        model: The model.
        folder: Where it lies, for the message; none for one that is being trained.

    Raises:
        ModelError: If a weight is infinite or not a number.
    """
    broken = [name for name, value in model.state_dict().items() if not bool(torch.isfinite(value).all())]
    if broken:
        raise ModelError(
            f"the training diverged: weights of {broken[0]} are not finite",
            path=folder,
            remedy="train again with a lower --learning-rate or a longer --warmup-steps",
        )


def unit_fingerprint(tokenizer: PreTrainedTokenizerFast) -> str:
    """Computes the SHA-256 of the units of a tokenizer with their numbers, on both sides.

    How texts are cut into them is left out: its written form changes with the versions of the `tokenizers` library.
    """
    backends = [tokenizer.backend_tokenizer, getattr(tokenizer, "source_tokenizer", None)]
    units = [sorted(backend.get_vocab().items()) for backend in backends if backend is not None]
    return hashlib.sha256(json.dumps(units).encode()).hexdigest()
