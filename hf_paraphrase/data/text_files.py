"""Reads text files strictly: UTF-8, one record a line, lines end at a line feed and nowhere else.

Everything that reads raw corpora goes through here, so that one set of rules holds: a byte order mark at the beginning
is dropped, one carriage return before the line feed belongs to the line end, and every other character (a lone
carriage return, a form feed, U+2028, quotes, the words "NA" and "null") is text. `str.splitlines` and CSV readers
break some of these rules, which shifts the two sides of a bitext against each other without any error.

Lines come as Arrow string arrays, a block of a few megabytes at a time, so memory stays flat.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..artefacts.foreign_files import most_unpacked
from ..errors import InputError
from ..streams import check_not_stream
from .line_errors import LineErrors as LineErrors
from .line_errors import SkippedLines as SkippedLines
from .line_errors import StrictLines as StrictLines
from .xz_stream import XzStream

BLOCK_BYTES = 4 << 20
LONGEST_LINE_BYTES = 64 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_KINDS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
COMPRESSED = frozenset(_KINDS)
"""The suffixes of compressed files."""
PLAIN_OR_COMPRESSED = f"plain or {', '.join(_KINDS)}"
"""What may be read, for the help texts of flags that take a text file."""
_SIGNATURES = (b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
_DECOMPRESSION_ERRORS = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


def read_lines(path: Path, errors: LineErrors, *, encoding: str = "utf-8") -> Iterator[pa.Array]:
    """Streams the lines of a plain, .gz, .bz2, .xz or .zst file.

    Args:
        path: The file; its suffix names the compression.
        errors: What to do about a line that is not UTF-8; a line that is left out is null, so numbering is kept.
        encoding: `utf-8`, or `latin-1` for the old sets that are known to be in it; any bytes are latin-1.

    Yields:
        Arrow string arrays of consecutive lines without their line ends.

    Raises:
        InputError: If the file is missing, empty, truncated or not UTF-8, with the line where that shows.
    """
    first_line = 1
    for block in _whole_lines(path):
        if encoding == "latin-1":
            block = block.decode(encoding).encode()
        lines = _decode(block, path, first_line, errors)
        first_line += len(lines)
        yield lines
    if first_line == 1:
        raise InputError("the file is empty", path=path, remedy="give a file with one record a line")


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Streams the lines that are not blank with their numbers, which count from 1.

    Raises:
        InputError: If the file is missing or damaged, or a line is not UTF-8.
    """
    number = 0
    for block in read_lines(path, StrictLines()):
        for line in block.to_pylist():
            number += 1
            if line.strip(" \t"):
                yield number, line


def lines_of_bytes(path: Path) -> Iterator[bytes]:
    """Streams the lines of a plain or compressed file without their line ends, in whatever encoding they are.

    Raises:
        InputError: As :func:`read_lines`, but for what depends on the encoding.
    """
    for block in _whole_lines(path):
        yield from block.split(b"\n")


def read_aligned(paths: Sequence[Path], errors: LineErrors) -> Iterator[tuple[int, list[pa.Array]]]:
    """Streams line-aligned files side by side.

    Args:
        paths: The files, line i of each belonging together.
        errors: As for :func:`read_lines`.

    Yields:
        The number of the first line (from 1), and one string array per file, all of the same length.

    Raises:
        InputError: As :func:`read_lines`, and if the files have different numbers of lines.
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
    remedy: str = "mend the line, or name the fields with --columns (`_` for one to leave out)",
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

    Raises:
        InputError: As :func:`read_lines`, and for a line with the wrong number of fields.
    """
    most = len(columns)
    fewest = max(index for index, name in enumerate(columns) if name != "_") + 1
    expected = str(most) if fewest == most else f"{fewest} to {most}"
    first_line = 1
    for lines in read_lines(path, errors, encoding=encoding):
        if header := max(0, min(len(lines), header_lines + 1 - first_line)):
            lines = lines.slice(header)
            first_line += header
        found = pc.count_substring(lines, "\t").fill_null(-2).to_numpy(zero_copy_only=False) + 1
        good = (found >= fewest) & (found <= most)
        for index in np.flatnonzero(~good):
            if found[index] < 0:
                continue
            number = "no tab" if found[index] == 1 else f"{found[index]} fields"
            errors.meet(
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


def check_readable(path: Path) -> None:
    """Checks, before any long work, that a file is there and not empty.

    Raises:
        InputError: If it is not.
    """
    if not next(read_blocks(path), b"").removeprefix(_BYTE_ORDER_MARK):
        raise InputError("the file is empty", path=path, remedy="give a file with one record a line")


def open_binary(path: Path) -> IO[bytes]:
    """Opens a plain or compressed file for reading bytes.

    Raises:
        InputError: If it is missing, a folder, a stream, or may not be read.
    """
    if path.is_dir():
        raise InputError("this is a folder, not a file", path=path, remedy="name the file in it")
    check_not_stream(path)
    try:
        return _open(path)
    except FileNotFoundError as error:
        raise InputError("no such file", path=path, remedy="check the path") from error
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror or error}", path=path) from error


def _open(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]
    if path.suffix == ".bz2":
        return bz2.open(path, "rb")
    if path.suffix == ".xz":
        return io.BufferedReader(XzStream(path.open("rb")))
    if path.suffix == ".zst":
        return pa.CompressedInputStream(pa.OSFile(str(path), "rb"), "zstd")
    return path.open("rb")


def read_blocks(path: Path) -> Iterator[bytes]:
    """Streams the decompressed bytes of a file.

    Raises:
        InputError: As :func:`open_binary`, and if the compressed data are damaged, cut off, or far longer than text
            that was packed can be.
    """
    kind = _KINDS.get(path.suffix)
    lines = 0
    size = 0
    with open_binary(path) as stream:
        most = None if kind is None else most_unpacked(path.stat().st_size)
        while True:
            try:
                block = stream.read(BLOCK_BYTES)
            except _DECOMPRESSION_ERRORS as error:
                raise _damaged(path, kind, lines) from error
            except OSError as error:
                if kind is not None and error.errno is None:
                    raise _damaged(path, kind, lines) from error
                raise InputError(f"cannot read: {error.strerror or error}", path=path) from error
            if not block:
                return
            size += len(block)
            if most is not None and size > most:
                raise InputError(
                    f"it unpacks to more than {most >> 20:,} MiB, which no text of its size does",
                    path=path,
                    remedy="unpack it, if you trust it",
                )
            lines += block.count(b"\n")
            yield block


def _damaged(path: Path, kind: str | None, lines: int) -> InputError:
    return InputError(
        f"damaged or truncated {kind} data after {lines} whole lines",
        path=path,
        line=lines + 1,
        remedy="fetch the file again; an uncompressed file must not carry this suffix",
    )


def _whole_lines(path: Path) -> Iterator[bytes]:
    """Streams blocks that end where a line ends; the line feed at the end of a block is taken off."""
    rest: list[bytes] = []
    size = line = 0
    mark = _BYTE_ORDER_MARK
    for number, block in enumerate(read_blocks(path)):
        if number == 0:
            _refuse_archive(block, path)
        end = block.rfind(b"\n")
        if end < 0:
            rest.append(block)
            size += len(block)
        else:
            whole = b"".join((*rest, block[:end]))
            rest, size = [block[end + 1 :]], len(block) - end - 1
            line += whole.count(b"\n") + 1
            yield whole.removeprefix(mark)
            mark = b""
        if size > LONGEST_LINE_BYTES:
            raise InputError(
                f"a line of more than {LONGEST_LINE_BYTES >> 20} MiB",
                path=path,
                line=line + 1,
                remedy="the file must hold one record a line",
            )
    if last := b"".join(rest).removeprefix(mark):
        yield last


def _refuse_archive(block: bytes, path: Path) -> None:
    """Refuses what holds files instead of lines: nothing here unpacks, so that no name in an archive is followed."""
    kind = "zip" if block.startswith((b"PK\x03\x04", b"PK\x05\x06")) else "tar" if block[257:262] == b"ustar" else None
    if kind is not None:
        raise InputError(
            f"a {kind} archive, not text", path=path, remedy="unpack it, and give the file that holds the lines"
        )


def _decode(block: bytes, path: Path, first_line: int, errors: LineErrors) -> pa.Array:
    # Arrow checks the bytes where they lie; `bytes.decode` would copy them, and Arrow copy them back.
    text = pa.Array.from_buffers(pa.string(), 1, [None, _offsets(0, len(block)), pa.py_buffer(block)])
    try:
        text.validate(full=True)
        lines = pc.split_pattern(text, "\n").values
    except pa.ArrowInvalid:
        lines = _decode_singly(block, path, first_line, errors)
    if b"\r\n" in block or block.endswith(b"\r"):
        returns = pc.ends_with(lines, "\r")
        lines = pc.if_else(returns, pc.utf8_slice_codeunits(lines, 0, -1), lines)
    return lines


def _offsets(*offsets: int) -> pa.Buffer:
    return pa.py_buffer(np.array(offsets, dtype=np.int32))


def _decode_singly(block: bytes, path: Path, first_line: int, errors: LineErrors) -> pa.Array:
    lines: list[str | None] = []
    for line in block.split(b"\n"):
        try:
            lines.append(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            lines.append(None)
            compressed = first_line == 1 and line.startswith(_SIGNATURES)
            errors.meet(
                f"not UTF-8: byte 0x{line[error.start]:02x} at byte {error.start + 1} of the line",
                path,
                first_line + len(lines) - 1,
                "the file is compressed: give its name the suffix .gz, .xz or .zst"
                if compressed
                else "convert it to UTF-8",
            )
    return pa.array(lines, pa.string())
