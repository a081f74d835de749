"""What happens to malformed lines: the first ends the work, or each is left out, counted and listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from ..errors import InputError, OutputError, UsageError

SKIPPED_LINES = "skipped_lines.tsv"
"""The list of all malformed lines that `--on-error skip` left out, as a file beside the data."""
_LISTED_LINES = 10


@dataclass
class LineErrors:
    """What happens to a malformed line: it ends the work, or it is left out, counted and listed.

    Attributes:
        first: The first ten lines left out, as messages with file and line.
        count: The number of lines left out; line i of two aligned files is one line.
        left_out: Records that are well-formed and yet give no row, counted by the reason.
    """

    policy: str = "raise"
    record: Callable[[Path, int, str], object] | None = None
    first: list[str] = field(default_factory=list)
    count: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    # One bit a line: a set of a million numbers would take a hundred times the memory.
    _seen: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        if self.policy not in {"raise", "skip"}:
            raise UsageError(f"unknown error policy `{self.policy}`", remedy="one of raise, skip")

    def handle(self, text: str, path: Path, line: int, remedy: str) -> None:
        """Raises for a malformed line, or counts it."""
        self.handle_record(text, path, line, remedy, line)

    def handle_record(self, text: str, path: Path, line: int, remedy: str, number: int) -> None:
        """Raises for a malformed record, or counts it by its number where lines do not distinguish records."""
        if self.policy == "raise":
            remedy = f"{remedy}, or leave such lines out: --on-error skip"
            raise InputError(text, path=path, line=line, remedy=remedy)
        if len(self.first) < _LISTED_LINES:
            self.first.append(str(InputError(text, path=path, line=line)))
        if self.record is not None:
            self.record(path, line, text)
        position, bit = divmod(number, 8)
        if position >= len(self._seen):
            self._seen.extend(bytes(position + 1 - len(self._seen)))
        if not self._seen[position] >> bit & 1:
            self._seen[position] |= 1 << bit
            self.count += 1


class StrictLines(LineErrors):
    """A malformed line ends the work: leaving it out would shift the rows against the lines."""

    def handle(self, text: str, path: Path, line: int, remedy: str) -> None:
        """Raises for a malformed line."""
        raise InputError(text, path=path, line=line, remedy=remedy)


class SkippedLines(AbstractContextManager["SkippedLines"]):
    """Writes file, line and reason of every line left out; there is no file where there is none."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._stream: TextIO | None = None

    def record(self, path: Path, line: int, reason: str) -> None:
        """Adds a line; fits as `LineErrors(record=…)`."""
        if self.path is None:
            return
        try:
            if self._stream is None:
                self._stream = self.path.open("w", encoding="utf-8", errors="surrogateescape", newline="\n")
                self._stream.write("file\tline\treason\n")
            self._stream.write(f"{_field(str(path))}\t{line}\t{_field(reason)}\n")
        except OSError as error:
            raise OutputError(f"cannot write: {error.strerror}", path=self.path) from error

    def __exit__(self, *_: object) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None


def _field(text: str) -> str:
    return " ".join(text.split())
