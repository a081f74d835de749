"""Pipes among the inputs of a verb: `<(…)`, /dev/stdin, named pipes, which give what they hold only once.

An input may be read more than once and is hashed for the record. So every recipe copies the pipes that its settings
name to temporary files first, and works on these. Errors, messages and records name them as the user did.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from .errors import InputError, UsageError
from .messages import STREAM_COPIES, log, process_count


@contextmanager
def copied_streams(settings: Any, names: Iterable[str]) -> Iterator[None]:
    """Has the fields of these names name copies of the pipes in them, also in a list and as `NAME=PIPE`, in the block.

    Raises:
        InputError: If a pipe cannot be read, or is a device that has no end.
        UsageError: If several processes were started, each of which would get a part.
    """
    with ExitStack() as stack:
        copies: dict[str, str] = {}

        def copied(text: Any) -> Any:
            if isinstance(text, list):
                return [copied(item) for item in text]
            if not isinstance(text, str | os.PathLike):
                return text
            name, equals, path = os.fspath(text).partition("=")
            if equals and _is_stream(path):
                return f"{name}={copied(path)}"
            path = os.fspath(text)
            if path not in copies and _is_stream(path):
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="hf_paraphrase_"))
                copies[path] = str(Path(folder) / path.rpartition("/")[2])
                STREAM_COPIES[copies[path]] = path
                _copy(path, Path(copies[path]))
            return copies.get(path, text)

        given = {name: getattr(settings, name) for name in names}
        for name, value in given.items():
            if (put := copied(value)) != value:
                setattr(settings, name, put)
                stack.callback(setattr, settings, name, value)
        yield


def is_stream_copy(path: str | os.PathLike[str]) -> bool:
    """Tells whether a file is the copy of a pipe, beside which nothing can be written."""
    return os.fspath(path) in STREAM_COPIES


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


def _is_stream(path: str) -> bool:
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return False
    # Elsewhere than on Linux /dev/stdin goes on where its last reader was, whatever it is.
    is_file = stat.S_ISREG(mode) and path != "/dev/stdin" and not path.startswith("/dev/fd/")
    return not is_file and not stat.S_ISDIR(mode) and path != os.devnull


def _copy(path: str, copy: Path) -> None:
    if process_count() > 1:
        raise UsageError(
            "a pipe, of which each process would read a part", path=path, remedy="write it to a file first"
        )
    log(f"{path} is copied to a temporary file first")
    with copy.open("wb") as target, _opened(path) as source:
        if stat.S_ISCHR(os.fstat(source.fileno()).st_mode) and not source.isatty():
            raise InputError("a device, which has no end", path=path, remedy="give a file or a pipe")
        shutil.copyfileobj(source, target, 1 << 20)


def _opened(path: str) -> BinaryIO:
    try:
        # A socket cannot be opened by its name.
        return os.fdopen(os.dup(0), "rb") if path == "/dev/stdin" else Path(path).open("rb")
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}", path=path) from error
