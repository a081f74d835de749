"""The bytes of text files, plain or compressed, in blocks of whole lines; and the lines themselves as strings.

What `text_files` says of lines holds here, where they are no Arrow arrays: for reading a file that is a part of little
work, in a process that must not take long to start.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ..errors import InputError
from .line_errors import LineErrors, StrictLines

BLOCK_BYTES = 4 << 20
LONGEST_LINE_BYTES = 64 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_KINDS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
COMPRESSED = frozenset(_KINDS)
"""The suffixes of compressed files."""
PLAIN_OR_COMPRESSED = f"plain or {', '.join(_KINDS)}"
"""What may be read, for the help texts of flags that take a text file."""
_SIGNATURES = {b"\x1f\x8b": ".gz", b"BZh91AY&SY": ".bz2", b"\xfd7zXZ\0": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}
_UTF_16 = re.compile(rb"\xff\xfe|\xfe\xff|(?:\0[\t\n\r -~]){4}|(?:[\t\n\r -~]\0){4}")
"""How it begins: with its byte order mark, or with four characters of ASCII."""
_DECOMPRESSION_ERRORS = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


def lines_of_text(path: Path) -> Iterator[list[str]]:
    """Streams the lines of a plain or compressed file as strings, a block of a few megabytes at a time."""
    first_line = 1
    for block in whole_lines(path):
        try:
            lines = block.decode("utf-8").split("\n")
        except UnicodeDecodeError:
            decoded_lines(block, path, first_line, StrictLines())
            raise
        first_line += len(lines)
        yield [line.removesuffix("\r") for line in lines] if b"\r" in block else lines
    if first_line == 1:
        raise empty_file(path)


def lines_of_bytes(path: Path) -> Iterator[bytes]:
    """Streams the lines of a plain or compressed file without their line ends, in whatever encoding they are."""
    for block in whole_lines(path):
        yield from block.split(b"\n")


def check_readable(path: Path) -> None:
    """Checks, before any long work, that a file is there and not empty."""
    if not next(read_blocks(path), b"").removeprefix(_BYTE_ORDER_MARK):
        raise empty_file(path)


def open_binary(path: Path) -> IO[bytes]:
    """Opens a plain or compressed file for reading bytes."""
    if isinstance(path, Path):
        # After a stream of `datasets`, `Path` in the modules of our builders is one of its own, which opens addresses.
        path = Path(path)
    if path.is_dir():
        raise InputError("this is a folder, not a file", path=path, remedy="name the file in it")
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
        return lzma.open(path, "rb")
    if path.suffix == ".zst":
        import pyarrow as pa

        return pa.CompressedInputStream(pa.OSFile(str(path), "rb"), "zstd")
    return path.open("rb")


def read_blocks(path: Path) -> Iterator[bytes]:
    """Streams the decompressed bytes of a file."""
    kind = _KINDS.get(path.suffix)
    lines = 0
    with open_binary(path) as stream:
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
            lines += block.count(b"\n")
            yield block


def _damaged(path: Path, kind: str | None, lines: int) -> InputError:
    return InputError(
        f"damaged or truncated {kind} data after {lines} whole lines",
        path=path,
        line=lines + 1,
        remedy="fetch the file again; an uncompressed file must not carry this suffix",
    )


def whole_lines(path: Path) -> Iterator[bytes]:
    """Streams blocks that end where a line ends; the line feed at the end of a block is taken off."""
    rest: list[bytes] = []
    size = line = 0
    mark = _BYTE_ORDER_MARK
    for number, block in enumerate(read_blocks(path)):
        if number == 0:
            refuse_packed(block, path)
            refuse_utf_16(block, path)
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
            if not line:
                refuse_bare_returns(b"".join(rest), path)
            raise InputError(
                f"a line of more than {LONGEST_LINE_BYTES >> 20} MiB",
                path=path,
                line=line + 1,
                remedy="the file must hold one record a line",
            )
    if last := b"".join(rest).removeprefix(mark):
        if not line:
            refuse_bare_returns(last, path)
        yield last


def refuse_bare_returns(text: bytes, path: str | Path) -> None:
    """Refuses a text without a line feed in which carriage returns end the lines: it would be read as one line."""
    if b"\n" not in text and b"\r" in text[:-1]:
        returns = text.count(b"\r")
        raise InputError(
            f"{returns:,} carriage return{'s' if returns > 1 else ''} and no line feed, which alone ends a line",
            path=path,
            remedy="convert its line ends, for example with tr '\\r' '\\n'",
        )


def refuse_utf_16(block: bytes, path: str | Path) -> None:
    """Refuses text in UTF-16, most of which would be UTF-8 with NULs between its letters."""
    if _UTF_16.match(block):
        raise InputError("UTF-16, not UTF-8", path=path, remedy="convert it to UTF-8, for example with iconv")


def refuse_packed(block: bytes, path: Path) -> None:
    """Refuses archives, Parquet files, and compressed files whose name does not say so."""
    if block.startswith(b"PAR1"):
        raise InputError(
            "a Parquet file, not text", path=path, remedy="give text, or a data folder where one may be given"
        )
    for signature, suffix in _SIGNATURES.items():
        if block.startswith(signature):
            raise InputError(
                "compressed, which its name does not say", path=path, remedy=f"unpack it, or add {suffix} to its name"
            )
    kind = "zip" if block.startswith((b"PK\x03\x04", b"PK\x05\x06")) else "tar" if block[257:262] == b"ustar" else None
    if kind is not None:
        raise InputError(
            f"a {kind} archive, not text", path=path, remedy="unpack it, and give the file that holds the lines"
        )


def decoded_lines(block: bytes, path: Path, first_line: int, errors: LineErrors) -> list[str | None]:
    """Decodes the lines of a block one by one, with what stands before their line ends."""
    lines: list[str | None] = []
    for line in block.split(b"\n"):
        try:
            lines.append(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            lines.append(None)
            errors.handle(
                f"not UTF-8: byte 0x{line[error.start]:02x} at byte {error.start + 1} of the line",
                path,
                first_line + len(lines) - 1,
                "convert it to UTF-8",
            )
    return lines


def empty_file(path: Path) -> InputError:
    """Makes the error for a file without a line."""
    return InputError("the file is empty", path=path, remedy="give a file with one record a line")
