"""Message catalogues of gettext (.po and .mo) as parallel text, parsed by `polib`.

A catalogue pairs the messages of a program, which are English, with their translations. Left out, and counted, are
obsolete messages, fuzzy ones (guessed from a similar message and unchecked) and untranslated ones. Of a message with
plural forms, the singular and the plural are pairs where the language has two forms or one. Line breaks in messages
become spaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ...errors import InputError
from ..languages import is_language, language_tag
from ..text_blocks import LineErrors, files_below
from ..text_files import Block
from .tmx import single_line

_LINE = re.compile(r"\(line (\d+)\)")


def find_catalogues(path: Path) -> list[Path]:
    """Finds the catalogues: the file itself, or those below a folder; of a .po and a .mo of one name the .po."""
    if path.is_file():
        return [path]
    if not path.exists():
        raise InputError("no such file or folder", path=path, remedy="check --gettext")
    by_name: dict[Path, Path] = {}
    for suffix in (".mo", ".po"):
        files = [file for file in files_below(path) if file.suffix == suffix and file.stat().st_size]
        by_name |= {file.with_suffix(""): file for file in files}
    if not by_name:
        raise InputError("no gettext catalogue (.po, .mo)", path=path, remedy="name the folder that holds them")
    return [by_name[name] for name in sorted(by_name)]


def read_catalogues(catalogues: Sequence[Path], lang: str, english: str, errors: LineErrors) -> Iterator[Block]:
    """Streams the messages of catalogues as `source` and `target`, one catalogue at a time, numbered from 1.

    Args:
        catalogues: The files, from :func:`find_catalogues`.
        lang: Language code of the translations. The folder above `LC_MESSAGES`, or else the header, the name or the
            folder of a file says that it is in that; a single file of which none tells is taken.
        english: The name of the English column, `source` or `target`; the translations go to the other.
        errors: What to do about a malformed file, which is left out whole under `skip`. Messages that are left out
            are counted there under `obsolete`, `fuzzy`, `plural` and `untranslated`.
    """
    foreign = "source" if english == "target" else "target"
    number = used = 0
    others: set[str] = set()
    for path in catalogues:
        entries = _parsed(path, errors)
        if entries is None:
            continue
        folder = path.parent.parent if path.parent.name == "LC_MESSAGES" else path.parent
        tag = entries.metadata.get("Language", "")
        names = [tag, path.stem, folder.name]
        if folder != path.parent and language_tag(folder.name):
            names = [folder.name]
        is_stated = language_tag(names[0]) or len(catalogues) > 1
        if is_stated and not any(is_language(name, lang) for name in names):
            others.add(names[0] or "unstated")
            continue
        used += 1
        pairs = [pair for entry in entries for pair in _pairs_of(entry, errors)]
        if pairs:
            numbers = np.arange(number + 1, number + 1 + len(pairs), dtype=np.int64)
            number += len(pairs)
            left, right = zip(*pairs, strict=True)
            yield numbers, {english: pa.array(left, pa.string()), foreign: pa.array(right, pa.string())}
    if not used and others:
        found = ", ".join(sorted(others)[:20])
        raise InputError(f"no catalogue in {lang}", path=catalogues[0], remedy=f"the languages found are {found}")


def _pairs_of(entry: Any, errors: LineErrors) -> Iterator[tuple[str, str]]:
    """Gives the pairs of a message, English first, and counts what is left out."""
    forms = list(entry.msgstr_plural.values())
    for reason, applies in (
        ("obsolete", entry.obsolete),
        ("fuzzy", "fuzzy" in entry.flags),
        ("plural", len(forms) > 2),
    ):
        if applies:
            errors.left_out[reason] += 1
            return
    pairs = [(entry.msgid, entry.msgstr)]
    if forms:
        # A language without plural forms has one translation: that of the plural.
        pairs = list(zip((entry.msgid, entry.msgid_plural)[-len(forms) :], forms, strict=True))
    for english, foreign in pairs:
        if foreign.strip():
            yield single_line(english), single_line(foreign)
        else:
            errors.left_out["untranslated"] += 1


def _parsed(path: Path, errors: LineErrors) -> Any:
    """Parses a catalogue; None for a malformed one, which is reported."""
    import polib

    try:
        return (polib.mofile if path.suffix == ".mo" else polib.pofile)(str(path))
    except Exception as error:
        # The parser lets any error of its own through for a malformed file.
        lines = _LINE.findall(str(error))
        message = f"not a well-formed gettext catalogue: {str(error)[:200]}"
        errors.handle(message, path, int(lines[-1]) if lines else 1, "fix it; msgfmt --check names the fault")
        return None
