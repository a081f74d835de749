"""Writes the folder of a finished sentence encoder: weights, code, tokenizer, provenance and card."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .cards import write_card
from .provenance import write_provenance

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
) -> None:
    """Writes everything that a reader of the folder needs: see the contract on artefacts.

    An average of word vectors also gets the `modules.json` by which sentence-transformers and model2vec open it.

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
    """
    from ..tokenization.word_level import save_tokenizer

    static = model.config.model_type == "avg"
    model.save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    if static:
        module = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"}
        (folder / "modules.json").write_text(json.dumps([module], indent=2) + "\n", encoding="utf-8")
    sizes = {
        "vocabulary": model.config.vocab_size,
        "parameters": sum(item.numel() for item in model.parameters()),
    }
    write_provenance(folder, command=command, settings=settings, inputs=inputs, results={**results, **sizes})
    write_card(
        folder,
        "model_cards",
        "encoder",
        {
            **settings,
            **model.config.to_dict(),
            "library_name": "sentence-transformers" if static else "transformers",
            "title": name,
            "name": name,
            "parameters": sizes["parameters"],
            **card,
        },
    )
