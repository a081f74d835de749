"""What is the same in two outputs, and whether what must not change has changed.

Files are compared byte for byte. Of JSON and tables, what says when and how fast something was done is left out, and
the list of interruptions of a run that was resumed; in a card, times.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

_TIMES = re.compile(r"seconds|runtime|per_second|duration|elapsed|interruptions|total_flos|peak_memory")
_TIMES_OF_CARDS = re.compile(r"\d[\d,.]* (?:s|seconds|minutes|sentences a second)\b")

State = dict[str, tuple[Any, ...]]
"""Of each path what the file system says."""


def differences(expected: Path, found: Path) -> list[str]:
    """Names the files of two outputs, files or folders, that are not the same.

    Args:
        expected: The output of an undisturbed run.
        found: The other.
    """
    left, right = dict(_files(expected)), dict(_files(found))
    names = sorted({*left, *right})
    return [name for name in names if name not in left or name not in right or _text(left[name]) != _text(right[name])]


def _files(path: Path) -> Iterator[tuple[str, Path]]:
    if not path.is_dir():
        if path.exists():
            yield ".", path
        return
    for place, _, names in os.walk(path):
        for name in names:
            whole = Path(place, name)
            yield whole.relative_to(path).as_posix(), whole


def _text(path: Path) -> bytes:
    content = path.read_bytes()
    try:
        return _timeless(path, content)
    except ValueError:
        # A file that is damaged is compared as it is.
        return content


def _timeless(path: Path, content: bytes) -> bytes:
    if path.suffix == ".json":
        return json.dumps(_untimed(json.loads(content)), sort_keys=True).encode()
    if path.suffix == ".jsonl":
        return json.dumps([_untimed(json.loads(line)) for line in content.split(b"\n")[:-1]], sort_keys=True).encode()
    if path.suffix == ".csv":
        return json.dumps([_untimed(row) for row in csv.DictReader(io.StringIO(content.decode()))]).encode()
    if path.suffix == ".md":
        return _TIMES_OF_CARDS.sub("TIME", content.decode()).encode()
    return content


def _untimed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _untimed(item) for name, item in value.items() if not _TIMES.search(name)}
    return [_untimed(item) for item in value] if isinstance(value, list) else value


def state_of(paths: Iterable[Path]) -> State:
    """Describes all that lies below some folders, without following links, by what no program can set at will.

    The time of the last change of an entry (not that of its content, which may be set) tells of every change.
    """
    state: State = {}
    for folder in paths:
        for place, folders, names in os.walk(folder):
            for name in [*folders, *names]:
                path = f"{place}{os.sep}{name}"
                found = os.lstat(path)
                times = 0 if stat.S_ISDIR(found.st_mode) else found.st_ctime_ns
                state[path] = found.st_mode, found.st_ino, found.st_size * (times != 0), times
    return state


def changed(before: State, after: State) -> list[str]:
    """Names the paths that appeared, went or changed."""
    return sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
