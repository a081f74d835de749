"""Inputs that are copied to temporary files first, to be read repeatedly: pipes, and objects in place of folders."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from .errors import InputError, UsageError
from .messages import INPUT_COPIES, log, process_count


@contextmanager
def copied_inputs(settings: Any, names: Iterable[str]) -> Iterator[None]:
    """Replaces pipes and objects in these fields, also in a list, by copies that exist while the block runs."""
    with ExitStack() as stack:
        for name in names:
            setattr(settings, name, _copied(getattr(settings, name), name, stack))
        yield


def _copied(value: Any, field: str, stack: ExitStack) -> Any:
    is_rows = isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)
    if isinstance(value, list | tuple) and not is_rows:
        is_text = all(isinstance(item, str | os.PathLike) for item in value)
        return [_copied(item, field if is_text else f"{field}{index}", stack) for index, item in enumerate(value)]
    if isinstance(value, str | os.PathLike):
        whole = os.fspath(value)
        for prefix, path in (("", whole), whole.partition("=")[::2]):
            if is_stream(path):
                return f"{prefix}={_copy_of_stream(path, stack)}" if prefix else _copy_of_stream(path, stack)
        return value
    is_splits = isinstance(value, Mapping) and all(hasattr(item, "to_parquet") for item in value.values())
    if not (is_rows or is_splits or hasattr(value, "to_parquet") or hasattr(value, "save_pretrained")):
        return value
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hf_paraphrase_"))) / field
    _write_object(value, folder)
    INPUT_COPIES[str(folder)] = f"{'Dataset' if is_rows else type(value).__name__} ({field})"
    return str(folder)


def _write_object(value: Any, folder: Path) -> None:
    if hasattr(value, "save_pretrained"):
        value.save_pretrained(folder)
        return
    if isinstance(value, list):
        from datasets import Dataset

        value = Dataset.from_list([dict(row) for row in value])
    (folder / "data").mkdir(parents=True)
    for split, rows in (value if isinstance(value, Mapping) else {"train": value}).items():
        rows.to_parquet(str(folder / "data" / f"{split}-00000-of-00001.parquet"))


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Returns whether a path is a pipe, a socket, a device or standard input, which can be read only once."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except (OSError, ValueError):
        return False
    is_file = stat.S_ISREG(mode) and not os.fspath(path).startswith(("/dev/stdin", "/dev/fd/"))
    return not is_file and not stat.S_ISDIR(mode) and os.fspath(path) != os.devnull


def _copy_of_stream(path: str, stack: ExitStack) -> str:
    if known := [copy for copy, name in INPUT_COPIES.items() if name == path and Path(copy).exists()]:
        return known[0]
    if process_count() > 1:
        raise UsageError("a pipe, and each process would read a part", path=path, remedy="write it to a file first")
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="hf_paraphrase_"))
    copy = str(Path(folder) / path.rpartition("/")[2])
    INPUT_COPIES[copy] = path
    log(f"{path} is copied to a temporary file first")
    # A socket cannot be opened by its name.
    with open(copy, "wb") as target, open(os.dup(0) if path == "/dev/stdin" else path, "rb") as source:  # noqa: PTH123
        if stat.S_ISCHR(os.fstat(source.fileno()).st_mode) and not source.isatty():
            raise InputError("a device, which has no end", path=path, remedy="give a file or a pipe")
        shutil.copyfileobj(source, target, 1 << 20)
    return copy
