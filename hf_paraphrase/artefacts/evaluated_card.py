"""Puts what was measured after a model was made into its provenance and its card, head and text."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .card_metadata import set_metadata
from .card_section import read_card, replace_section
from .folders import write_text_whole
from .model_index import model_index
from .provenance import add_evaluation, read_provenance


def check_evaluated_card(folder: str | os.PathLike[str], section: str) -> None:
    """Makes sure, before any long work, that :func:`add_results` will find card and provenance in order.

    Raises:
        InputError: If there is no card, or it or the provenance is damaged.
    """
    read_card(folder, section)
    read_provenance(folder)


def add_results(
    folder: str | os.PathLike[str], name: str, evaluation: Mapping[str, Any], *, section: str, text: str
) -> None:
    """Records an evaluation and rewrites the card of a model; earlier results of the same name are replaced.

    The card gets a section with the results before its limits, and in its head a `model-index` made of all that the
    provenance holds. A card without a head gets the section alone.

    Args:
        folder: The model.
        name: What was measured on what, in `provenance.json`.
        evaluation: As for :func:`~.provenance.add_evaluation`.
        section: The section's name in the comments that enclose it.
        text: Its Markdown text.

    Raises:
        InputError: As :func:`check_evaluated_card`.
        OutputError: If a file cannot be written.
    """
    card = read_card(folder, section)
    record = add_evaluation(folder, name, evaluation)
    card = replace_section(card, section, text, "## Limits")
    card = set_metadata(card, "model-index", model_index(Path(folder).resolve().name, record))
    write_text_whole(Path(folder) / "README.md", card)
