"""Writes the folder of a finished sentence encoder: weights, code, tokenizer, provenance and card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.cards import write_card
from ..artefacts.provenance import write_provenance
from ..models.sentence_transformers_files import needs_own_code, write_module_files

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


def write_encoder_folder(
    folder: Path,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    *,
    name: str,
    command: str,
    settings: Mapping[str, Any],
    inputs: Sequence[str],
    results: Mapping[str, Any],
    card: Mapping[str, Any],
    template: str = "encoder",
) -> None:
    """Writes everything that a reader of the folder needs: see the contract on artefacts.

    That includes the files of :mod:`..models.sentence_transformers_files`, so that sentence-transformers opens it.

    Args:
        folder: An existing folder.
        model: The encoder.
        tokenizer: Its tokenizer.
        name: What the card calls it.
        command: The verb that made it.
        settings: All settings of the run.
        inputs: The files and folders that were read.
        results: What was measured; sizes are added.
        card: What the card's template needs beyond settings and sizes.
        template: The card's template.
    """
    from ..tokenization.word_level import save_tokenizer

    model.save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    write_module_files(folder, model.config.model_type, model.config.hidden_size)
    sizes = {
        "vocabulary": model.config.vocab_size,
        "parameters": sum(item.numel() for item in model.parameters()),
    }
    write_provenance(folder, command=command, settings=settings, inputs=inputs, results={**results, **sizes})
    write_card(
        folder,
        "model_cards",
        template,
        {
            **settings,
            **model.config.to_dict(),
            "library_name": "transformers" if needs_own_code(model.config.model_type) else "sentence-transformers",
            "title": name,
            "name": name,
            "parameters": sizes["parameters"],
            **card,
        },
    )
