"""What was measured after a model was made, in its provenance and in its card: a section of the text, and the head.

The section stands between two comments that Markdown does not show, so that it is found again among what people wrote,
and replaced by the next measurement; the rest of the card stays as it is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..messages import without_secrets
from ..tables import without_tags_and_links
from .artefact import locked
from .card_heads import CARD, readable_head, set_metadata
from .files import read_bytes
from .measurements import Measurement, updated_model_index
from .provenance import add_evaluation, read_provenance
from .reports.report import write_report
from .whole_files import write_text_whole


def check_evaluated_card(folder: str | os.PathLike[str], section: str) -> None:
    """Makes sure, before any long work, that :func:`add_results` will find card and provenance in order.

    Raises:
        InputError: If there is no card, or it or the provenance is damaged.
    """
    read_card(folder, section)
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
    """Records an evaluation and rewrites the card of a model; earlier results of the same name are replaced.

    The card gets a section with the results before its limits, and in the `model-index` of its head the measurements.
    A card without a head gets the section alone. Of two runs that record at the same time one waits for the other.
    The folder's report is made anew.

    Args:
        folder: The model.
        name: What was measured on what, in `provenance.json`.
        evaluation: As for :func:`~.provenance.add_evaluation`.
        measurements: What the `model-index` shall say of it.
        section: The section's name in the comments that enclose it.
        text: Its Markdown text.

    Raises:
        InputError: As :func:`check_evaluated_card`.
        OutputError: If a file cannot be written.
    """
    with locked(Path(folder) / CARD, wait=True):
        card = read_card(folder, section)
        earlier = _recorded(read_provenance(folder).get("evaluations", {}).get(name))
        known = {"measurements": [item.record() for item in measurements if item.known]}
        add_evaluation(folder, name, {**evaluation, **known})
        card = replace_section(card, section, without_tags_and_links(without_secrets(text)), "## Limits")
        before = readable_head(card).get("model-index")
        index = updated_model_index(Path(folder).resolve().name, before, earlier, measurements)
        card = set_metadata(card, "model-index", index)
        write_report(folder, card)
        write_text_whole(Path(folder) / CARD, card)


def read_card(folder: str | os.PathLike[str], name: str) -> str:
    """Reads the card of an artefact and checks that the section `name` can be put into it.

    Raises:
        InputError: If there is no card, it is not UTF-8 text, or one of the section's comments lacks the other.
    """
    path = Path(folder) / CARD
    if not path.exists():
        raise InputError("there is no card", path=path, remedy="the folder needs a README.md")
    try:
        card = read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError("the card is not UTF-8 text", path=path, remedy="convert it to UTF-8") from error
    begin, end = _marks(name)
    if (card.count(begin), card.count(end)) not in {(0, 0), (1, 1)} or card.find(begin) > card.find(end):
        raise InputError(
            f"the comments {begin} and {end} do not enclose one section", path=path, remedy="remove them from the card"
        )
    return card


def replace_section(card: str, name: str, section: str, before: str) -> str:
    """Puts a section into a card in place of the earlier one of that name.

    Args:
        card: The card's text, as :func:`read_card` returns it.
        name: The section's name in its comments.
        section: Its Markdown text.
        before: The heading, such as `## Limits`, before which a first section goes; at the end where there is none.

    Returns:
        The new text.
    """
    begin, end = _marks(name)
    block = f"{begin}\n{section.strip()}\n{end}"
    if begin in card:
        return card[: card.index(begin)] + block + card[card.index(end) + len(end) :]
    place = f"\n{card}".find(f"\n{before}\n")
    if place < 0:
        return f"{card.rstrip()}\n\n{block}\n"
    return f"{card[:place]}{block}\n\n{card[place:]}"


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def _recorded(evaluation: object) -> list[Measurement]:
    """Reads what an evaluation in a record says was measured; nothing of what is not like that."""
    items = evaluation.get("measurements") if isinstance(evaluation, Mapping) else None
    found = [Measurement.of_record(item) for item in items] if isinstance(items, list) else []
    return [item for item in found if item is not None]
