"""Message catalogues of gettext (.po and .mo) as parallel text, parsed by `polib`.

A catalogue pairs the messages of a program, which are English, with their translations. Left out, and counted, are
obsolete messages, fuzzy ones (guessed from a similar message and unchecked), untranslated ones, and the header. Of a
message with plural forms, both sides of the singular and of the plural are pairs: the translation whose form the
catalogue's `Plural-Forms` rule gives for the number 1, and that for 5 (which in Slavic languages is the form for most
numbers). Line breaks in messages become spaces.
"""

from __future__ import annotations

import gettext
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ...errors import InputError
from ..languages import is_language, language_tag
from ..text_blocks import COMPRESSED, LineErrors, check_readable, read_blocks, refuse_packed
from ..text_files import Block
from .tmx import single_line

_SINGULAR, _PLURAL = 1, 5
_LINE = re.compile(r"\(line (\d+)\)")
_RULE = re.compile(r"nplurals\s*=\s*(\d+)\s*;\s*plural\s*=\s*([^;]+)")


def find_catalogues(path: Path, lang: str) -> list[Path]:
    """Finds the catalogues that may be in a language: the file itself, or those below a folder.

    Where a .po and a .mo file have one name, the .po file is taken. Catalogues of other languages by their place,
    which is the folder above `LC_MESSAGES`, are left out.
    """
    if not path.exists():
        raise InputError("no such file or folder", path=path, remedy="check --gettext")
    if not path.is_dir():
        if _kind(path) is None:
            raise InputError("the name ends neither in .po nor in .mo", path=path, remedy="give a gettext catalogue")
        return [path]
    files = [file for file in sorted(path.rglob("*")) if file.is_file() and _kind(file) is not None]
    sources = {_stem(file) for file in files if _kind(file) == ".po"}
    files = [file for file in files if _kind(file) == ".po" or _stem(file) not in sources]
    if not files:
        raise InputError("no gettext catalogue (.po, .mo)", path=path, remedy="name the folder that holds them")
    places = {file.parent.parent.name for file in files if file.parent.name == "LC_MESSAGES"}
    others = {place for place in places if language_tag(place) and not is_language(place, lang)}
    catalogues = [file for file in files if file.parent.name != "LC_MESSAGES" or file.parent.parent.name not in others]
    if not catalogues:
        raise _no_catalogue(lang, path, others)
    return catalogues


def read_catalogues(catalogues: Sequence[Path], lang: str, english: str, errors: LineErrors) -> Iterator[Block]:
    """Streams the messages of catalogues as `source` and `target`, one catalogue at a time, numbered from 1.

    Args:
        catalogues: The files, from :func:`find_catalogues`.
        lang: Language code of the translations. The name of a file or its folder says that it is in that, or else its
            header must; a single file of which neither tells is taken.
        english: The name of the English column, `source` or `target`; the translations go to the other.
        errors: What to do about a malformed file, which is left out whole under `skip`. Messages that are left out
            are counted there under `obsolete`, `fuzzy` and `untranslated`.
    """
    foreign = "source" if english == "target" else "target"
    number = used = 0
    others: set[str] = set()
    for path in catalogues:
        try:
            entries = _parse(path)
        except InputError as error:
            if errors.policy == "raise":
                raise
            errors.handle(error.message, path, error.line or 1, "fix the file")
            continue
        folder = path.parent.parent if path.parent.name == "LC_MESSAGES" else path.parent
        names = (_stem(path).name, folder.name)
        tag = entries.metadata.get("Language", "")
        stated = language_tag(tag) or len(catalogues) > 1
        if stated and not any(is_language(name, lang) for name in (tag, *names)):
            others.add(tag or "unstated")
            continue
        used += 1
        rule = _plural_rule(entries.metadata.get("Plural-Forms", ""))
        pairs = [pair for entry in entries for pair in _pairs_of(entry, rule, errors)]
        if pairs:
            numbers = np.arange(number + 1, number + 1 + len(pairs), dtype=np.int64)
            number += len(pairs)
            left, right = zip(*pairs, strict=True)
            yield numbers, {english: pa.array(left, pa.string()), foreign: pa.array(right, pa.string())}
    if not used and others:
        raise _no_catalogue(lang, catalogues[0], others)


def _no_catalogue(lang: str, path: Path, others: set[str]) -> InputError:
    found = ", ".join(sorted(others)[:20])
    return InputError(f"no catalogue in {lang}", path=path, remedy=f"the languages found are {found}")


def _pairs_of(entry: Any, rule: tuple[int, int], errors: LineErrors) -> Iterator[tuple[str, str]]:
    """Gives the pairs of a message, English first, and counts what is left out."""
    if entry.obsolete or "fuzzy" in entry.flags:
        errors.left_out["obsolete" if entry.obsolete else "fuzzy"] += 1
        return
    pairs = [(entry.msgid, entry.msgstr)]
    if entry.msgid_plural:
        singular, plural = (entry.msgstr_plural.get(form, "") for form in rule)
        # A language without plural forms has one translation: that of the general message.
        pairs = [(entry.msgid, singular)] if rule[0] != rule[1] else []
        pairs.append((entry.msgid_plural, plural))
    for english, foreign in pairs:
        if foreign.strip():
            yield single_line(english), single_line(foreign)
        else:
            errors.left_out["untranslated"] += 1


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
    """Parses a catalogue, plain or compressed."""
    import polib

    check_readable(path)
    refuse_packed(next(read_blocks(path)), path)
    with tempfile.NamedTemporaryFile(suffix=_kind(path)) as unpacked:
        unpacked.writelines(read_blocks(path))
        unpacked.flush()
        try:
            return polib.mofile(unpacked.name) if _kind(path) == ".mo" else polib.pofile(unpacked.name)
        except Exception as error:
            # The parser lets any error of its own through for a malformed file.
            lines = _LINE.findall(str(error))
            raise InputError(
                f"not a well-formed gettext catalogue: {str(error).replace(unpacked.name, path.name)[:200]}",
                path=path,
                line=int(lines[-1]) if lines else None,
                remedy="fix it; msgfmt --check names the fault",
            ) from error


def _kind(path: Path) -> str | None:
    suffix = Path(path.stem).suffix if path.suffix in COMPRESSED else path.suffix
    return suffix if suffix in {".po", ".mo"} else None


def _stem(path: Path) -> Path:
    """The path without `.po` or `.mo` and the suffix of a compression."""
    return (path.with_suffix("") if path.suffix in COMPRESSED else path).with_suffix("")
