"""Streams among the inputs of a verb: pipes, `<(…)`, /dev/stdin and /dev/fd/N, which give what they hold only once.

A corpus is looked at before the work, read, perhaps read again, and hashed for the record. A pipe would give each of
these readers a part of it, and none of them would notice. So every recipe reads the streams that its settings name to
their end first, into a private temporary folder, and works on these copies: what is hashed is what was read. Errors,
messages and records call the copies as the user called the streams (:func:`hf_paraphrase.shown_text.as_given`).
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import InputError, OutputError, UsageError
from .messages import log, process_count
from .shown_text import STREAMS, as_given

_DESCRIPTOR = re.compile(r"(?:/dev|/proc/self)/fd/(\d{1,9})")


@contextmanager
def streams_kept(settings: Any, names: Iterable[str]) -> Iterator[None]:
    """Puts copies in the places of the streams that settings name, until the block ends.

    Of every text in the fields, also in a list and as `NAME=FILE`, it is asked whether it is the name of a stream. A
    stream that is named twice is one copy.

    Args:
        settings: The dataclass; its fields hold the names of the copies within the block.
        names: The fields that may name an input.

    Raises:
        InputError: If a stream cannot be read, or is a device that has no end.
        OutputError: If there is no place for a copy.
        UsageError: If several processes were started, each of which would get a part.
    """
    streams = _Streams()
    given = {}
    try:
        for name in names:
            value = getattr(settings, name)
            put = [streams.replaced(item) for item in value] if isinstance(value, list) else streams.replaced(value)
            if put != value:
                given[name] = put, value
                setattr(settings, name, put)
        yield
    finally:
        for name, (put, value) in given.items():
            if getattr(settings, name) == put:
                setattr(settings, name, value)
        streams.remove()


def is_stream_copy(path: str | os.PathLike[str]) -> bool:
    """Tells whether a file is the copy of a stream, beside which nothing can be written."""
    return as_given(os.fspath(path)) != os.fspath(path)


def check_not_stream(path: Path) -> None:
    """Refuses what can be read only once, for readers that do not know whether theirs is the only one.

    Raises:
        InputError: If the file is a pipe, a socket or a device, but for the empty one.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # which whoever opens it explains
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode) and os.fspath(path) != os.devnull:
        raise InputError("not a plain file but a pipe or device", path=path, remedy="write it to a file first")


class _Streams:
    """The copies of streams, each made when it is first asked for."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._copies: dict[tuple[int, int], str] = {}

    def replaced(self, value: Any) -> Any:
        """Returns the name of the copy for the name of a stream, and anything else as it is."""
        if not isinstance(value, str | os.PathLike) or not (text := os.fspath(value)) or not isinstance(text, str):
            return value
        copy = self._copy(text)
        if copy is None and "=" in text:
            name, _, path = text.partition("=")
            copy = self._copy(path)
            copy = copy and f"{name}={copy}"
        return value if copy is None else copy

    def _copy(self, path: str) -> str | None:
        """Returns the name of the copy of a stream; None for what is no stream."""
        descriptor = _descriptor(path)
        try:
            status = Path(path).stat() if descriptor is None else os.fstat(descriptor)
        except (OSError, ValueError):
            return None
        if (stat.S_ISREG(status.st_mode) and descriptor is None) or stat.S_ISDIR(status.st_mode):
            return None
        if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
            if path == os.devnull:
                return None
            if not _is_terminal(path):
                raise InputError("a device, which has no end", path=path, remedy="give a file or a pipe")
        if process_count() > 1:
            raise UsageError(
                "a pipe, of which each process would read a part", path=path, remedy="write it to a file first"
            )
        key = status.st_dev, status.st_ino
        if key not in self._copies:
            self._copies[key] = self._read(path, descriptor)
        return self._copies[key]

    def _read(self, path: str, descriptor: int | None) -> str:
        """Reads a stream to its end, and returns the name of the copy."""
        log(f"{path} is read to its end first")
        try:
            self._folder = self._folder or Path(tempfile.mkdtemp(prefix=STREAMS))
            copy = self._folder / _place(path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            target = copy.open("xb")
        except OSError as error:
            raise _no_place(path, error) from error
        with target:
            for block in _blocks(path, descriptor):
                try:
                    target.write(block)
                except OSError as error:
                    raise _no_place(path, error) from error
        return str(copy)

    def remove(self) -> None:
        """Removes the copies."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _descriptor(path: str) -> int | None:
    """Returns the number of the open file that a name stands for.

    Linux opens what lies behind such a name anew, from its beginning; other systems go on where the last reader was.
    """
    if path == "/dev/stdin":
        return 0
    found = _DESCRIPTOR.fullmatch(path)
    return int(found[1]) if found else None


def _is_terminal(path: str) -> bool:
    try:
        with Path(path).open("rb", buffering=0) as stream:
            return stream.isatty()
    except OSError:
        return False


def _place(path: str) -> str:
    """Returns where below the temporary folder the copy lies, from which :func:`as_given` tells the name again."""
    if Path(path).is_absolute() or ".." in Path(path).parts:
        # Without the dots alone: to follow links would lead from /dev/fd to the number of a pipe.
        return f"absolute{os.path.abspath(path)}"  # noqa: PTH100
    return f"relative/{path}"


def _blocks(path: str, descriptor: int | None) -> Iterator[bytes]:
    try:
        number = os.open(path, os.O_RDONLY) if descriptor is None else os.dup(descriptor)
        with os.fdopen(number, "rb", buffering=0) as stream:
            while block := stream.read(1 << 20):
                yield block
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror or error}", path=path) from error


def _no_place(path: str, error: OSError) -> OutputError:
    return OutputError(
        f"no place for a copy of it in {tempfile.gettempdir()}: {error.strerror or error}",
        path=path,
        remedy="name another folder in the environment variable TMPDIR, or give a file",
    )
