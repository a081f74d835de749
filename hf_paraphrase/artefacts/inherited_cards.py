"""What a card hands on to the cards of what is made from its folder: licence, languages, and of a model its text."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..errors import InputError
from .card_heads import CARD, readable_head, split_head
from .files import read_bytes
from .remote_paths import to_path

_KEPT_OF_MODELS = ("language", "license", "license_name", "license_link", "datasets", "base_model")
_SECTIONS_LEFT_OUT = ("how to use it",)
_LONGEST_HEAD = 1 << 20
_LONGEST, _MOST = 100, 100


def inherited_metadata(folder: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Reads `license` and `language` from the card of a data folder.

    Args:
        folder: The data folder, or its address.

    Returns:
        For each of the two keys its values; an empty list where the card, its head or the key is missing.
    """
    head = _head(to_path(folder))
    found = {}
    for key in ("license", "language"):
        value = head.get(key)
        # Nothing but texts: aliases in YAML make small heads into lists of lists that fill the memory as text.
        items = value[:_MOST] if isinstance(value, list) else [value]
        found[key] = [item[:_LONGEST] for item in items if isinstance(item, str) and item]
    return found


def inherited_model_metadata(folder: Path) -> dict[str, Any]:
    """Reads what holds for an exported model too from the card of the model that it is made from.

    Scores are not among it: they were measured with the weights of the model, not with those of the export.

    Returns:
        Some of `language` (a list), `license`, `datasets` and the like; empty where there is no card with a readable
        head.
    """
    head = _head(folder)
    kept = {name: head[name] for name in _KEPT_OF_MODELS if head.get(name)}
    if isinstance(kept.get("language"), str):
        kept["language"] = [kept["language"]]
    return kept


def inherited_sections(folder: Path) -> str:
    """Gives the sections of the card in a folder, one level down; empty where there is no card.

    Title and introduction are left out, and so is how to use the model, which differs.
    """
    lines: list[str] = []
    keep = fenced = False
    for line in _body(folder).split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif line.startswith("#") and not fenced:
            level = len(line) - len(line.lstrip("#"))
            if level == 2:
                keep = line.strip("# \r").lower() not in _SECTIONS_LEFT_OUT
            line = f"#{line}"
        if keep:
            lines.append(line.removesuffix("\r"))
    return "\n".join(lines).strip()


def _head(folder: Path) -> dict[str, Any]:
    try:
        with (folder / CARD).open("rb") as stream:
            # The end of what is read may stand within a character.
            return readable_head(stream.read(_LONGEST_HEAD).decode("utf-8", errors="replace"))
    except (InputError, OSError):
        return {}


def _body(folder: Path) -> str:
    try:
        card = read_bytes(folder / CARD).decode("utf-8")
    except (InputError, UnicodeDecodeError):
        return ""
    found = split_head(card)
    if found is None:
        return "" if card.startswith("---\n") else card
    return found[1]
