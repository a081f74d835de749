r"""Message catalogues of gettext (.po and .mo) as parallel text.

A catalogue pairs the messages of a program, which are English, with their translations. Left out, and counted, are
obsolete messages, fuzzy ones (guessed from a similar message and unchecked), untranslated ones, the header, and on
request those with placeholders. Of a message with plural forms, both sides of the singular and of the plural are
pairs: the translation whose form the catalogue's `Plural-Forms` rule gives for the number 1, and that for 5 (which in
Slavic languages is the form for most numbers). Line breaks in messages become spaces.

`polib` parses the files.
"""

from __future__ import annotations

import gettext
import importlib.util
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ...errors import InputError, UsageError
from ..languages import is_language, language_tag
from ..text_blocks import COMPRESSED, LONGEST_LINE_BYTES, read_blocks, refuse_bare_returns, refuse_packed
from ..text_files import LineErrors
from .tmx import single_line

PLURALS = ("pair", "skip")
_SINGULAR, _PLURAL = 1, 5
_LONGEST_MESSAGE = 1 << 18
"""In characters. polib puts the lines of a message together one by one, and copies what it has each time."""
_MAGIC = {b"\xde\x12\x04\x95", b"\x95\x04\x12\xde"}
_LINE = re.compile(r"\(line (\d+)\)")
_COMMENT = re.compile(r"^\s*#(,|~(?!\||\s*#))?(.*)", re.DOTALL)
_PO_LINE = re.compile(
    r"\s*(?:#,.*|(?P<obsolete>#~ )?(?:(?P<keyword>msgctxt|msgid|msgid_plural|msgstr(?:\s*\[\s*\d+\s*\])?)\s*)?"
    r'(?P<strings>(?:"(?:[^"\\]|\\.)*+"\s*+)++)|)',
    re.DOTALL,
)
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_BYTES = re.compile(r"(?:\\(?:[0-7]{1,3}|x[0-9A-Fa-f]+))++|\\.", re.DOTALL)
_BYTE = re.compile(r"\\(?:x([0-9A-Fa-f]+)|([0-7]+))")
_RULE = re.compile(r"nplurals\s*=\s*(\d+)\s*;\s*plural\s*=\s*([^;]+)")
# printf and Python (%s, %(name)d, %1$s, %1), braces ({0}, {name}, {{ name }}, ${name}), shell ($NAME), and mark-up.
_PLACEHOLDER = re.compile(
    r"%(?:\([^()]*\)|\d+\$)?[-+#0]*(?:\d+|\*)?(?:\.\d+)?(?:hh?|ll?|[qjztL])?[diouxXeEfFgGcrsaSp]|%\d"
    r"|\$?\{[^{}]*\}|\$[A-Za-z_]\w*|</?[A-Za-z][^<>]*>"
)


@dataclass(frozen=True)
class Catalogue:
    """A catalogue file.

    Attributes:
        trusted: Whether its place says that it is in the language asked for; otherwise its header must.
    """

    path: Path
    trusted: bool


class _Text(str):
    """A text whose lines end at line feeds only: `str.splitlines` would break messages at U+2028 or a form feed."""

    __slots__ = ()

    def splitlines(self, keepends: bool = False) -> list[str]:
        """Splits the text at line feeds."""
        return [line.removesuffix("\r") for line in self.split("\n")]


def find_catalogues(path: Path, lang: str) -> list[Catalogue]:
    """Finds the catalogues in a language: the file itself, or all .po and .mo files below a folder.

    Where a .po and a .mo file have one name, the .po file is taken. In a folder, the language is that
    of the folder above `LC_MESSAGES`, or the name of the file or of its folder, or else what the header says.
    """
    if not path.exists():
        raise InputError("no such file or folder", path=path, remedy="check --gettext")
    if not path.is_dir():
        if _kind(path) is None:
            raise InputError("the name ends neither in .po nor in .mo", path=path, remedy="give a gettext catalogue")
        return [Catalogue(path, trusted=False)]
    files = [file for file in sorted(path.rglob("*")) if file.is_file() and _kind(file) is not None]
    sources = {_stem(file) for file in files if _kind(file) == ".po"}
    catalogues: list[Catalogue] = []
    others: set[str] = set()
    for file in files:
        if _kind(file) == ".mo" and _stem(file) in sources:
            continue
        place = _stem(file.resolve())
        standard = place.parent.name == "LC_MESSAGES"
        tags = [place.parent.parent.name] if standard else [place.name, place.parent.name]
        if any(is_language(tag, lang) for tag in tags):
            catalogues.append(Catalogue(file, trusted=True))
        elif standard and language_tag(tags[0]):
            others.update(tags)
        else:
            catalogues.append(Catalogue(file, trusted=False))
    if not catalogues:
        names = ", ".join(sorted(others)[:20])
        raise InputError(
            f"no catalogue in {lang}" if names else "no gettext catalogue (.po, .mo)",
            path=path,
            remedy=f"there are {names}" if names else "name the folder that holds them",
        )
    return catalogues


def package_folders(package: str) -> list[Path]:
    """Returns the folders of an installed Python package without importing it."""
    if not package.isidentifier():
        raise UsageError(
            f"--gettext-package `{package}` is not a package name", remedy="give one top-level package, e.g. django"
        )
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise InputError(f"no package `{package}` is installed here", remedy="install it, or give --gettext a folder")
    return [Path(folder) for folder in spec.submodule_search_locations]


def read_catalogues(
    catalogues: Sequence[Catalogue],
    lang: str,
    english: str,
    errors: LineErrors,
    *,
    plurals: str = "pair",
    drop_placeholders: bool = False,
) -> Iterator[tuple[np.ndarray, dict[str, pa.Array]]]:
    """Streams the messages of catalogues, one catalogue at a time.

    Args:
        catalogues: The files, from :func:`find_catalogues`.
        lang: Language code of the translations.
        english: The name of the English column, `source` or `target`; the translations go to the other.
        errors: What to do about a malformed file, which is left out whole under `skip`. Messages that are left out
            are counted there under `obsolete`, `fuzzy`, `untranslated`, `plural` and `placeholder`.
        plurals: `pair` or `skip` messages with plural forms.
        drop_placeholders: Leave out messages with `%s`, `{name}`, `$name`, mark-up and the like on either side.

    Yields:
        The numbers of the messages (rows,), int64, from 1 over all files, and the arrays `source` and `target`.
    """
    foreign = "source" if english == "target" else "target"
    number = used = 0
    others: set[str] = set()
    for index, catalogue in enumerate(catalogues, start=1):
        try:
            entries = _parse(catalogue.path)
        except InputError as error:
            if errors.policy == "raise":
                raise
            errors.handle_record(error.message, catalogue.path, error.line or 1, "fix the file", index)
            continue
        tag = entries.metadata.get("Language", "")
        if not catalogue.trusted and (language_tag(tag) or len(catalogues) > 1) and not is_language(tag, lang):
            others.add(tag or "unstated")
            continue
        used += 1
        pairs: list[tuple[str, str]] = []
        rule = _plural_rule(entries.metadata.get("Plural-Forms", ""))
        for entry in entries:
            pairs += _pairs_of(entry, rule, errors, plurals, drop_placeholders)
        if pairs:
            numbers = np.arange(number + 1, number + 1 + len(pairs), dtype=np.int64)
            number += len(pairs)
            left, right = zip(*pairs, strict=True)
            yield numbers, {english: pa.array(left, pa.string()), foreign: pa.array(right, pa.string())}
    if not used and others:
        raise InputError(
            f"no catalogue in {lang}",
            path=catalogues[0].path,
            remedy=f"the languages found are {', '.join(sorted(others)[:20])}",
        )


def _pairs_of(
    entry: Any, rule: tuple[int, int], errors: LineErrors, plurals: str, drop_placeholders: bool
) -> Iterator[tuple[str, str]]:
    """Returns the pairs of a message, English first, and counts those that are left out."""
    if entry.obsolete:
        errors.left_out["obsolete"] += 1
        return
    if "fuzzy" in entry.flags:
        errors.left_out["fuzzy"] += 1
        return
    pairs = [(entry.msgid, entry.msgstr)]
    if entry.msgid_plural:
        if plurals == "skip":
            errors.left_out["plural"] += 1
            return
        singular, plural = (entry.msgstr_plural.get(form, "") for form in rule)
        # A language without plural forms has one translation: that of the general message.
        pairs = [(entry.msgid, singular)] if rule[0] != rule[1] else []
        pairs.append((entry.msgid_plural, plural))
    for english, foreign in pairs:
        if not foreign.strip():
            errors.left_out["untranslated"] += 1
        elif drop_placeholders and (_PLACEHOLDER.search(english) or _PLACEHOLDER.search(foreign)):
            errors.left_out["placeholder"] += 1
        else:
            yield single_line(english), single_line(foreign)


def _plural_rule(header: str) -> tuple[int, int]:
    """Returns the indices of the forms for 1 and for 5, by the header `nplurals=…; plural=…;` of a catalogue."""
    match = _RULE.search(header)
    if match is None:
        return 0, 1
    try:
        # The standard library's own parser of this small language; it allows nothing but arithmetic on n.
        form = gettext.c2py(match[2].strip())
        return int(form(_SINGULAR)), int(form(_PLURAL))
    except (ValueError, ZeroDivisionError, OverflowError):
        return 0, min(1, max(int(match[1][:3]) - 1, 0))


def _parse(path: Path) -> Any:
    """Parses a catalogue."""
    import polib

    content = bytearray()
    for block in read_blocks(path):
        content += block
        if len(content) > LONGEST_LINE_BYTES:
            raise InputError(f"a catalogue of more than {LONGEST_LINE_BYTES >> 20} MiB", path=path, remedy="split it")
    raw = bytes(content)
    if not raw:
        raise InputError("the file is empty", path=path, remedy="give a gettext catalogue")
    refuse_packed(raw, path)
    if _kind(path) == ".mo" and raw[:4] not in _MAGIC:
        raise InputError("not a compiled gettext catalogue", path=path, remedy="give what msgfmt made")
    # polib takes a text that is the name of a file for the file; no name holds a line feed or a NUL.
    encoding = polib.detect_encoding(raw + b"\n\0", True)
    try:
        if _kind(path) == ".mo":
            _check_table(raw, path)
            return polib.mofile(raw + b"\0", encoding=encoding)
        refuse_bare_returns(raw, path)
        text = raw.decode("utf-8-sig" if encoding.lower().replace("_", "-") in {"utf-8", "utf8"} else encoding)
        return polib.pofile(_Text(_plain_lines(text, encoding, path) + "\n"), encoding="utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1 if _kind(path) == ".po" else None
        raise InputError(
            f"not {encoding}: byte 0x{error.object[error.start]:02x}",
            path=path,
            line=line,
            remedy="convert it, or correct the charset in its header",
        ) from error
    except InputError:
        raise
    except Exception as error:
        # The parser lets any error of its own through for a malformed file.
        lines = _LINE.findall(str(error))
        raise InputError(
            "not a well-formed gettext catalogue",
            path=path,
            line=int(lines[-1]) if lines else None,
            remedy="fix it; msgfmt --check names the fault",
        ) from error


def _spaced(comment: re.Match[str]) -> str:
    """Puts a space behind the mark of flags and of obsolete lines, without which polib fails; others are not read."""
    return f"#{comment[1]} {comment[2].strip()}" if comment[1] and comment[2].strip() else ""


def _check_table(raw: bytes, path: Path) -> None:
    """Checks that the messages of a compiled catalogue are as many and as long as its bytes can hold."""
    # The format (https://www.gnu.org/software/gettext/manual/html_node/MO-Files.html): the number of messages at byte
    # 8, then the offsets of the tables of originals and translations, with a length and an offset for each message.
    kind = np.dtype("<u4" if raw[:4] == b"\xde\x12\x04\x95" else ">u4")
    whole = raw[: len(raw) - len(raw) % 4]
    numbers = np.frombuffer(whole, kind) if len(whole) >= 20 else np.zeros(5, kind)
    count = int(numbers[2])
    total = 0
    for begin in numbers[3:5].tolist():
        # Tables begin at multiples of four in what every tool writes.
        table = np.frombuffer(raw[begin : begin + 8 * count], np.uint8)
        if len(table) == 8 * count:
            total += int(table.view(kind)[::2].sum(dtype=np.uint64))
        else:
            total += len(raw)
    if total > len(raw):
        raise InputError(
            f"damaged: its {len(raw):,} bytes cannot hold the stated {count:,} messages of {total:,} in all",
            path=path,
            remedy="re-create it with msgfmt",
        )


def _plain_lines(content: str, encoding: str, path: Path) -> str:
    """Writes lines as polib reads them: one string in each, a space before it, one character for each byte."""
    # Every line must be blank, a comment, or a keyword with strings: polib cuts off what it takes for quotes.
    characters = partial(_characters, encoding=encoding)
    plain = []
    size = 0
    for number, line in enumerate(content.split("\n"), start=1):
        # What begins with a letter is a keyword, with a string of its own.
        size = size + len(line) if line.lstrip()[:1] in ("#", '"') else len(line)
        if size > _LONGEST_MESSAGE:
            raise InputError(
                f"a message or comment of more than {_LONGEST_MESSAGE:,} characters",
                path=path,
                line=number,
                remedy="a message must hold a few sentences",
            )
        line = _COMMENT.sub(_spaced, line)
        match = _PO_LINE.fullmatch(line)
        if match is None:
            raise InputError(
                "not a line of a gettext catalogue",
                path=path,
                line=number,
                remedy="fix it; msgfmt --check names the fault",
            )
        if match["strings"]:
            try:
                strings = _STRING.findall(match["strings"])
                strings = [_BYTES.sub(characters, text) if "\\" in text else text for text in strings]
            except UnicodeDecodeError as error:
                raise InputError(
                    f"escaped bytes that are not {encoding}", path=path, line=number, remedy="write the characters"
                ) from error
            keyword = "".join((match["keyword"] or "").split())
            line = f'{match["obsolete"] or ""}{keyword} "{"".join(strings)}"'
        plain.append(line)
    return "\n".join(plain)


def _characters(escape: re.Match[str], encoding: str) -> str:
    """Returns the characters of escaped bytes, as GNU gettext does; other escapes than a bell's are left to polib."""
    if not _BYTE.match(escape[0]):
        return "\a" if escape[0] == "\\a" else escape[0]
    # Of a hexadecimal number, which may be of any length, the last byte counts.
    values = (
        int(hexadecimal[-2:], 16) if hexadecimal else int(octal, 8) & 0xFF
        for hexadecimal, octal in _BYTE.findall(escape[0])
    )
    text = bytes(values).decode(encoding)
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _kind(path: Path) -> str | None:
    suffix = Path(path.stem).suffix if path.suffix in COMPRESSED else path.suffix
    return suffix if suffix in {".po", ".mo"} else None


def _stem(path: Path) -> Path:
    """The path without `.po` or `.mo` and the suffix of a compression."""
    return (path.with_suffix("") if path.suffix in COMPRESSED else path).with_suffix("")
