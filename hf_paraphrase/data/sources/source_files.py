"""Finds the raw files of a source below a folder by their names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...errors import InputError, UsageError, no_folder
from ..text_blocks import COMPRESSED


class NothingThereError(InputError):
    """Not one of the files of a set is below a folder."""


def source_folder(data_dir: str | None) -> Path:
    """Returns the folder that was given."""
    if data_dir is None:
        raise UsageError("no --data-dir", remedy="give the folder with the raw files")
    folder = Path(data_dir)
    if not folder.is_dir():
        raise no_folder(folder, "give the folder with the raw files")
    return folder


def find_files(data_dir: str | None, names: Mapping[str, str]) -> dict[str, Path]:
    """Finds files by their names, plain or compressed, at any depth.

    Args:
        data_dir: The folder.
        names: For each key the file's name without the suffix of a compression; capitals do not matter.

    Returns:
        The files that are there, in the order of `names`.
    """
    folder = source_folder(data_dir)
    wanted = {f"{name}{end}".lower(): key for key, name in names.items() for end in ("", *COMPRESSED)}
    paths: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        key = wanted.get(path.name.lower())
        if key is None or not path.is_file() or any(part.startswith(".") for part in inner.parts):
            continue
        if key in paths:
            raise InputError(
                f"{path.name} occurs twice, also as {paths[key]}", path=path, remedy="give a folder with one copy"
            )
        paths[key] = path
    if not paths:
        raise NothingThereError(
            "none of the files of this set is below this folder",
            path=folder,
            remedy=f"expected {', '.join(names.values())}",
        )
    return {key: paths[key] for key in names if key in paths}
