"""The lines of a text file with their numbers, for readers that take a file as it is or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..errors import InputError
from .text_files import LineErrors, read_lines


class _Strict(LineErrors):
    """Malformed lines end the reading, and no other policy is offered."""

    def meet(self, text: str, path: Path, line: int, remedy: str) -> None:
        raise InputError(text, path=path, line=line, remedy=remedy)


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Streams the lines that are not blank with their numbers, which count from 1.

    Raises:
        InputError: If the file is missing or damaged, or a line is not UTF-8.
    """
    number = 0
    for block in read_lines(path, _Strict()):
        for line in block.to_pylist():
            number += 1
            if line.strip(" \t"):
                yield number, line
