"""The list of all malformed lines that `--on-error skip` left out, as a file beside the data."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from ..errors import OutputError
from .closeable import Closeable

FILE_NAME = "skipped_lines.tsv"


class SkippedLines(Closeable):
    """Writes file, line and reason of every line left out; there is no file where there is none.

    Args:
        path: The tab-separated file, with a header; None to write nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._stream: TextIO | None = None

    def record(self, path: Path, line: int, reason: str) -> None:
        """Adds a line; fits as `LineErrors(record=…)`.

        Raises:
            OutputError: If the list cannot be written.
        """
        if self.path is None:
            return
        try:
            if self._stream is None:
                self._stream = self.path.open("w", encoding="utf-8", errors="surrogateescape", newline="\n")
                self._stream.write("file\tline\treason\n")
            self._stream.write(f"{_field(str(path))}\t{line}\t{_field(reason)}\n")
        except OSError as error:
            raise OutputError(f"cannot write: {error.strerror}", path=self.path) from error

    def close(self) -> None:
        """Closes the file."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None


def _field(text: str) -> str:
    return " ".join(text.split())
