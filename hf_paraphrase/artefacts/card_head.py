"""The YAML head of a card, which the Hub reads: licence, languages, configurations, the kind of a Space."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..errors import InputError

CARD = "README.md"
_LONGEST = 1 << 20


def read_head(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads the YAML head of a folder's README.md.

    Returns:
        The head's entries; an empty dictionary where there is no card or the card has no head.

    Raises:
        InputError: If the card cannot be read, is not UTF-8 text, or its head is not a YAML mapping.
    """
    import yaml

    path = Path(folder) / CARD
    if not path.is_file():
        return {}
    try:
        with path.open("rb") as stream:
            data = stream.read(_LONGEST)
        # The end of what was read may stand within a character; the head is long over by then.
        text = data.decode("utf-8-sig", errors="strict" if len(data) < _LONGEST else "ignore")
    except UnicodeDecodeError as error:
        raise InputError("the card is not UTF-8 text", path=path, remedy="convert it to UTF-8") from error
    except OSError as error:
        raise InputError(f"cannot read the card: {error.strerror}", path=path) from error
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != "---":
        return {}
    end = next((index for index, line in enumerate(lines[1:], start=1) if line.rstrip() == "---"), None)
    if end is None:
        raise InputError("the head of the card does not end", path=path, line=1, remedy="close it with a line ---")
    try:
        head = yaml.safe_load("\n".join(lines[1:end]))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "cannot be parsed"
        line = None if mark is None else mark.line + 2
        raise InputError(f"the head of the card is not YAML: {problem}", path=path, line=line) from error
    except (ValueError, RecursionError) as error:  # a date that does not exist, lists within lists
        raise InputError("the head of the card is not YAML that can be read", path=path, line=1) from error
    if head is None:
        return {}
    if not isinstance(head, dict):
        raise InputError("the head of the card is not a YAML mapping", path=path, line=1, remedy="write `key: value`")
    return head


def texts(value: object) -> list[str]:
    """Turns an entry of a head, one value or a list, into texts; nothing becomes an empty list.

    What is neither text nor number becomes the name of its type: through YAML's aliases a few lines can stand for
    lists that would fill the memory as text.
    """
    items = value if isinstance(value, list) else [value]
    return [str(item) if isinstance(item, (str, int, float)) else type(item).__name__ for item in items if item]
