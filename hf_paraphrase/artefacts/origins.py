"""Where the inputs of an artefact come from, as far as their cards and provenance files know."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ..errors import HfParaphraseError
from ..tables import harmless_markdown
from .files import read_json_object
from .inherited_cards import inherited_metadata
from .remote_paths import to_path

_DEEPEST = 8
_MOST = 50
_URL = re.compile(r"https?://[^\s<>\"'`\\()\[\]{}|]+", re.ASCII)
_HUB_DATASET = re.compile(r"https://huggingface\.co/datasets/([\w.-]+(?:/[\w.-]+)?)/?", re.ASCII)
_TEXTS = ("name", "sha256", "made_by", "url")
_LISTS = ("license", "language")
KEPT_OUT = "kept_out"
"""Marks an input whose sentences must not be in the artefact: evaluation data that it was decontaminated against."""


def is_url(text: object) -> bool:
    """Tells whether a text is an address that a card can link to."""
    return isinstance(text, str) and bool(_URL.fullmatch(text))


def origin_of(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Finds out what an input's card and provenance say of its licence, languages, source and own inputs.

    Args:
        folder: The input, a folder or a file.

    Returns:
        What is known, of `license`, `language` (lists), `url`, `made_by` (a command) and `inputs` (a list of such
        dictionaries, with `name`, `sha256` and, where it holds, :data:`KEPT_OUT`); nothing of what is not known.
        A damaged record knows nothing: whoever opens a data or model folder refuses it, and here, at the end of the
        work, it is too late.
    """
    folder = to_path(folder)
    if not folder.is_dir():
        return {}
    record: dict[str, Any] = {}
    with suppress(HfParaphraseError):
        record = read_json_object(folder / "provenance.json")
    settings = record.get("settings")
    known = {
        **inherited_metadata(folder),
        "made_by": record.get("command"),
        "url": settings.get("url") if isinstance(settings, dict) else None,
        "inputs": record.get("inputs"),
    }
    return _clean(known, 0)


def described(inputs: object) -> list[tuple[int, str]]:
    """Lays out the inputs of an artefact, and theirs, as the lines of a nested list.

    Args:
        inputs: The `inputs` of a provenance record.

    Returns:
        For each line its depth, from 0, and its Markdown text.
    """
    lines: list[tuple[int, str]] = []

    def add(items: Any, depth: int) -> None:
        kept_out = []
        for item in items if isinstance(items, list) else []:
            found = _clean(item, 0)
            if "name" not in found or len(lines) >= _MOST:
                continue
            name = f"`{_shown(found['name'])}`"
            if KEPT_OUT in found:
                kept_out.append(name)
                continue
            facts = [
                f"`{_shown(found['made_by'])}`" if "made_by" in found else "",
                f"licence: {', '.join(map(_shown, found['license']))}" if "license" in found else "",
                f"language: {', '.join(map(_shown, found['language']))}" if "language" in found else "",
                f"<{found['url']}>" if "url" in found else "",
            ]
            facts = [fact for fact in facts if fact]
            lines.append((depth, f"{name} ({'; '.join(facts)})" if facts else name))
            add(found.get("inputs"), depth + 1)
        if kept_out:
            lines.append((depth, f"decontaminated against {', '.join(kept_out[:_MOST])}"))

    add(inputs, 0)
    return lines


def hub_datasets(inputs: object) -> list[str]:
    """Lists the data sets of the Hub among the inputs of an artefact and theirs, in the order in which they come."""
    found: dict[str, None] = {}

    def add(items: Any, depth: int) -> None:
        for item in items if isinstance(items, list) and depth < _DEEPEST else []:
            if isinstance(item, dict) and not item.get(KEPT_OUT):
                match = _HUB_DATASET.fullmatch(str(item.get("url")))
                if match:
                    found.setdefault(match[1])
                add(item.get("inputs"), depth + 1)

    add(inputs, 0)
    return list(found)


def languages_read(folder: str | os.PathLike[str], *, english: bool) -> list[str]:
    """Tells which languages a model that was trained on a folder of pairs is for.

    Args:
        folder: The pairs.
        english: Whether the model's tokenizer treats English in particular.

    Returns:
        The languages on the card of the pairs. Back-translated pairs name that of their sources too, so English alone
        where it is among them and `english` is true; nothing is known without a card, so English then too.
    """
    known = inherited_metadata(folder)["language"]
    if english and (not known or "en" in known):
        return ["en"]
    return known


def _clean(item: object, depth: int) -> dict[str, Any]:
    """Keeps what has the right type: the record may be anyone's."""
    if not isinstance(item, Mapping):
        return {}
    found: dict[str, Any] = {}
    for key in _TEXTS:
        value = item.get(key)
        if isinstance(value, str) and value and (key != "url" or is_url(value)):
            found[key] = value
    for key in _LISTS:
        value = item.get(key)
        if isinstance(value, Sequence) and not isinstance(value, str):
            texts = [text for text in value if isinstance(text, str)]
            if texts:
                found[key] = texts[:_MOST]
    if item.get(KEPT_OUT) is True:
        found[KEPT_OUT] = True
    inputs = item.get("inputs")
    if isinstance(inputs, list) and depth < _DEEPEST:
        cleaned = [_clean(other, depth + 1) for other in inputs[:_MOST]]
        if any(cleaned):
            found["inputs"] = [other for other in cleaned if other]
    return found


def _shown(text: str) -> str:
    """Makes a text that does nothing, in inline code and outside of it."""
    return harmless_markdown(re.sub(r"[`\s]+", " ", text).strip()[:200])
