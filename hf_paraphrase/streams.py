"""Pipes among the inputs of a verb: `<(…)`, /dev/stdin, named pipes.

An input may be read more than once and is hashed for the record, so that every recipe copies pipes to temporary files.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from .errors import InputError, UsageError
from .messages import STREAM_COPIES, log, process_count
from .objects import as_folders


@contextmanager
def copied_streams(settings: Any, names: Iterable[str]) -> Iterator[None]:
    """Replaces pipes in these fields, also in a list and as `NAME=PIPE`, by copies that exist while the block runs.

    Objects of Python are written to folders, see :mod:`.objects`.
    """
    copies: dict[str, str] = {}
    with ExitStack() as stack:
        for field in names:
            setattr(settings, field, as_folders(getattr(settings, field), field, stack))

        def copied(value: Any) -> Any:
            if isinstance(value, list | tuple):
                return [copied(item) for item in value]
            if not isinstance(value, str | os.PathLike):
                return value
            whole = os.fspath(value)
            for prefix, path in (("", whole), whole.partition("=")[::2]):
                if is_stream(path):
                    if path not in copies:
                        copies[path] = _copy(path, stack.enter_context(tempfile.TemporaryDirectory()))
                    return f"{prefix}={copies[path]}" if prefix else copies[path]
            return value

        for field in names:
            setattr(settings, field, copied(getattr(settings, field)))
        yield


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Tells whether a path is a pipe, a socket, a device or standard input, which can be read only once."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except (OSError, ValueError):
        return False
    is_file = stat.S_ISREG(mode) and not os.fspath(path).startswith(("/dev/stdin", "/dev/fd/"))
    return not is_file and not stat.S_ISDIR(mode) and os.fspath(path) != os.devnull


def _copy(path: str, folder: str) -> str:
    if process_count() > 1:
        raise UsageError(
            "a pipe, of which each process would read a part", path=path, remedy="write it to a file first"
        )
    copy = str(Path(folder) / path.rpartition("/")[2])
    STREAM_COPIES[copy] = path
    log(f"{path} is copied to a temporary file first")
    # A socket cannot be opened by its name.
    with open(copy, "wb") as target, open(os.dup(0) if path == "/dev/stdin" else path, "rb") as source:  # noqa: PTH123
        if stat.S_ISCHR(os.fstat(source.fileno()).st_mode) and not source.isatty():
            raise InputError("a device, which has no end", path=path, remedy="give a file or a pipe")
        shutil.copyfileobj(source, target, 1 << 20)
    return copy
