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
            name, equals, path = os.fspath(value).partition("=")
            if not (equals and _is_stream(path)):
                name, equals, path = "", "", os.fspath(value)
            if path not in copies and _is_stream(path):
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="hf_paraphrase_"))
                copies[path] = _copy(path, folder)
            return f"{name}{equals}{copies[path]}" if path in copies else value

        for field in names:
            setattr(settings, field, copied(getattr(settings, field)))
        yield


def is_stream_copy(path: str | os.PathLike[str]) -> bool:
    """Tells whether a file is the copy of a pipe, beside which nothing can be written."""
    return os.fspath(path) in STREAM_COPIES


def check_not_stream(path: Path) -> None:
    """Refuses a pipe, socket or device, for readers that do not know whether theirs is the only one."""
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


def _copy(path: str, folder: str) -> str:
    if process_count() > 1:
        reason = "a pipe, of which each process would read a part"
        raise UsageError(reason, path=path, remedy="write it to a file first")
    copy = str(Path(folder) / path.rpartition("/")[2])
    STREAM_COPIES[copy] = path
    log(f"{path} is copied to a temporary file first")
    # A socket cannot be opened by its name.
    with open(copy, "wb") as target, open(os.dup(0) if path == "/dev/stdin" else path, "rb") as source:  # noqa: PTH123
        if stat.S_ISCHR(os.fstat(source.fileno()).st_mode) and not source.isatty():
            raise InputError("a device, which has no end", path=path, remedy="give a file or a pipe")
        shutil.copyfileobj(source, target, 1 << 20)
    return copy
