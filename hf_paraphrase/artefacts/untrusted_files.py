"""What may lie in an artefact's folder, whoever made it: plain files and folders, links that stay inside, small JSON.

A link to `/dev/zero` fills the memory of whoever reads it, one to a named pipe waits for ever, and one to a private
file puts its content into fingerprints, cards and error messages, or publishes it.
"""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import HfParaphraseError, InputError
from .remote_paths import RemotePath

LONGEST_JSON_BYTES = 64 << 20
"""Settings and records are a few kilobytes; a provenance file with the log of a long training is some hundred."""
LONGEST_CARD_BYTES = 16 << 20
"""Cards are some kilobytes."""
_UNPACKED_BYTES = 64 << 20
_TIMES_UNPACKED = 100
_REMEDY = "copy the files themselves into the folder, or name the folder that they lie in"


def check_plain_folder(folder: str | os.PathLike[str], error: type[HfParaphraseError] = InputError) -> None:
    """Checks everything below a folder: plain files and folders, and links that lead to such inside of it.

    Hidden entries are no exception, nor what lies in `.git` and in the `.cache` of the Hub's client: a setting may
    name them, and what is written beside a hidden link may go through it. Neither tool makes a link that leads out.

    A snapshot in the Hub's cache may link into the `blobs` beside it, which is how the cache stores files. At an
    address there are no links.

    Args:
        folder: The folder; it may be a link itself, because the user named it.
        error: What to raise.

    Raises:
        HfParaphraseError: As `error`, naming the first entry that is something else.
    """
    if isinstance(folder, RemotePath):
        return
    allowed = _places(folder)
    for path, is_plain in _entries(folder):
        if not is_plain:
            _check(path, allowed, error)


def check_plain(
    folder: str | os.PathLike[str], paths: Iterable[Path], error: type[HfParaphraseError] = InputError
) -> None:
    """Checks some entries of a folder as :func:`check_plain_folder` checks all.

    Raises:
        HfParaphraseError: As `error`, naming the first entry that is neither a plain file nor a folder, leads outside
            or leads nowhere.
    """
    allowed = _places(folder)
    for path in paths:
        _check(path, allowed, error)


def check_no_links(folder: str | os.PathLike[str], error: type[HfParaphraseError] = InputError) -> None:
    """Checks that everything below a folder is a plain file or folder, and nothing is a link.

    Raises:
        HfParaphraseError: As `error`, naming the first entry that is something else.
    """
    for path, is_plain in _entries(folder):
        if not is_plain:
            what = "a link" if path.is_symlink() else "neither a file nor a folder, but a device, pipe or socket"
            raise error(what, path=path, remedy="remove it")


def _check(path: Path, allowed: list[Path], error: type[HfParaphraseError]) -> None:
    target = Path(os.path.realpath(path))
    try:
        mode = target.stat().st_mode
    except OSError as reason:
        text = "a link that leads nowhere" if path.is_symlink() else f"cannot be read: {reason.strerror}"
        raise error(text, path=path, remedy=_REMEDY) from reason
    if not any(target.is_relative_to(place) for place in allowed):
        raise error("a link that leads out of its folder", path=path, remedy=_REMEDY)
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise error("neither a file nor a folder, but a device, pipe or socket", path=path, remedy=_REMEDY)


def open_plain(path: Path, error: type[HfParaphraseError] = InputError) -> BinaryIO:
    """Opens a plain file for reading; never waits and never reads a device.

    Raises:
        HfParaphraseError: As `error`, if the file is missing, not plain or unreadable.
    """
    if isinstance(path, RemotePath):
        return path.open()
    try:
        # Without this flag, opening a named pipe waits for someone to write to it.
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as reason:
        raise error(f"cannot read: {reason.strerror or reason}", path=path) from reason
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise error("not a plain file", path=path, remedy=_REMEDY)
    return os.fdopen(number, "rb")


def most_unpacked(size: int) -> int:
    """Returns how many bytes a packed file of `size` bytes, gzip or Parquet, may become.

    Text becomes 3 to 20 times as long. What becomes a thousand times as long was packed to fill somebody's memory.
    """
    return max(_UNPACKED_BYTES, _TIMES_UNPACKED * size)


def read_bounded(path: Path, limit: int, error: type[HfParaphraseError] = InputError) -> bytes:
    """Reads a plain file that must not be longer than `limit` bytes.

    Raises:
        HfParaphraseError: As `error`, if the file is missing, not plain, unreadable or longer.
    """
    with open_plain(path, error) as stream:
        try:
            # The room for it is made at once.
            content = stream.read(min(limit, path.stat().st_size) + 1)
        except OSError as reason:
            raise error(f"cannot read: {reason.strerror or reason}", path=path) from reason
    if len(content) > limit:
        raise error(f"longer than {limit >> 20} MiB, which no file of this kind is", path=path)
    return content


def read_json_object(
    path: Path, error: type[HfParaphraseError] = InputError, *, no_repeats: bool = False
) -> dict[str, Any]:
    """Reads a file that is one JSON object.

    Args:
        path: The file.
        error: What to raise.
        no_repeats: Refuse an object that has a key twice, of which other readers may take another one.

    Raises:
        HfParaphraseError: As `error`, if the file is missing, not plain, too long, not UTF-8, not JSON, nested without
            end, or something else than an object.
    """
    content = read_bounded(path, LONGEST_JSON_BYTES, error)
    remedy = "copy or make it again"
    try:
        value = json.loads(content.decode("utf-8"), object_pairs_hook=_without_repeats if no_repeats else None)
    except RecursionError as reason:
        raise error("damaged: lists in lists without end", path=path, remedy=remedy) from reason
    except ValueError as reason:  # both not UTF-8 and not JSON
        raise error(f"{path.name} is damaged: {reason}", path=path, remedy=remedy) from reason
    if not isinstance(value, dict):
        raise error(f"{path.name} is damaged: not a JSON object but {_kind(value)}", path=path, remedy=remedy)
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise ValueError(f"`{counts.most_common(1)[0][0][:80]}` is there twice")
    return found


def _entries(folder: str | os.PathLike[str]) -> Iterator[tuple[Path, bool]]:
    """Yields everything below a folder, by name, and whether it is a plain file or folder; no link is followed."""
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted([*folders, *files]):
            path = Path(place, name)
            try:
                mode = path.lstat().st_mode
            except OSError:
                continue  # gone since
            yield path, stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _places(folder: str | os.PathLike[str]) -> list[Path]:
    """Lists the folders to which links may lead."""
    real = Path(os.path.realpath(folder))
    for parent in real.parents:
        if parent.name == "snapshots" and parent.parent.name.startswith(("models--", "datasets--", "spaces--")):
            # Not where `blobs` itself may lead to.
            return [real, parent.parent / "blobs"]
    return [real]


def _kind(value: object) -> str:
    kinds = {list: "a list", str: "a text", bool: "a truth value", int: "a number", float: "a number"}
    return kinds.get(type(value), "null")
