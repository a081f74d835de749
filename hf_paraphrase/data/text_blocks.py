"""Lines of text files, plain or compressed, as strings, and the handling of malformed lines, all without Arrow.

The same rules hold for all raw files: UTF-8, a line ends only at a line feed, a byte order mark at the beginning is
dropped, carriage returns before the line feed belong to the line end, and one inside a line is a space. Every other
character (a form feed, U+2028, quotes, "NA") is text. `str.splitlines` and CSV readers break some of these rules, and
so misalign the two files of a bitext without any error.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from ..errors import InputError, UsageError, for_flag
from ..settings import Settings, setting

BLOCK_BYTES = 4 << 20
DEFAULT_COLUMNS = ("sentence", "text", "sentence1", "sentence2")
"""The usual names of columns of sentences."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_KINDS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
COMPRESSED = frozenset(_KINDS)
"""The suffixes of compressed files."""
_RECORDS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "jsonl",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
"""The formats of files whose lines are not sentences, by suffix; tab-separated values with a header are CSV."""
PLAIN_OR_COMPRESSED = f"plain or {', '.join(_KINDS)}"
"""The accepted compressions, for the help texts of flags that take a text file."""
_PACKED = {
    b"PAR1": "a Parquet file",
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "compressed (.gz)",
    b"BZh91AY&SY": "compressed (.bz2)",
    b"\xfd7zXZ\0": "compressed (.xz)",
    b"\x28\xb5\x2f\xfd": "compressed (.zst)",
}
"""The first bytes of files that are no text."""
_UTF_16 = re.compile(rb"\xff\xfe|\xfe\xff|(?:\0[\t\n\r -~]){4}|(?:[\t\n\r -~]\0){4}")
"""Its byte order mark, or four characters of ASCII, at the beginning of a file."""


@dataclass(kw_only=True)
class FormatSettings(Settings):
    """The settings that define how CSV, JSON lines and text files are read."""

    encoding: str | None = setting("encoding of CSV, JSON lines and text files, such as cp1252 [default: utf-8]", None)
    decimal: str | None = setting(
        "decimal mark in CSV files, such as a comma; with it or --thousands, columns of numbers are read as numbers",
        None,
    )
    thousands: str | None = setting("separator of thousands in CSV files, such as a point", None)

    def format_options(self) -> dict[str, Any]:
        """Return these settings as arguments of `open_rows`."""
        return {"encoding": self.encoding, "decimal": self.decimal, "thousands": self.thousands}


@dataclass
class LineErrors:
    """The policy for malformed lines: `raise` (the error names the flag to skip them), `strict` (it does not), `skip`.

    Attributes:
        left_out: The numbers of well-formed records without a row, by reason.
        skipped: File, line and reason of each skipped line.
        aligned_with: For each file of a line-aligned set, the first file of the set.
    """

    policy: str = "raise"
    left_out: Counter[str] = field(default_factory=Counter)
    skipped: dict[tuple[Path, int, str], None] = field(default_factory=dict)
    aligned_with: dict[Path, Path] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """The number of skipped lines; the lines i of two aligned files count once."""
        return len({(self.aligned_with.get(path, path), line) for path, line, _ in self.skipped})

    def handle(self, text: str, path: Path, line: int, remedy: str) -> None:
        """Raise an error for a malformed line, or record that it is skipped."""
        if self.policy == "skip":
            self.skipped[path, line, text] = None
            return
        skip_hint = ", or skip such lines with --on-error skip" if self.policy == "raise" else ""
        raise InputError(text, path=path, line=line, remedy=f"{remedy}{skip_hint}")


StrictLines = partial(LineErrors, "strict")
"""A malformed line is an error without a remedy: to skip it would shift the rows against the lines."""


def lines_of_blocks(blocks: Iterable[bytes], path: str | Path) -> Iterator[list[str]]:
    """Stream the lines in the bytes of a file, or of standard input, as strings."""
    first_line = 1
    for block in whole_lines(blocks, path):
        try:
            lines = clean_returns(block.decode("utf-8")).split("\n")
        except UnicodeDecodeError:
            decoded_lines(block, Path(path), first_line, StrictLines())
            raise
        first_line += len(lines)
        yield lines
    if first_line == 1:
        raise empty_file(path)


def clean_returns(text: str) -> str:
    """Remove carriage returns before a line feed or the end; one inside a line becomes a space."""
    return re.sub(r"\r+(?=\n|\Z)", "", text).replace("\r", " ") if "\r" in text else text


def plain_suffix(path: Path) -> str:
    """Return the suffix of a name in lower case, without a compression suffix."""
    return without_compression(path).suffix.lower()


def without_compression(path: Path) -> Path:
    """Return a path without a compression suffix."""
    return path.with_suffix("") if path.suffix.lower() in COMPRESSED else path


def kind_of_rows(path: Path) -> str | None:
    """Return the format of a file by its name; None for a file with one sentence per line."""
    return _RECORDS.get(plain_suffix(path))


def refuse_records(path: Path) -> None:
    """Refuse a CSV, JSON lines or Parquet file where a file with one sentence per line is expected."""
    if (kind := kind_of_rows(path)) is not None:
        remedy = "give one sentence per line" + for_flag("columns", ", or name its columns with --columns")
        raise InputError(f"a {kind} file, whose lines are not sentences", path=path, remedy=remedy)


def files_below(folder: Path) -> Iterator[Path]:
    """List all files below a folder in a fixed order, except hidden ones."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts):
            yield path


def check_readable(path: Path) -> None:
    """Check, before any long work, that a file exists and is not empty."""
    if not next(read_blocks(path), b"").removeprefix(_BYTE_ORDER_MARK):
        raise empty_file(path)


def read_blocks(path: Path, encoding: str = "utf-8") -> Iterator[bytes]:
    """Stream the decompressed bytes of a file, converted to UTF-8 from another encoding."""
    if encoding.lower() not in {"utf-8", "utf8", "utf-8-sig"}:
        try:
            "a".encode(encoding)  # Python also has codecs that are no encodings of text, such as base64
            for text in codecs.iterdecode(read_blocks(path), encoding):
                yield text.encode()
        except LookupError as error:
            problem = f"--encoding `{encoding}` is unknown"
            raise UsageError(problem, remedy="give one of Python's, e.g. cp1252") from error
        except UnicodeError as error:
            problem = f"not {encoding}: {error}"
            raise InputError(problem, path=path, remedy="give the encoding of the file as --encoding") from error
        return
    try:
        with _open(path) as stream:
            yield from iter(lambda: stream.read(BLOCK_BYTES), b"")
    except FileNotFoundError as error:
        raise InputError("no such file", path=path, remedy="check the path") from error
    except IsADirectoryError as error:
        remedy = "name the file in it, or its --columns"
        raise InputError("this is a folder, not a file", path=path, remedy=remedy) from error
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        kind = _KINDS.get(path.suffix.lower())
        problem = f"damaged or truncated {kind} data" if kind else f"cannot read: {error}"
        remedy = "download it again; an uncompressed file must not have a compression suffix"
        raise InputError(problem, path=path, remedy=remedy) from error


def _open(path: Path) -> IO[bytes]:
    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    file: Any = path if isinstance(path, Path) else path.open("rb")  # at a URL
    if (suffix := path.suffix.lower()) in openers:
        return cast("IO[bytes]", openers[suffix](file, "rb"))
    if suffix != ".zst":
        return path.open("rb") if file is path else cast("IO[bytes]", file)
    import pyarrow as pa

    packed = pa.OSFile(str(path), "rb") if file is path else pa.PythonFile(file)
    return cast("IO[bytes]", pa.CompressedInputStream(packed, "zstd"))


def whole_lines(blocks: Iterable[bytes], path: str | Path) -> Iterator[bytes]:
    """Split blocks again so that each ends at a line end, without its last line feed."""
    rest: list[bytes] = []
    mark, has_line_feed = _BYTE_ORDER_MARK, False
    for index, block in enumerate(blocks):
        if index == 0:
            refuse_packed(block, path)
            if _UTF_16.match(block):
                remedy = "convert it to UTF-8" + for_flag("encoding", ", or give --encoding utf-16")
                raise InputError("UTF-16, not UTF-8", path=path, remedy=remedy)
        end = block.rfind(b"\n")
        if end < 0:
            rest.append(block)
            continue
        whole = b"".join((*rest, block[:end]))
        rest, has_line_feed = [block[end + 1 :]], True
        yield whole.removeprefix(mark)
        mark = b""
    if last := b"".join(rest).removeprefix(mark):
        if not has_line_feed and b"\r" in last[:-1]:
            remedy = "convert its line ends, for example with tr '\\r' '\\n'"
            raise InputError("carriage returns but no line feeds, which end lines", path=path, remedy=remedy)
        yield last


def refuse_packed(block: bytes, path: str | Path) -> None:
    """Refuse archives, Parquet files, and compressed files without a compression suffix."""
    for signature, kind in _PACKED.items():
        if block.startswith(signature):
            remedy = "unpack it, or give it its compression suffix"
            raise InputError(f"{kind}, not text", path=path, remedy=remedy)


def decoded_lines(block: bytes, path: Path, first_line: int, errors: LineErrors) -> list[str | None]:
    """Decode the lines of a block one by one; report a line that is not UTF-8, which becomes None."""
    lines: list[str | None] = []
    for line in block.split(b"\n"):
        try:
            lines.append(clean_returns(line.decode("utf-8")))
        except UnicodeDecodeError as error:
            lines.append(None)
            problem = f"not UTF-8: byte 0x{line[error.start]:02x} at byte {error.start + 1} of the line"
            remedy = "convert it to UTF-8" + for_flag("encoding", ", or give --encoding, e.g. cp1252")
            errors.handle(problem, path, first_line + len(lines) - 1, remedy)
    return lines


def empty_file(path: str | Path) -> InputError:
    """Make the error for a file, or standard input, without a line."""
    what = "file" if isinstance(path, Path) else "input"
    return InputError(f"the {what} is empty", path=path, remedy="give one record per line")
