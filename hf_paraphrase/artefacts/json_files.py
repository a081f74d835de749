"""Reads the small JSON files that artefacts consist of, whoever wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import HfParaphraseError, InputError
from .plain_files import read_bounded

LONGEST_JSON_BYTES = 64 << 20
"""Settings and records are a few kilobytes; a provenance file with the log of a long training is some hundred."""


def read_json_object(path: Path, error: type[HfParaphraseError] = InputError) -> dict[str, Any]:
    """Reads a file that is one JSON object.

    Args:
        path: The file.
        error: What to raise.

    Raises:
        HfParaphraseError: As `error`, if the file is missing, not plain, too long, not UTF-8, not JSON, nested without
            end, or something else than an object.
    """
    content = read_bounded(path, LONGEST_JSON_BYTES, error)
    remedy = "copy or make it again"
    try:
        value = json.loads(content.decode("utf-8"))
    except RecursionError as reason:
        raise error("damaged: lists in lists without end", path=path, remedy=remedy) from reason
    except ValueError as reason:  # both not UTF-8 and not JSON
        raise error(f"{path.name} is damaged: {reason}", path=path, remedy=remedy) from reason
    if not isinstance(value, dict):
        raise error(f"{path.name} is damaged: not a JSON object but {_kind(value)}", path=path, remedy=remedy)
    return value


def _kind(value: object) -> str:
    kinds = {list: "a list", str: "a text", bool: "a truth value", int: "a number", float: "a number"}
    return kinds.get(type(value), "null")
