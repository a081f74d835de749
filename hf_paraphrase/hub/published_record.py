"""`provenance.json` as it goes to the Hub: settings name files and folders, but not where they lie here."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Any

from ..artefacts.provenance import FILE_NAME, SOURCE_FILE_NAME, record_text, without_places


def is_record(name: str) -> bool:
    """Tells whether a file of an artefact, by its place in it, is a record of how something came to be."""
    return PurePosixPath(name).name in {FILE_NAME, SOURCE_FILE_NAME}


def published_record(text: str) -> str:
    """Reduces paths in the settings of a record that lead out of the working folder to their last part.

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
    return text if shortened == record else record_text(shortened)


def _record(record: Any) -> Any:
    """Shortens the settings of a record, and of the evaluations in it."""
    if not isinstance(record, dict):
        return record
    changed = dict(record)
    if "settings" in record:
        changed["settings"] = without_places(record["settings"])
    if isinstance(record.get("evaluations"), dict):
        changed["evaluations"] = {name: _record(item) for name, item in record["evaluations"].items()}
    return changed
