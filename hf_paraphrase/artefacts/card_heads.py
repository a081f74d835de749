"""The YAML head of a card, which the Hub reads: read with care, and changed one key at a time.

`metadata_save` of huggingface_hub writes a head anew as a whole: comments, quotes and the order of lists of words that
people chose are lost by it, and PyYAML turns U+0085 and its like within a text into other white space on the way. So a
single key is replaced here, line by line, and every other byte stays; what the values look like (`model-index`) is
that library's.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from ..errors import InputError

CARD = "README.md"
# A line has one reading only: were its \r free to be its text or its end, the readings would double with every line.
_HEAD = re.compile(r"\A---[ \t]*\r?\n(?P<lines>(?:[^\n]*\n)*?)---[ \t]*\r?(?:\n|\Z)")
_LONGEST = 1 << 20
_OTHER_LINE_BREAKS = re.compile("[\x85\u2028\u2029]")


def split_head(card: str) -> tuple[str, str] | None:
    """Splits a card into the lines of its head, without those that enclose it, and the text behind it.

    Returns:
        Both; None where the card has no head.
    """
    head = _HEAD.match(card)
    return None if head is None else (head["lines"], card[head.end() :])


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
    if text.partition("\n")[0].rstrip() != "---":
        return {}
    found = split_head(text)
    if found is None:
        raise InputError("the head of the card does not end", path=path, line=1, remedy="close it with a line ---")
    try:
        # Without the last line end, so that what ends too early is told of its own line.
        head = yaml.safe_load(found[0].rstrip("\r\n"))
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


def readable_head(card: str) -> dict[str, Any]:
    """Reads the head of a card's text where nothing hangs on it; empty where it is missing or damaged."""
    import yaml

    found = split_head(card)
    try:
        head = None if found is None else yaml.safe_load(found[0])
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return head if isinstance(head, dict) else {}


def set_metadata(card: str, key: str, value: Any) -> str:
    """Sets a key of a card's head; at its end if it is not there yet.

    Args:
        card: The card's text.
        key: A key of the first level, e.g. `model-index`.
        value: Its value, as YAML can write it; None or an empty one removes the key.

    Returns:
        The new text. A card without a head stays as it is: it is no card of the Hub.
    """
    head = _HEAD.match(card)
    if head is None:
        return card
    lines = re.findall(r"[^\n]*\n", head["lines"])
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    begin = next(
        (place for place, line in enumerate(lines) if re.match(rf"{re.escape(key)}[ \t]*:", line)), len(lines)
    )
    stop = begin + 1
    # What belongs to a key is indented, a list item, or empty.
    while stop < len(lines) and re.match(r"[ \t\r\n]|-(?!--)", lines[stop]):
        stop += 1
    written = "" if value in (None, [], {}, "") else as_yaml({key: value}).replace("\n", end)
    text = "".join([*lines[:begin], written, *lines[stop:]])
    return card[: head.start("lines")] + text + card[head.end("lines") :]


def as_yaml(value: Any) -> str:
    """Writes a value as YAML that reads back as the same: on lines of its own, keys in their order, text as it is."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Escapes the characters that YAML takes for ends of lines, which would come back as spaces."""

        def represent_text(self, text: str) -> yaml.ScalarNode:
            style = '"' if _OTHER_LINE_BREAKS.search(text) else None
            return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, Dumper.represent_text)
    return str(yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=10_000))


def texts(value: object) -> list[str]:
    """Turns an entry of a head, one value or a list, into texts; nothing becomes an empty list.

    What is neither text nor number becomes the name of its type: through YAML's aliases a few lines can stand for
    lists that would fill the memory as text.
    """
    items = value if isinstance(value, list) else [value]
    return [str(item) if isinstance(item, (str, int, float)) else type(item).__name__ for item in items if item]


def class_names(folder: str | os.PathLike[str], column: str, split: str) -> list[str]:
    """Reads from a data folder's card how its classes 0, 1, … are called; empty if it does not say.

    Raises:
        InputError: If the card is damaged.
    """
    information = read_head(folder).get("dataset_info")
    # A split of a configuration is called e.g. `mr.train`.
    configuration = split.rpartition(".")[0]
    items = [item for item in (information if isinstance(information, list) else [information]) if item]
    named = [item for item in items if isinstance(item, dict) and item.get("config_name") == configuration]
    for item in named or items:
        features = item.get("features") if isinstance(item, dict) else None
        for feature in features if isinstance(features, list) else []:
            kind = feature.get("dtype") if isinstance(feature, dict) and feature.get("name") == column else None
            label = kind.get("class_label") if isinstance(kind, dict) else None
            names = label.get("names") if isinstance(label, dict) else None
            if isinstance(names, dict) and sorted(map(str, names)) == sorted(map(str, range(len(names)))):
                return [str(names[key]) for key in sorted(names, key=lambda key: int(key))]
            if isinstance(names, list):
                return [str(name) for name in names]
    return []
