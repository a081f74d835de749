"""What users hand over as texts, made a list of strings or refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_SHOWN = 60


def list_of_texts(texts: str | Iterable[str]) -> list[str]:
    """Makes a list of one text or several; arrays and columns of strings are as good as lists.

    A tokenizer would take a pair of strings for two sentences to be joined, and the letters of a string for texts.

    Args:
        texts: A single text, which gives a list of one, or several.

    Raises:
        TypeError: If one of them is not a string, with its place, counted from 0.
    """
    if isinstance(texts, str):
        return [texts]
    if texts is None or isinstance(texts, bytes):
        raise TypeError(f"texts is {_described(texts)}, not a string or a sequence of strings")
    listed = list(texts)
    if all(issubclass(kind, str) for kind in set(map(type, listed))):
        return listed
    place = next(place for place, text in enumerate(listed) if not isinstance(text, str))
    raise TypeError(f"texts[{place}] is {_described(listed[place])}, not a string")


def _described(value: Any) -> str:
    shown = repr(value)
    if len(shown) > _SHOWN:
        shown = f"{shown[: _SHOWN - 1]}…"
    return "None" if value is None else f"{shown} ({type(value).__name__})"
