"""Files that appear whole or not at all, in folders in which others may have put what they like.

Everything is written to a temporary file in the same folder and renamed at the end. The temporary file is always a new
one: it is made with a name that nobody can foresee, and never through a link that lies there. What a killed run has
left of it is removed by the next one that writes the same file.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ..errors import OutputError
from .claims import NOT_THROUGH_LINKS, claimed_file, is_at, is_locked

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | NOT_THROUGH_LINKS
_LONGEST_PAUSE = 3600.0
"""Seconds: where there are no locks, what was written to since then may be the work of another run."""
_CANNOT_BE_HELD = os.name == "nt"
"""Windows renames and removes no file that is open."""
_ENDING = ".partial"
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{16}\.partial", re.DOTALL)
_BEHIND = len("0123456789abcdef.partial")
_LONGEST_NAME = 200
"""In bytes, of the output's name in that of its temporary file; a name of a file may have 255."""


def check_output_file(output: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Refuses a file to write that would destroy something; returns it as a path.

    Who made a file cannot be told from its content, as it can of a folder: `overwrite` replaces any plain file, and
    nothing else.

    Raises:
        OutputError: If it is a folder, a link, a device, pipe or socket, or exists and `overwrite` is false.
    """
    path = Path(output)
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return path
    except OSError as error:
        raise OutputError(f"cannot write: {error.strerror}", path=output) from error
    if stat.S_ISDIR(mode) or (stat.S_ISLNK(mode) and path.is_dir()):
        raise OutputError("the output is a folder, not a file", path=output, remedy="name a file")
    if stat.S_ISLNK(mode):
        raise OutputError("the output is a link", path=output, remedy="name the file itself")
    if not stat.S_ISREG(mode):
        raise OutputError("the output is a device, pipe or socket, not a file", path=output, remedy="name a file")
    if not overwrite:
        raise OutputError("the output file exists", path=output, remedy="give another name, or --overwrite")
    return path


@contextmanager
def output_file(output: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[Path]:
    """Keeps other runs from a file that a verb makes, from before its long work to the end of the block.

    The block writes it by :func:`written_whole`.

    Args:
        output: The file.
        overwrite: Whether an existing one may be replaced.

    Yields:
        The file as a path.

    Raises:
        OutputError: If the output is in the way or cannot be written, or another run is at work on it.
    """
    path = check_output_file(output, overwrite=overwrite)
    with claimed_file(path):
        # A run that has ended since the first look may have left its output.
        yield check_output_file(path, overwrite=overwrite)


@contextmanager
def output_files(*outputs: str | os.PathLike[str] | None, overwrite: bool = False) -> Iterator[None]:
    """Keeps other runs from several files as :func:`output_file` does from one; None is for one that is not made."""
    with ExitStack() as stack:
        for output in outputs:
            if output is not None:
                stack.enter_context(output_file(output, overwrite=overwrite))
        yield


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Gives a temporary file to write, which takes its place at `path` when the block ends without an error.

    A link at `path` is replaced, not followed.

    Args:
        path: The file that shall appear, whole.

    Yields:
        The temporary file, empty, in the same folder. After an error it is removed.

    Raises:
        OutputError: If the block or the renaming raises an error of the system, as of a full disk.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers_of(path)
        temporary, descriptor = _new_file(path)
        try:
            yield temporary
            temporary.replace(path)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            if not _CANNOT_BE_HELD:
                os.close(descriptor)
    except OSError as error:
        raise OutputError(f"cannot write: {error.strerror or error}", path=path) from error


def write_parts_whole(path: str | os.PathLike[str], parts: Iterable[str]) -> None:
    """Writes a UTF-8 text file from parts, of which one at a time is in memory; it is never seen half written.

    Raises:
        OutputError: If it cannot be written.
    """
    with written_whole(path) as temporary, temporary.open("w", encoding="utf-8", errors="backslashreplace") as stream:
        stream.writelines(parts)


def write_text_whole(path: str | os.PathLike[str], text: str) -> None:
    """Writes a UTF-8 text file by way of a temporary file, so that it is never seen half written.

    Raises:
        OutputError: If it cannot be written.
    """
    write_parts_whole(path, [text])


def _new_file(path: Path) -> tuple[Path, int]:
    """Makes a temporary file for `path`, and holds it as long as the descriptor is open."""
    while True:
        temporary = path.with_name(f".{_shortened(path.name)}.{os.urandom(8).hex()}.partial")
        descriptor = os.open(temporary, _NEW, 0o666)
        # Between the two, another run may have taken it for a leftover.
        mine = not is_locked(descriptor) and is_at(descriptor, temporary)
        if _CANNOT_BE_HELD or not mine:
            os.close(descriptor)
        if mine:
            return temporary, descriptor


def remove_leftovers(folder: Path) -> None:
    """Removes the temporary files that killed runs have left anywhere below a folder of ours, links not followed."""
    for place, _, files in os.walk(folder):
        _remove_unless_held(Path(place, name) for name in files if name.startswith(".") and name.endswith(_ENDING))


def _remove_leftovers_of(path: Path) -> None:
    """Removes the temporary files of earlier runs for `path`."""
    start = f".{_shortened(path.name)}."
    with os.scandir(path.parent) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(start) and _TEMPORARY.fullmatch(entry.name)]
    leftovers = [path.with_name(name) for name in names if len(name) == len(start) + _BEHIND]
    _remove_unless_held(leftovers, old_enough=_LONGEST_PAUSE)


def _remove_unless_held(leftovers: Iterable[Path], *, old_enough: float = 0.0) -> None:
    """Removes files that nobody holds; where nobody can, those that nobody has written to for so many seconds."""
    for leftover in leftovers:
        with suppress(OSError):
            descriptor = os.open(leftover, os.O_RDONLY | NOT_THROUGH_LINKS)
            try:
                found = os.fstat(descriptor)
                held = is_locked(descriptor)
                is_old = held is not None or time.time() - found.st_mtime >= old_enough
                if stat.S_ISREG(found.st_mode) and is_old and not held:
                    leftover.unlink()
            finally:
                os.close(descriptor)


def _shortened(name: str) -> str:
    """Cuts a name that would be too long with what is put around it."""
    return os.fsdecode(os.fsencode(name)[:_LONGEST_NAME])
