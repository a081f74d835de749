"""Reads the files of artefacts: bytes, JSON and NumPy arrays, with errors of one line that name the file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import HfParaphraseError, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_REMEDY = "copy or re-create it"


def read_bytes(path: Path, error: type[HfParaphraseError] = InputError) -> bytes:
    """Reads a file, at a path or a URL; raises `error` if it cannot be read."""
    try:
        with path.open("rb") as stream:
            return stream.read()
    except OSError as reason:
        raise error(f"cannot read: {reason.strerror or reason}", path=path) from reason


def read_json(path: Path, error: type[HfParaphraseError] = InputError) -> Any:
    """Reads a JSON file; raises `error` if it is missing, unreadable, or not JSON in UTF-8."""
    content = read_bytes(path, error)
    try:
        return json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as reason:
        raise error(f"{path.name} is damaged: {reason}", path=path, remedy=_REMEDY) from reason


def read_json_object(path: Path, error: type[HfParaphraseError] = InputError) -> dict[str, Any]:
    """Reads a JSON file as :func:`read_json` does; raises `error` if it is not an object."""
    value = read_json(path, error)
    if not isinstance(value, dict):
        raise error(f"{path.name} is damaged: not a JSON object", path=path, remedy=_REMEDY)
    return value


def open_array(path: Path, error: type[HfParaphraseError] = InputError) -> NDArray[Any]:
    """Maps a .npy file into memory; raises `error` if it is missing, damaged, cut off, or a pickle."""
    import numpy as np

    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as reason:
        raise error(f"cannot read: {reason.strerror or reason}", path=path) from reason
    except Exception as reason:  # the header is parsed as Python, with whatever errors that may give
        raise error("not a readable NumPy file", path=path, remedy=_REMEDY) from reason
    if not isinstance(array, np.ndarray):
        raise error("not one array but an archive of several", path=path, remedy=_REMEDY)
    return array


def check_no_links(folder: str | os.PathLike[str], error: type[HfParaphraseError] = InputError) -> None:
    """Raises `error` if something below a folder that is written to is a link to elsewhere."""
    for path in sorted(Path(folder).rglob("*")):
        if path.is_symlink():
            raise error("a link", path=path, remedy="remove it")
