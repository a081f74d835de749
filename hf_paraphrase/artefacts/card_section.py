"""A section of a card that is written, and written anew, after the card itself; the rest of the card stays as it is.

The section stands between two comments that Markdown does not show, so that it is found again among what people wrote.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import InputError
from .folders import write_text_whole


def read_card(folder: str | os.PathLike[str], name: str) -> str:
    """Reads the card of an artefact and checks that the section `name` can be put into it.

    Raises:
        InputError: If there is no card, it is not UTF-8 text, or one of the section's comments lacks the other.
    """
    path = Path(folder) / "README.md"
    try:
        card = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError("the card is not UTF-8 text", path=path, remedy="convert it to UTF-8") from error
    except OSError as error:
        raise InputError(
            f"cannot read the card: {error.strerror}", path=path, remedy="the folder needs a README.md"
        ) from error
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


def update_section(folder: str | os.PathLike[str], name: str, section: str, before: str) -> None:
    """Rewrites the card of an artefact with the section in it; the file is replaced whole.

    Raises:
        InputError: As :func:`read_card`.
        OutputError: If the card cannot be written.
    """
    card = replace_section(read_card(folder, name), name, section, before)
    write_text_whole(Path(folder) / "README.md", card)


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
