"""Graded evaluation sets as sources: what the builders of STS, SICK, PIT-2015 and the STS benchmark share."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from ...errors import InputError
from ..text_files import LineErrors
from .graded_files import GradedFile, recognise_graded_file
from .source import LineErrorSettings, Part, Source
from .source_files import NothingThereError, source_folder

_CANONICAL = {"dev": "validation", "trial": "validation"}


def files_below(root: Path) -> Iterator[Path]:
    """Lists all files below a folder in a fixed order, hidden folders left out."""
    for directory, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(directory) / name for name in sorted(files))


@dataclass(kw_only=True)
class GradedSource(Source, LineErrorSettings):
    """What graded sets share: each has a folder below which its files are."""

    FAMILY: ClassVar[str] = ""
    EXPECTED: ClassVar[tuple[str, ...]] = ()

    data_dir: str

    def parts(self) -> list[Part]:
        """Lists the splits that are there."""
        graded_by_split: dict[str, GradedFile] = {}
        for graded in self.graded_files():
            if graded.read is None:
                continue
            split = _CANONICAL.get(graded.name, graded.name)
            if split in graded_by_split:
                raise InputError(
                    f"{graded.path.name} occurs twice, also as {graded_by_split[split].path}",
                    path=graded.path,
                    remedy="give a folder with one copy",
                )
            graded_by_split[split] = graded
        self._require(bool(graded_by_split))
        ordered = [split for split in ("train", "validation", "test") if split in graded_by_split]
        return [
            Part(
                split, graded_by_split[split].schema, (_Reader(graded_by_split[split]),), graded_by_split[split].files
            )
            for split in ordered
        ]

    def missing(self) -> list[str]:
        """Names the splits that are not there."""
        present = {part.split for part in self.parts()}
        return [split for split in self.EXPECTED if split not in present]

    def graded_files(self) -> list[GradedFile]:
        """Lists the files of this benchmark."""
        files = map(recognise_graded_file, files_below(source_folder(self.data_dir)))
        return [graded for graded in files if graded is not None and graded.family.startswith(self.FAMILY)]

    def _require(self, found: bool) -> None:
        if not found:
            where = next(field.metadata["help"] for field in fields(self) if field.name == "data_dir")
            raise NothingThereError(
                f"no file of {self.TITLE} is below this folder", path=self.data_dir, remedy=f"--data-dir is {where}"
            )


@dataclass(frozen=True)
class _Reader:
    """Reads one graded file as a part does."""

    graded: GradedFile

    def __call__(self, errors: LineErrors, left_out: Counter[str]) -> Iterator[pa.Table]:
        assert self.graded.read is not None
        yield self.graded.read(errors, left_out)
