"""The YAML head of a card: single keys are replaced, everything else stays as people wrote it."""

from __future__ import annotations

import re
from typing import Any

_HEAD = re.compile(r"\A---[ \t]*\r?\n(?P<lines>(?:.*\r?\n)*?)---[ \t]*(?:\r?\n|\Z)")


def has_metadata(card: str) -> bool:
    """Tells whether a card begins with a YAML head."""
    return _HEAD.match(card) is not None


def set_metadata(card: str, key: str, value: Any) -> str:
    """Sets a key of a card's head; at its end if it is not there yet.

    Args:
        card: The card's text.
        key: A key of the first level, e.g. `model-index`.
        value: Its value, as YAML can write it; None or an empty one removes the key.

    Returns:
        The new text. A card without a head stays as it is: it is no card of the Hub.
    """
    import yaml

    head = _HEAD.match(card)
    if head is None:
        return card
    lines = head["lines"].splitlines(keepends=True)
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    begin = next(
        (place for place, line in enumerate(lines) if re.match(rf"{re.escape(key)}[ \t]*:", line)), len(lines)
    )
    stop = begin + 1
    # What belongs to a key is indented, a list item, or empty.
    while stop < len(lines) and re.match(r"[ \t\r\n]|-(?!--)", lines[stop]):
        stop += 1
    written = ""
    if value not in (None, [], {}, ""):
        written = yaml.safe_dump({key: value}, sort_keys=False, allow_unicode=True, width=10_000).replace("\n", end)
    text = "".join([*lines[:begin], written, *lines[stop:]])
    return card[: head.start("lines")] + text + card[head.end("lines") :]
