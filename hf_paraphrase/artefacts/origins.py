"""Where the inputs of an artefact come from, as far as their cards and provenance files know."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import Any

from ..errors import HfParaphraseError
from ..tables import harmless_markdown
from .files import read_json_object
from .inherited_cards import as_list, card_of_input, inherited_metadata
from .remote_paths import to_path

_URL = re.compile(r"https?://[^\s<>\"'`\\()\[\]{}|]+", re.ASCII)
_HUB_DATASETS = "https://huggingface.co/datasets/"
_HUB_DATASET = re.compile(rf"{re.escape(_HUB_DATASETS)}([\w.-]+(?:/[\w.-]+)?)/?", re.ASCII)
KEPT_OUT = "kept_out"
"""Marks an input whose sentences must not be in the artefact: evaluation data that it was decontaminated against."""


def is_url(text: object) -> bool:
    """Returns whether a text is a URL that a card can link to."""
    return isinstance(text, str) and bool(_URL.fullmatch(text))


def origin_of(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads from an input's card and provenance what they say of its licence, languages and source.

    Returns:
        Of `license`, `language`, `datasets` (of the Hub, that it was made from; all lists), `url` and `made_by` (a
        command) those that are known. A missing or damaged card or record knows nothing.
    """
    folder = to_path(folder)
    if not folder.is_dir():
        return {}
    record: dict[str, Any] = {}
    with suppress(HfParaphraseError):
        record = read_json_object(folder / "provenance.json")
    settings = record.get("settings")
    url = settings.get("url") if isinstance(settings, dict) else None
    head, _ = card_of_input(folder)
    # The Hub calls what was made from nothing else "original", and other kinds of sources "extended|…".
    sources = [name for name in as_list(head.get("source_datasets")) if name != "original" and "|" not in name]
    known = {
        **inherited_metadata(folder),
        "datasets": sources + as_list(head.get("datasets")),
        "made_by": record.get("command"),
        "url": url if is_url(url) else None,
    }
    return {key: value for key, value in known.items() if value}


def described(inputs: list[dict[str, Any]]) -> list[str]:
    """Lays out the `inputs` of a provenance record as the Markdown items of a list."""
    lines, kept_out = [], []
    for item in inputs:
        name = f"`{_shown(item['name'])}`"
        if item.get(KEPT_OUT):
            kept_out.append(name)
            continue
        facts = [f"`{_shown(item['made_by'])}`"] if "made_by" in item else []
        facts += [
            f"{word}: {', '.join(map(_shown, item[key]))}"
            for word, key in (("licence", "license"), ("language", "language"))
            if key in item
        ]
        urls = [item.get("url"), *(f"{_HUB_DATASETS}{dataset}" for dataset in item.get("datasets", []))]
        facts += [f"<{url}>" for url in dict.fromkeys(urls) if is_url(url)]
        lines.append(f"{name} ({'; '.join(facts)})" if facts else name)
    if kept_out:
        lines.append(f"decontaminated against {', '.join(kept_out)}")
    return lines


def hub_datasets(inputs: list[dict[str, Any]]) -> list[str]:
    """Lists the data sets of the Hub that the inputs of an artefact are or were made from, each once."""
    found: list[str] = []
    for item in inputs:
        if not item.get(KEPT_OUT):
            match = _HUB_DATASET.fullmatch(str(item.get("url")))
            found += [match[1]] if match else []
            found += item.get("datasets", [])
    return list(dict.fromkeys(found))


def languages_read(folder: str | os.PathLike[str], *, english: bool) -> list[str]:
    """Returns which languages a model that was trained on a folder of pairs is for.

    Args:
        folder: The pairs.
        english: Whether the model's tokenizer treats English in particular.

    Returns:
        The languages on the card of the pairs. Back-translated pairs name that of their sources too, so English alone
        where it is among them and `english` is true; without a card English too.
    """
    known = inherited_metadata(folder)["language"]
    if english and (not known or "en" in known):
        return ["en"]
    return known


def _shown(text: object) -> str:
    """Makes a text harmless, in inline code and outside of it."""
    return harmless_markdown(re.sub(r"[`\s]+", " ", str(text)).strip()[:200])
