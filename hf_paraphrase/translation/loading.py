"""Opens a translation model for use."""

from __future__ import annotations

import os

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from ..models.loading import check_model_type, load_model_folder
from ..models.rnn_search import RnnSearchForConditionalGeneration
from .memory import keep_freed_memory


def load_translation_model(
    folder: str | os.PathLike[str], *, device: str | None = None
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Opens a translation model folder on the fastest device.

    Args:
        folder: The folder.
        device: Where to compute; a GPU if there is one and None is given.

    Raises:
        ModelError: If the folder is missing, damaged, or holds another kind of model.
    """
    check_model_type(folder, ["rnn_search"], kind="translation model", verb="train-nmt")
    keep_freed_memory()
    model, tokenizer = load_model_folder(folder, RnnSearchForConditionalGeneration)
    return model.to(device or ("cuda" if torch.cuda.is_available() else "cpu")), tokenizer
