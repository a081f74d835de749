"""The card and the record of an encoder that was saved from Python: what its trainer knows, and what it does not."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from ..artefacts.cards import write_card
from ..artefacts.provenance import write_provenance
from ..models.sentence_transformers_files import needs_own_code

if TYPE_CHECKING:
    from .trainer import EncoderTrainer

_MAKER = "EncoderTrainer.save_model (from Python)"
_LOGGER = logging.getLogger(__name__)


def write_saved_card(folder: Path, trainer: EncoderTrainer) -> None:
    """Writes `README.md` and `provenance.json` of a model folder that has no card yet.

    A card that is there stays, with the record that belongs to it, because somebody may have written in it; a warning
    says so, for they may be about other weights.

    Args:
        folder: The folder, with the model in it.
        trainer: The trainer of the model.

    Raises:
        OutputError: If a file cannot be written.
    """
    if (folder / "README.md").exists():
        _LOGGER.warning("%s: card and record stay as they were; remove the card to have both written anew", folder)
        return
    model, args, state = trainer.model, trainer.args, trainer.state
    known = {
        "vocabulary": model.config.vocab_size,
        "parameters": sum(item.numel() for item in model.parameters()),
        "pairs": trainer.collator.size,
        "updates": state.global_step,
        "epochs": state.epoch or 0.0,
        "dev_scores": trainer.scores(),
    }
    # Where the run lies is nobody's business, and `push_to_hub` of the Trainer sends files as they are.
    settings = {key: value for key, value in args.to_dict().items() if key != "output_dir"}
    write_provenance(folder, command=_MAKER, settings=settings, results=known)
    name = folder.resolve().name
    values = {
        **{key: getattr(args, key) for key in ("learning_rate", "loss", "negatives", "negatives_from", "scramble")},
        "languages": [],
        "library_name": "transformers" if needs_own_code(model.config.model_type) else "sentence-transformers",
        "model_type": model.config.model_type,
        "title": name,
        "name": name,
        "hidden_size": model.config.hidden_size,
        "vocab_size": known["vocabulary"],
        "parameters": known["parameters"],
        "pairs": known["pairs"],
        "margin": trainer.loss.margin,
        "searches_negatives": not trainer.loss.needs_labels,
        "mega_batch_size": args.mega_batch_size,
        "batch_size": args.per_device_train_batch_size,
        "updates": known["updates"],
        "epochs": known["epochs"],
        "scores": known["dev_scores"],
        "seed": args.seed,
    }
    write_card(folder, "model_cards", "saved_encoder", values)
