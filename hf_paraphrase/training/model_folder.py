"""What a Trainer writes: a whole model folder, or a checkpoint, which holds no more than a run needs to go on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from safetensors.torch import save_file
from torch import Tensor

from ..models.sentence_transformers_files import write_module_files
from ..tokenization.word_level import save_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

_CHECKPOINT = re.compile(r"checkpoint-\d+")


def save_folder(
    folder: Path,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    weights: Mapping[str, Tensor] | None = None,
    describe: Callable[[Path], None] | None = None,
) -> None:
    """Saves a sentence encoder with its code and tokenizer, as `train-encoder` does save for card and provenance.

    Args:
        folder: The folder, which is made if need be. If its name is that of a checkpoint of a Trainer, only the
            weights are written, because nothing else of the model changes in a run.
        model: The encoder.
        tokenizer: Its tokenizer.
        weights: The weights, if not those that the model holds.
        describe: Writes card and provenance; called with the folder, when all else is in it.
    """
    weights = dict(model.state_dict() if weights is None else weights)
    folder.mkdir(parents=True, exist_ok=True)
    if _CHECKPOINT.fullmatch(folder.name):
        save_file({name: value.contiguous() for name, value in weights.items()}, folder / "model.safetensors")
        return
    model.save_pretrained(folder, state_dict=weights)
    save_tokenizer(tokenizer, folder)
    write_module_files(folder, model.config.model_type, model.config.hidden_size)
    if describe is not None:
        describe(folder)
