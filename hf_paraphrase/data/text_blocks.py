"""Lines of text files, plain or compressed, as strings, and what becomes of malformed ones, all without Arrow.

One set of rules holds for all raw files: UTF-8, a line ends at a line feed and nowhere else, a byte order mark at the
beginning is dropped, carriage returns before the line feed belong to the line end, and one inside a line is a space.
Every other character (a form feed, U+2028, quotes, "NA") is text. `str.splitlines` and CSV readers break some of these
rules, which shifts the two sides of a bitext against each other without any error.
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
from typing import IO, Any

from ..errors import InputError, UsageError
from ..settings import Settings, setting

BLOCK_BYTES = 4 << 20
DEFAULT_COLUMNS = ("sentence", "text", "sentence1", "sentence2")
"""The usual names of columns of sentences."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_KINDS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
COMPRESSED = frozenset(_KINDS)
"""The suffixes of compressed files."""
_RECORDS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".parquet": "parquet"}
_RECORDS |= {".arrow": "arrow"}
"""Files whose lines are not sentences, by the ends of their names."""
PLAIN_OR_COMPRESSED = f"plain or {', '.join(_KINDS)}"
"""What may be read, for the help texts of flags that take a text file."""
_PACKED = {
    b"PAR1": "a Parquet file",
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "compressed (.gz)",
    b"BZh91AY&SY": "compressed (.bz2)",
    b"\xfd7zXZ\0": "compressed (.xz)",
    b"\x28\xb5\x2f\xfd": "compressed (.zst)",
}
"""How files that are no text begin."""
_UTF_16 = re.compile(rb"\xff\xfe|\xfe\xff|(?:\0[\t\n\r -~]){4}|(?:[\t\n\r -~]\0){4}")
"""How it begins: with its byte order mark, or with four characters of ASCII."""


@dataclass(kw_only=True)
class FormatSettings(Settings):
    """How CSV, JSON lines and text files are read."""

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
    """What happens to a malformed line: an error (`raise`; `strict` names no flag to skip it), or left out (`skip`).

    `left_out` counts well-formed records that give no row; `skipped` are file, line and reason of malformed lines;
    the lines i of a file and of the file it is `aligned_with` are one record.
    """

    policy: str = "raise"
    left_out: Counter[str] = field(default_factory=Counter)
    skipped: dict[tuple[Path, int, str], None] = field(default_factory=dict)
    aligned_with: dict[Path, Path] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """The number of lines left out; line i of two aligned files is one line."""
        return len({(self.aligned_with.get(path, path), line) for path, line, _ in self.skipped})

    def handle(self, text: str, path: Path, line: int, remedy: str) -> None:
        """Raise for a malformed line, or note it."""
        if self.policy == "skip":
            self.skipped[path, line, text] = None
            return
        way_out = ", or skip such lines with --on-error skip" if self.policy == "raise" else ""
        raise InputError(text, path=path, line=line, remedy=f"{remedy}{way_out}")


StrictLines = partial(LineErrors, "strict")
"""A malformed line ends the work: leaving it out would shift the rows against the lines."""


def lines_of_text(path: Path, encoding: str | None = None) -> Iterator[list[str]]:
    """Stream the lines of a plain or compressed file as strings, a block of a few megabytes at a time."""
    return lines_of_blocks(read_blocks(path, encoding or "utf-8"), path)


def lines_of_blocks(blocks: Iterable[bytes], path: str | Path) -> Iterator[list[str]]:
    """Stream the lines of the bytes of a file, or of something else of this name."""
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


def kind_of_records(path: Path) -> str | None:
    """Return `csv`, `jsonl` or `parquet` by the end of a name; None for a file whose lines are sentences."""
    return _RECORDS.get(plain_suffix(path))


def plain_suffix(path: Path) -> str:
    """Return the suffix of a name in lower case, compression suffixes excluded."""
    return plain_name(path).suffix.lower()


def plain_name(path: Path) -> Path:
    """Return a path without the end of a compression."""
    return path.with_suffix("") if path.suffix.lower() in COMPRESSED else path


def kind_of_rows(path: Path) -> str | None:
    """Return the kind of a file; tab-separated values with a header are CSV."""
    return "csv" if plain_suffix(path) == ".tsv" else kind_of_records(path)


def refuse_records(path: Path) -> None:
    """Refuse a file that holds records with columns where lines are taken for sentences."""
    if (kind := kind_of_rows(path)) is not None:
        remedy = "give one sentence per line, or name its columns with --columns, if the verb has it"
        raise InputError(f"a {kind} file, whose lines are not sentences", path=path, remedy=remedy)


def files_below(folder: Path) -> Iterator[Path]:
    """List all files below a folder in a fixed order, hidden ones left out."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts):
            yield path


def check_readable(path: Path) -> None:
    """Check, before any long work, that a file exists and is not empty."""
    if not next(read_blocks(path), b"").removeprefix(_BYTE_ORDER_MARK):
        raise empty_file(path)


def read_blocks(path: Path, encoding: str = "utf-8") -> Iterator[bytes]:
    """Stream the decompressed bytes of a file, as UTF-8 if it has another encoding."""
    if encoding.lower() not in {"utf-8", "utf8", "utf-8-sig"}:
        try:
            for text in codecs.iterdecode(read_blocks(path), encoding):
                yield text.encode()
        except LookupError as error:
            raise UsageError(
                f"--encoding `{encoding}` is unknown", remedy="give one of Python's, e.g. cp1252"
            ) from error
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
        raise InputError("this is a folder, not a file", path=path, remedy="name the file in it") from error
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        kind = _KINDS.get(path.suffix)
        problem = f"damaged or truncated {kind} data" if kind else f"cannot read: {error}"
        remedy = "download it again; an uncompressed file must not have a compression suffix"
        raise InputError(problem, path=path, remedy=remedy) from error


def _open(path: Path) -> IO[bytes]:
    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    if path.suffix != ".zst":
        return openers.get(path.suffix, open)(path, "rb")
    import pyarrow as pa

    return pa.CompressedInputStream(pa.OSFile(str(path), "rb"), "zstd")


def whole_lines(blocks: Iterable[bytes], path: str | Path) -> Iterator[bytes]:
    """Stream blocks that end where a line ends; the line feed at the end of a block is taken off."""
    rest: list[bytes] = []
    mark, has_line_feed = _BYTE_ORDER_MARK, False
    for index, block in enumerate(blocks):
        if index == 0:
            refuse_packed(block, path)
            if _UTF_16.match(block):
                raise InputError(
                    "UTF-16, not UTF-8",
                    path=path,
                    remedy="convert it, or give --encoding utf-16, if the command has it",
                )
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
    """Refuse archives, Parquet files, and compressed files whose name does not say so."""
    for signature, kind in _PACKED.items():
        if block.startswith(signature):
            remedy = "unpack it, or give it its compression suffix"
            raise InputError(f"{kind}, not text", path=path, remedy=remedy)


def decoded_lines(block: bytes, path: Path, first_line: int, errors: LineErrors) -> list[str | None]:
    """Decode the lines of a block one by one; one that is not UTF-8 is reported, and None where that is skipped."""
    lines: list[str | None] = []
    for line in block.split(b"\n"):
        try:
            lines.append(clean_returns(line.decode("utf-8")))
        except UnicodeDecodeError as error:
            lines.append(None)
            problem = f"not UTF-8: byte 0x{line[error.start]:02x} at byte {error.start + 1} of the line"
            remedy = "convert it to UTF-8, or give --encoding, e.g. cp1252, if the command has it"
            errors.handle(problem, path, first_line + len(lines) - 1, remedy)
    return lines


def empty_file(path: str | Path) -> InputError:
    """Make the error for a file, or standard input, without a line."""
    what = "file" if isinstance(path, Path) else "input"
    return InputError(f"the {what} is empty", path=path, remedy="give one record per line")
