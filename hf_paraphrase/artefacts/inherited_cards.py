"""What a card hands on to the cards of what is made from its folder: licence, languages, and of a model its text."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import InputError
from .card_heads import CARD, split_card
from .remote_paths import to_path

_KEPT_OF_MODELS = ("language", "license", "license_name", "license_link", "datasets", "base_model")


def inherited_metadata(folder: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Reads `license` and `language` from the card of a data folder, or of a folder at a URL.

    Returns:
        For each of the two keys its values; an empty list where the card, its head or the key is missing.
    """
    head, _ = card_of_input(folder)
    return {key: as_list(head.get(key)) for key in ("license", "language")}


def inherited_model_metadata(folder: Path) -> dict[str, Any]:
    """Reads what also holds for an exported model from the card of the model that it is made from.

    Scores are not part of it: they were measured with the weights of the model, not with those of the export.

    Returns:
        Some of `language` (a list), `license`, `datasets` and the like; empty where no head can be read.
    """
    head, _ = card_of_input(folder)
    kept = {name: head[name] for name in _KEPT_OF_MODELS if head.get(name)}
    if "language" in kept:
        kept["language"] = as_list(kept["language"])
    return kept


def inherited_sections(folder: Path) -> str:
    """Returns the sections of a folder's card one level down, without the title and how to use the model."""
    _, body = card_of_input(folder)
    lines: list[str] = []
    keep = fenced = False
    for line in body.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif line.startswith("#") and not fenced:
            if line.startswith("## "):
                keep = line.strip("# ").lower() != "how to use it"
            line = f"#{line}"
        if keep:
            lines.append(line)
    return "\n".join(lines).strip()


def card_of_input(folder: str | os.PathLike[str]) -> tuple[dict[str, Any], str]:
    """Reads head and text of an input's card; both are empty where it is missing or damaged."""
    with suppress(InputError, OSError, UnicodeDecodeError), (to_path(folder) / CARD).open("rb") as stream:
        return split_card(stream.read().decode("utf-8-sig"))
    return {}, ""


def as_list(value: object) -> list[str]:
    """Returns the texts in an entry of a head, one or a list of them."""
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str) and item]
