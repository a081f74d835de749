"""Reads the body of a request to `serve`: its keys, texts and counts."""

from __future__ import annotations

from typing import Any

from ..errors import UsageError, choice_of
from ..tokenization.fast_tokenize import list_of_texts

MAX_TEXTS = 2048
Json = dict[str, Any]
_TYPES: dict[str, tuple[type, str]] = {
    "ids": (list, "a list"),
    "columns": (dict, "an object of lists"),
    **dict.fromkeys(("hybrid", "snippets", "unique"), (bool, "true or false")),
    **dict.fromkeys(("prompt_name", "prompt"), (str, "a text")),
}


def read_keys(body: Json, *names: str) -> Json:
    """Return the values of these keys, None for missing ones; texts become lists.

    Other keys are refused: an ignored filter would return what it should hide.
    """
    if unknown := [name for name in body if name not in names]:
        raise UsageError(f"unknown key {unknown[0]!r}: {choice_of(unknown[0], names)}")
    values = {name: body.get(name) for name in names}
    for name, value in values.items():
        expected, described = _TYPES.get(name, (object, ""))
        if name == "query" or (name in ("sentences", "filter") and value not in (None, [])):
            values[name] = list_texts(name, value)
        elif value is not None and not isinstance(value, expected):
            raise UsageError(f"{name} is {value!r:.80}, not {described}")
    for name in ("prompt_name", "prompt"):
        if values.get(name) is not None:
            list_texts(name, values[name])  # refuses half a character
    if None not in (values.get("prompt_name"), values.get("prompt")):
        raise UsageError("give prompt_name or prompt, not both")
    return values


def list_texts(name: str, value: Any) -> list[str]:
    """Return a text or several as a list; refuse everything else."""
    if value == [] or not isinstance(value, str | list):
        raise UsageError(f"{name} must be a text or a list of texts, and not empty")
    if isinstance(value, list) and len(value) > MAX_TEXTS:
        raise UsageError(f"{name} has {len(value):,} texts, more than {MAX_TEXTS:,}")
    try:
        return list_of_texts(value)
    except TypeError as error:
        raise UsageError(f"{name}: {error}") from error


def read_count(name: str, value: Any, default: int, most: int) -> int:
    """Return a whole number from 1 to `most`, or the default for None."""
    value = default if value is None else value
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise UsageError(f"{name} is {value!r}, not a whole number from 1 to {most:,}")
    return value
