"""`provenance.json` as it goes to the Hub: settings name files and folders, but not where they lie here."""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath
from typing import Any

from ..artefacts.provenance import FILE_NAME, SOURCE_FILE_NAME

_ELSEWHERE = re.compile(
    r"(?P<name>[^=/\\\s]*=)?"
    r"(?P<path>(?:[/\\]|~[^/\\\s]*[/\\]|[A-Za-z]:[/\\]|[Ff][Ii][Ll][Ee]:[/\\]|(?:\.[/\\])*\.\.[/\\])[^\n]*)"
)
"""A path that begins at a root, at a home or above the working folder; a setting may have a name in front of it."""


def is_record(name: str) -> bool:
    """Tells whether a file of an artefact, by its place in it, is a record of how something came to be."""
    return PurePosixPath(name).name in {FILE_NAME, SOURCE_FILE_NAME}


def published_record(text: str) -> str:
    """Reduces paths in the settings of a record that lead out of the working folder to their last part.

    A path tells strangers the names of people and of their projects, and nothing about the artefact: what was read is
    known by its name and its fingerprint.

    Args:
        text: The content of a `provenance.json`.

    Returns:
        The same with shorter paths; the text itself if there are none or it is no such record.
    """
    try:
        record = json.loads(text)
        shortened = _record(record)
    except (ValueError, RecursionError):
        return text
    return text if shortened == record else json.dumps(shortened, indent=2, ensure_ascii=False) + "\n"


def _record(record: Any) -> Any:
    """Shortens the settings of a record, and of the evaluations in it."""
    if not isinstance(record, dict):
        return record
    changed = dict(record)
    if "settings" in record:
        changed["settings"] = _shortened(record["settings"])
    if isinstance(record.get("evaluations"), dict):
        changed["evaluations"] = {name: _record(item) for name, item in record["evaluations"].items()}
    return changed


def _shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _shortened(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_shortened(item) for item in value]
    if isinstance(value, str) and (found := _ELSEWHERE.fullmatch(value)):
        return (found["name"] or "") + re.split(r"[/\\]", found["path"].rstrip("/\\"))[-1]
    return value
