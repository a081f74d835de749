"""What the card of an exported model takes over from the card of the model that it was made from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_KEPT = ("language", "license", "license_name", "license_link", "datasets", "base_model")
_LEFT_OUT = ("how to use it",)


def source_metadata(folder: Path) -> dict[str, Any]:
    """Reads what holds for the exported model too from the front matter of the card in a folder.

    Scores are not among it: they were measured with the weights of the model, not with those of the export.

    Returns:
        Some of `language` (a list), `license`, `datasets` and the like; empty where there is no card with readable
        front matter.
    """
    import yaml

    try:
        found = yaml.safe_load(_split(folder)[0])
    except yaml.YAMLError:
        return {}
    if not isinstance(found, dict):
        return {}
    kept = {name: found[name] for name in _KEPT if found.get(name)}
    if isinstance(kept.get("language"), str):
        kept["language"] = [kept["language"]]
    return kept


def source_text(folder: Path) -> str:
    """Gives the sections of the card in a folder, one level down; empty where there is no card.

    Title and introduction are left out, and so is how to use the model, which differs.
    """
    lines: list[str] = []
    keep = fenced = False
    for line in _split(folder)[1].splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif line.startswith("#") and not fenced:
            level = len(line) - len(line.lstrip("#"))
            if level == 2:
                keep = line.strip("# ").lower() not in _LEFT_OUT
            line = f"#{line}"
        if keep:
            lines.append(line)
    return "\n".join(lines).strip()


def _split(folder: Path) -> tuple[str, str]:
    """Splits the card into front matter and text."""
    try:
        text = (folder / "README.md").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return "", ""
    if not text.startswith("---\n"):
        return "", text
    front, mark, body = text[4:].partition("\n---\n")
    return (front, body) if mark else ("", text)
