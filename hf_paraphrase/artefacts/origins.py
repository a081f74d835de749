"""What the cards and records of inputs say for the cards of what is made from them: licence, languages, sources."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import HfParaphraseError, InputError
from ..tables import harmless_markdown
from .card_heads import CARD, split_card, texts
from .files import read_json_object
from .remote_paths import to_path

_URL = re.compile(r"https?://[^\s<>\"'`\\()\[\]{}|]+", re.ASCII)
_HUB_DATASETS = "https://huggingface.co/datasets/"
_HUB_DATASET = re.compile(rf"{re.escape(_HUB_DATASETS)}([\w.-]+(?:/[\w.-]+)?)/?", re.ASCII)
KEPT_OUT = "kept_out"
"""Marks an input whose sentences must not be in the artefact: evaluation data that it was decontaminated against."""
_KEPT_OF_MODELS = ("language", "license", "license_name", "license_link", "datasets", "base_model")


def is_url(text: object) -> bool:
    """Returns whether a text is a URL that a card can link to."""
    return isinstance(text, str) and bool(_URL.fullmatch(text))


def origin_of(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads `license`, `language`, `datasets` (lists), `url` and `made_by` of an input, as far as it states them."""
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
    sources = [name for name in texts(head.get("source_datasets")) if name != "original" and "|" not in name]
    known = {
        "license": texts(head.get("license")),
        "language": texts(head.get("language")),
        "datasets": sources + texts(head.get("datasets")),
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
    """Lists the datasets of the Hub that the inputs of an artefact are, or are made from, each once."""
    found: list[str] = []
    for item in inputs:
        if not item.get(KEPT_OUT):
            match = _HUB_DATASET.fullmatch(str(item.get("url")))
            found += [match[1]] if match else []
            found += item.get("datasets", [])
    return list(dict.fromkeys(found))


def languages_read(folder: str | os.PathLike[str], *, english: bool) -> list[str]:
    """Returns the languages of a model that was trained on a folder of pairs: those on the card of the pairs.

    If `english`, the tokenizer is made for English: then it is English alone, unless the card names other languages
    only. Cards of back-translated pairs name the language of their sources, too.
    """
    known = inherited_metadata(folder)["language"]
    if english and (not known or "en" in known):
        return ["en"]
    return known


def inherited_metadata(folder: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Reads `license` and `language` from the card of a folder, each as a list, which may be empty."""
    head, _ = card_of_input(folder)
    return {key: texts(head.get(key)) for key in ("license", "language")}


def inherited_model_metadata(folder: Path) -> dict[str, Any]:
    """Reads the entries of a model's card that also hold for an export; scores were measured with other weights."""
    head, _ = card_of_input(folder)
    kept = {name: head[name] for name in _KEPT_OF_MODELS if head.get(name)}
    if "language" in kept:
        kept["language"] = texts(kept["language"])
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
    """Reads head and text of an input's card; both are empty if it is missing or damaged."""
    with suppress(InputError, OSError, UnicodeDecodeError), (to_path(folder) / CARD).open("rb") as stream:
        return split_card(stream.read().decode("utf-8-sig"))
    return {}, ""


def _shown(text: object) -> str:
    """Makes a text harmless, in inline code and outside of it."""
    return harmless_markdown(re.sub(r"[`\s]+", " ", str(text)).strip()[:200])
