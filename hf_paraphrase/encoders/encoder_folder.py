"""Writes the folder of a finished sentence encoder: weights, code, tokenizer, provenance and card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.cards import write_card
from ..artefacts.measurements import Measurement
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
    measurements: Sequence[Measurement] = (),
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
        measurements: What the head of the card shall say was measured.
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
        measurements,
    )


def dev_measurement(dev_data: str | None, best: float | None, scores: Sequence[Mapping[str, Any]]) -> Measurement:
    """Says of the best development score what it is.

    Args:
        dev_data: The development data.
        best: The score of the epoch that was kept.
        scores: The scores of all epochs; those on a bitext name both directions.
    """
    retrieval = any("source_to_target" in entry for entry in scores)
    name = "precision at 1 (%; nearest sentence of the other language, mean of both directions; it chose the epoch)"
    return Measurement(
        task="sentence-similarity",
        dataset=dev_data,
        split="validation" if retrieval else "dev",
        metric="precision" if retrieval else "pearsonr",
        value=best,
        name=name if retrieval else "Pearson × 100 of the cosine, mean over the dev sets (it chose the epoch)",
        task_name="Finding translations" if retrieval else "Semantic textual similarity",
    )
