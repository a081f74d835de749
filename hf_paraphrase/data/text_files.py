"""Reads text files strictly: UTF-8, one record a line, lines end at a line feed and nowhere else.

Everything that reads raw corpora goes through here, so that one set of rules holds: a byte order mark at the beginning
is dropped, one carriage return before the line feed belongs to the line end, and every other character (a lone
carriage return, a form feed, U+2028, quotes, the words "NA" and "null") is text. `str.splitlines` and CSV readers
break some of these rules, which shifts the two sides of a bitext against each other without any error.

Lines come as Arrow string arrays, a block of a few megabytes at a time, so memory stays flat.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import InputError
from .line_errors import LineErrors as LineErrors
from .line_errors import SkippedLines as SkippedLines
from .line_errors import StrictLines as StrictLines
from .text_blocks import BLOCK_BYTES as BLOCK_BYTES
from .text_blocks import COMPRESSED as COMPRESSED
from .text_blocks import LONGEST_LINE_BYTES as LONGEST_LINE_BYTES
from .text_blocks import PLAIN_OR_COMPRESSED as PLAIN_OR_COMPRESSED
from .text_blocks import check_readable as check_readable
from .text_blocks import decoded_lines, empty_file, whole_lines
from .text_blocks import lines_of_bytes as lines_of_bytes
from .text_blocks import open_binary as open_binary
from .text_blocks import read_blocks as read_blocks


def read_lines(path: Path, errors: LineErrors, *, encoding: str = "utf-8") -> Iterator[pa.Array]:
    """Streams the lines of a plain, .gz, .bz2, .xz or .zst file.

    Args:
        path: The file; its suffix names the compression.
        errors: What to do about a line that is not UTF-8; a line that is left out is null, so numbering is kept.
        encoding: `utf-8`, or `latin-1` for the old sets that are known to be in it; any bytes are latin-1.

    Yields:
        Arrow string arrays of consecutive lines without their line ends.
    """
    first_line = 1
    for block in whole_lines(path):
        if encoding == "latin-1":
            block = block.decode(encoding).encode()
        lines = _decode(block, path, first_line, errors)
        first_line += len(lines)
        yield lines
    if first_line == 1:
        raise empty_file(path)


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Streams the lines that are not blank with their numbers, which count from 1."""
    number = 0
    for block in read_lines(path, StrictLines()):
        for line in block.to_pylist():
            number += 1
            if line.strip(" \t"):
                yield number, line


def read_aligned(paths: Sequence[Path], errors: LineErrors) -> Iterator[tuple[int, list[pa.Array]]]:
    """Streams line-aligned files side by side.

    Yields:
        The number of the first line (from 1), and one string array per file, all of the same length.
    """
    streams = [read_lines(path, errors) for path in paths]
    pending: list[pa.Array] = [pa.array([], pa.string()) for _ in paths]
    line = 1
    while True:
        for index, stream in enumerate(streams):
            if len(pending[index]) == 0:
                pending[index] = next(stream, pa.array([], pa.string()))
        length = min(map(len, pending))
        if length == 0:
            break
        yield line, [block.slice(0, length) for block in pending]
        pending = [block.slice(length) for block in pending]
        line += length
    counts = [line - 1 + len(block) + sum(map(len, stream)) for block, stream in zip(pending, streams, strict=True)]
    if len(set(counts)) > 1:
        shortest = int(np.argmin(counts))
        longest = int(np.argmax(counts))
        raise InputError(
            f"{counts[shortest]} lines, but {paths[longest]} has {counts[longest]}",
            path=paths[shortest],
            line=counts[shortest],
            remedy="the two files must be aligned line by line",
        )


def read_fields(
    path: Path,
    columns: Sequence[str],
    errors: LineErrors,
    *,
    header_lines: int = 0,
    encoding: str = "utf-8",
    remedy: str = "fix the line, or name the fields with --columns (`_` for one to leave out)",
) -> Iterator[tuple[np.ndarray, dict[str, pa.Array]]]:
    r"""Streams the named fields of a tab-separated file without header, quoting or escapes.

    Args:
        path: The file.
        columns: The fields in their order; `_` names one to leave out. Fields named `_` at the end may be absent.
        errors: What to do about a line with too few or too many fields, or one that is not UTF-8.
        header_lines: Lines at the beginning to leave out; line numbers count them.
        encoding: As for :func:`read_lines`.
        remedy: What to do about a line with the wrong number of fields, for the message.

    Yields:
        The line numbers (rows,), int64, from 1, and a string array of the same length for each named column.
    """
    most = len(columns)
    fewest = max(index for index, name in enumerate(columns) if name != "_") + 1
    expected = str(most) if fewest == most else f"{fewest} to {most}"
    first_line = 1
    for lines in read_lines(path, errors, encoding=encoding):
        if header := max(0, min(len(lines), header_lines + 1 - first_line)):
            lines = lines.slice(header)
            first_line += header
        num_fields = pc.count_substring(lines, "\t").fill_null(-2).to_numpy(zero_copy_only=False) + 1
        good = (num_fields >= fewest) & (num_fields <= most)
        for index in np.flatnonzero(~good):
            if num_fields[index] < 0:
                continue
            number = "no tab" if num_fields[index] == 1 else f"{num_fields[index]} fields"
            errors.handle(
                f"{number} where {expected} tab-separated fields are expected ({', '.join(columns)})",
                path,
                first_line + int(index),
                remedy,
            )
        fields = pc.split_pattern(lines if good.all() else lines.filter(pa.array(good)), "\t")
        starts = fields.offsets.to_numpy()[:-1]
        yield (
            np.flatnonzero(good).astype(np.int64) + first_line,
            {name: fields.values.take(pa.array(starts + i)) for i, name in enumerate(columns) if name != "_"},
        )
        first_line += len(lines)


def _decode(block: bytes, path: Path, first_line: int, errors: LineErrors) -> pa.Array:
    # Arrow checks the bytes in place; `bytes.decode` would copy them, and Arrow copy them back.
    text = pa.Array.from_buffers(pa.string(), 1, [None, _offsets(0, len(block)), pa.py_buffer(block)])
    try:
        text.validate(full=True)
        lines = pc.split_pattern(text, "\n").values
    except pa.ArrowInvalid:
        lines = pa.array(decoded_lines(block, path, first_line, errors), pa.string())
    if b"\r\n" in block or block.endswith(b"\r"):
        returns = pc.ends_with(lines, "\r")
        lines = pc.if_else(returns, pc.utf8_slice_codeunits(lines, 0, -1), lines)
    return lines


def _offsets(*offsets: int) -> pa.Buffer:
    return pa.py_buffer(np.array(offsets, dtype=np.int32))
