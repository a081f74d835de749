"""What a data folder's card hands on to the folders that are made from it: its licence and its languages."""

from __future__ import annotations

from pathlib import Path
from typing import Any


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
        text = card.read_text(encoding="utf-8", errors="replace")
        if text.startswith("---\n") and "\n---" in text[3:]:
            try:
                head = yaml.safe_load(text[4 : text.index("\n---", 3)])
            except yaml.YAMLError:
                head = None
    found = {}
    for key in ("license", "language"):
        value = head.get(key) if isinstance(head, dict) else None
        found[key] = [str(item) for item in (value if isinstance(value, list) else [value]) if item]
    return found
