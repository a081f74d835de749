"""What a data folder's card hands on to the folders that are made from it: its licence and its languages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_LONGEST_HEAD = 1 << 20
_LONGEST, _MOST = 100, 100


def inherited_metadata(folder: Path) -> dict[str, list[str]]:
    """Reads `license` and `language` from the YAML head of a folder's README.md.

    Args:
        folder: The data folder.

    Returns:
        For each of the two keys its values; an empty list where the card, its head or the key is missing.
    """
    import yaml

    head: Any = None
    card = folder / "README.md"
    if card.is_file():
        with card.open("rb") as stream:
            text = stream.read(_LONGEST_HEAD).decode("utf-8", errors="replace").replace("\r\n", "\n")
        if text.startswith("---\n") and "\n---" in text[3:]:
            try:
                head = yaml.safe_load(text[4 : text.index("\n---", 3)])
            except (yaml.YAMLError, ValueError, RecursionError):
                head = None
    found = {}
    for key in ("license", "language"):
        value = head.get(key) if isinstance(head, dict) else None
        # Nothing but texts: aliases in YAML make small heads into lists of lists that fill the memory as text.
        items = value[:_MOST] if isinstance(value, list) else [value]
        found[key] = [item[:_LONGEST] for item in items if isinstance(item, str) and item]
    return found
