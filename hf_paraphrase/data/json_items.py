"""Reads a file that is one JSON list of objects, item by item, with the line on which each begins."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import InputError
from .text_files import LineErrors, read_blocks

LONGEST_LIST_BYTES = 1 << 30
"""A compressed file of a few megabytes can become any number of them."""
_SPACE = re.compile(r"[ \t\r\n]*")


def read_json_items(path: Path, errors: LineErrors) -> Iterator[tuple[int, dict[str, Any]]]:
    """Streams the objects of a JSON list; the text is held in memory, the objects are not.

    Args:
        path: The file, plain or compressed.
        errors: What to do about an item that is not an object, or whose texts cannot be written as UTF-8.

    Yields:
        The line on which the item begins, from 1, and the item.

    Raises:
        InputError: If the file is missing, empty, not UTF-8, or not a JSON list; that cannot be skipped, for where
            the next item begins is not known.
    """
    try:
        text = b"".join(_bounded(path)).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise InputError("not UTF-8", path=path, line=line, remedy="convert it to UTF-8") from error
    decoder = json.JSONDecoder()
    position, line = _skip(text, 0), 1
    if position == len(text):
        raise InputError("the file is empty", path=path, remedy="give a JSON list")
    if text[position] != "[":
        raise InputError("not a JSON list", path=path, line=1, remedy="expected `[` at the beginning")
    line += text.count("\n", 0, position)
    separator = "["
    while True:
        start = _skip(text, position + 1)
        line += text.count("\n", position, start)
        if text[start : start + 1] == "]" and separator == "[":
            position = start
            break
        try:
            item, end = decoder.raw_decode(text, start)
        except (json.JSONDecodeError, RecursionError) as error:
            raise InputError(f"not JSON: {_reason(error)}", path=path, line=_line(error, line)) from error
        if not isinstance(item, dict):
            errors.meet("an item that is not an object", path, line, "mend the item")
        elif not _encodable(item):
            errors.meet("half of a surrogate pair, which is no character", path, line, "mend the item")
        else:
            yield line, item
        position = _skip(text, end)
        line += text.count("\n", start, position)
        separator = text[position : position + 1]
        if separator == "]":
            break
        if separator != ",":
            raise InputError(
                "not JSON: `,` or `]` expected after an item", path=path, line=line, remedy="mend the list"
            )
    if _skip(text, position + 1) != len(text):
        raise InputError("something follows the JSON list", path=path, line=line, remedy="remove it")


def _bounded(path: Path) -> Iterator[bytes]:
    size = 0
    for block in read_blocks(path):
        size += len(block)
        if size > LONGEST_LIST_BYTES:
            raise InputError(
                f"a JSON list of more than {LONGEST_LIST_BYTES >> 20} MiB",
                path=path,
                remedy="it is held in memory: split it",
            )
        yield block


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _reason(error: json.JSONDecodeError | RecursionError) -> str:
    return error.msg if isinstance(error, json.JSONDecodeError) else "lists in lists without end"


def _line(error: json.JSONDecodeError | RecursionError, line: int) -> int:
    return error.lineno if isinstance(error, json.JSONDecodeError) else line


def _encodable(value: Any) -> bool:
    """Tells whether all texts in a JSON value can be written as UTF-8; an escape such as backslash ud800 cannot."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
