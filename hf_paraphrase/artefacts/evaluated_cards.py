"""Later evaluations of a model, in its provenance, in the head of its card, and in a section of the card's text.

The section is between two comments, so that the next evaluation replaces it; the rest of the text is unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..messages import without_secrets
from ..tables import without_tags_and_links
from .artefact import locked
from .card_heads import CARD, split_card
from .measurements import Measurement, set_results
from .provenance import add_evaluation, read_provenance
from .reports.report import write_report
from .whole_files import write_text_whole


def check_evaluated_card(folder: str | os.PathLike[str], section: str) -> None:
    """Makes sure, before any long work, that :func:`add_results` can read card and provenance."""
    _read_card(folder, section)
    read_provenance(folder)


def add_results(
    folder: str | os.PathLike[str],
    name: str,
    evaluation: Mapping[str, Any],
    measurements: Sequence[Measurement] = (),
    *,
    section: str,
    text: str,
) -> None:
    """Records an evaluation and updates card and report of a model; earlier results of the same name are replaced.

    The Markdown `text` goes before the section "Limits", between comments with the name of the `section`. A card
    without a head gets this text alone. Of two runs that record at the same time, one waits for the other.
    """
    from huggingface_hub import ModelCard

    path = Path(folder) / CARD
    with locked(path, wait=True):
        card = _read_card(folder, section)
        earlier: list[Measurement] = []
        with suppress(TypeError, KeyError):  # records of version 0.1 may lack it
            recorded = read_provenance(folder)["evaluations"][name]["measurements"]
            earlier = [Measurement(**item) for item in recorded]
        known = [item for item in measurements if item.known]
        add_evaluation(folder, name, {**evaluation, "measurements": [item.record() for item in known]})
        card = replace_section(card, section, without_tags_and_links(without_secrets(text)), "## Limits")
        if split_card(card, path)[0]:
            with_head = ModelCard(card, ignore_metadata_errors=True)
            set_results(with_head, Path(folder).resolve().name, known, earlier)
            card = str(with_head)
        write_report(folder, card)
        write_text_whole(path, card)


def _read_card(folder: str | os.PathLike[str], section: str) -> str:
    path = Path(folder) / CARD
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the card: {error}", path=path, remedy="the folder needs a README.md") from error
    split_card(text, path)
    begin, end = _comments(section)
    if (text.count(begin), text.count(end)) not in {(0, 0), (1, 1)} or text.find(begin) > text.find(end):
        raise InputError(
            f"the comments {begin} and {end} do not enclose one section", path=path, remedy="remove them from the card"
        )
    return text


def replace_section(card: str, name: str, section: str, before: str) -> str:
    """Puts a section into a card in place of the earlier one of that name, else before a heading or at the end."""
    begin, end = _comments(name)
    block = f"{begin}\n{section.strip()}\n{end}"
    if begin in card:
        return card[: card.index(begin)] + block + card[card.index(end) + len(end) :]
    position = f"\n{card}".find(f"\n{before}\n")
    if position < 0:
        return f"{card.rstrip()}\n\n{block}\n"
    return f"{card[:position]}{block}\n\n{card[position:]}"


def _comments(name: str) -> tuple[str, str]:
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
