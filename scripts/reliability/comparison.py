"""What differs between two outputs, apart from times."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

_TIMES = re.compile(r"seconds|runtime|per_second|duration|elapsed|interruptions|total_flos|peak_memory")
_TIMES_OF_CARDS = re.compile(r"\d[\d,.]* (?:s|seconds|minutes|sentences a second)\b")


def differences(expected: Path, found: Path) -> list[str]:
    """Names the files of two outputs, files or folders, that are not the same.

    Files are compared byte for byte, without times in JSON, tables and cards, and the interruptions of a run.
    """
    left, right = contents(expected), contents(found)
    changed = sorted(name for name in {*left, *right} if left.get(name) != right.get(name))
    both = left.keys() & right.keys()
    return [
        name for name in changed if name not in both or _timeless(name, left[name]) != _timeless(name, right[name])
    ]


def contents(path: Path) -> dict[str, bytes]:
    """Reads a file or all files of a folder, by their names in it."""
    if path.is_file():
        return {path.suffix: path.read_bytes()}
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def left_over(folder: Path, *outputs: Path) -> list[str]:
    """Names what a run left in its folder beside its output: all but the empty files of locks."""
    names = {output.name for output in outputs}
    return sorted(
        entry.name
        for entry in folder.iterdir()
        if entry.name not in names and (entry.is_dir() or entry.stat().st_size > 0)
    )


def _timeless(name: str, content: bytes) -> bytes | str:
    try:
        if name.endswith((".json", ".jsonl")):
            values = [json.loads(line) for line in (content.splitlines() if name.endswith("l") else [content])]
            return json.dumps(_untimed(values), sort_keys=True)
        if name.endswith(".csv"):
            return json.dumps(_untimed(list(csv.DictReader(io.StringIO(content.decode())))))
        if name.endswith(".md"):
            return _TIMES_OF_CARDS.sub("TIME", content.decode())
    except ValueError:
        # A damaged file is compared as it is.
        return content
    return content


def _untimed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _untimed(item) for name, item in value.items() if not _TIMES.search(name)}
    return [_untimed(item) for item in value] if isinstance(value, list) else value
