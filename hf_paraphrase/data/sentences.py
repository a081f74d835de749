"""Sentences in blocks: the lines of a file or of standard input, or the text columns of a data folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from ..errors import InputError
from .text_blocks import (
    COMPRESSED,
    LONGEST_LINE_BYTES,
    check_readable,
    lines_of_text,
    refuse_bare_returns,
    refuse_utf_16,
)

DEFAULT_COLUMNS = ("sentence", "text", "sentence1", "sentence2")
_BLOCK_LINES = 20_000


def lines_of_file(source: Path) -> Iterator[list[str]]:
    """Streams the lines of a file in lists of at most 20,000."""
    for lines in lines_of_text(source):
        for start in range(0, len(lines), _BLOCK_LINES):
            yield lines[start : start + _BLOCK_LINES]


def estimated_lines(source: Path, read: int, size: int) -> int | None:
    """Estimates how many lines a plain text file has, for a progress bar; None for a compressed one."""
    if source.suffix in COMPRESSED or not size:
        return None
    return max(read, round(source.stat().st_size / size * read))


def lines_of_standard_input() -> Iterator[list[str]]:
    """Streams the lines of standard input in lists of at most 20,000, by the rules that hold for files."""
    lines: list[str] = []
    number = 0
    for number, raw in enumerate(iter(partial(sys.stdin.buffer.readline, LONGEST_LINE_BYTES + 1), b""), start=1):
        if len(raw) > LONGEST_LINE_BYTES:
            raise InputError(
                f"a line of more than {LONGEST_LINE_BYTES >> 20} MiB",
                path="standard input",
                line=number,
                remedy="give one sentence a line",
            )
        if number == 1:
            refuse_bare_returns(raw, "standard input")
            refuse_utf_16(raw, "standard input")
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                f"not UTF-8: byte 0x{raw[error.start]:02x}", path="standard input", line=number, remedy="convert it"
            ) from error
        lines.append(line.removesuffix("\n").removesuffix("\r"))
        if len(lines) == _BLOCK_LINES:
            yield lines
            lines = []
    if not number:
        raise InputError("the input is empty", path="standard input", remedy="give one sentence a line")
    if lines:
        yield lines


class SentenceCorpus:
    """A file with one sentence a line, or the text columns of a data folder."""

    def __init__(self, path: Path, columns: Sequence[str] = (), split: str | None = None) -> None:
        self.path, self.split = path, split or "train"
        self.columns: list[str] = []
        if path.is_dir():
            # A file of text needs none of them.
            import pyarrow as pa

            from .folder import DataFolder
            from .schema import columns_named, require_columns

            self._folder = DataFolder(path)
            schema = self._folder.schema(self.split)
            columns = columns_named(columns, schema.names)
            require_columns(schema.names, columns, str(path))
            self.columns = columns or [name for name in DEFAULT_COLUMNS if name in schema.names]
            if not self.columns:
                raise InputError(
                    f"no column is called {', '.join(DEFAULT_COLUMNS)}",
                    path=path,
                    remedy=f"name the columns to read with --columns: {', '.join(schema.names)}",
                )
            for name in self.columns:
                kind = schema.field(name).type
                if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
                    raise InputError(f"the column `{name}` is of {kind}, not of text", path=path)
        elif columns or split is not None:
            raise InputError("columns and splits are those of a data folder, but this is a file", path=path)
        else:
            check_readable(path)

    def blocks(self) -> Iterator[list[str | None]]:
        """Streams the texts; those of a data folder row by row, the columns of a row after each other."""
        if self.columns:
            for batch in self._folder.batches(self.split, self.columns):
                sides = [batch.column(name).to_pylist() for name in self.columns]
                yield [text for row in zip(*sides, strict=True) for text in row]
            return
        for lines in lines_of_file(self.path):
            yield list(lines)
