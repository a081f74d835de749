"""Message catalogues of gettext (.po and .mo) as parallel text, parsed by `polib`.

A catalogue pairs the messages of a program, which are English, with their translations. Left out, and counted, are
obsolete messages, fuzzy ones (guessed from a similar message and unchecked), untranslated ones, the header, and on
request those with placeholders. Of a message with plural forms, both sides of the singular and of the plural are
pairs: the translation whose form the catalogue's `Plural-Forms` rule gives for the number 1, and that for 5 (which in
Slavic languages is the form for most numbers). Line breaks in messages become spaces.
"""

from __future__ import annotations

import gettext
import importlib.util
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ...errors import InputError, UsageError
from ..languages import is_language, language_tag
from ..text_blocks import COMPRESSED, LineErrors, check_readable, read_blocks, refuse_packed
from ..text_files import Block
from .tmx import single_line

PLURALS = ("pair", "skip")
_SINGULAR, _PLURAL = 1, 5
_LINE = re.compile(r"\(line (\d+)\)")
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
        stem = _stem(file.resolve())
        standard = stem.parent.name == "LC_MESSAGES"
        tags = [stem.parent.parent.name] if standard else [stem.name, stem.parent.name]
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
) -> Iterator[Block]:
    """Streams the messages of catalogues as `source` and `target`, one catalogue at a time, numbered from 1.

    Args:
        catalogues: The files, from :func:`find_catalogues`.
        lang: Language code of the translations.
        english: The name of the English column, `source` or `target`; the translations go to the other.
        errors: What to do about a malformed file, which is left out whole under `skip`. Messages that are left out
            are counted there under `obsolete`, `fuzzy`, `untranslated`, `plural` and `placeholder`.
        plurals: `pair` or `skip` messages with plural forms.
        drop_placeholders: Leave out messages with `%s`, `{name}`, `$name`, mark-up and the like on either side.
    """
    foreign = "source" if english == "target" else "target"
    number = used = 0
    others: set[str] = set()
    for catalogue in catalogues:
        try:
            entries = _parse(catalogue.path)
        except InputError as error:
            if errors.policy == "raise":
                raise
            errors.handle(error.message, catalogue.path, error.line or 1, "fix the file")
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
    kind = "obsolete" if entry.obsolete else "fuzzy" if "fuzzy" in entry.flags else None
    if entry.msgid_plural and plurals == "skip":
        kind = kind or "plural"
    if kind is not None:
        errors.left_out[kind] += 1
        return
    pairs = [(entry.msgid, entry.msgstr)]
    if entry.msgid_plural:
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
    """Parses a catalogue; one that is compressed is unpacked to a temporary file first."""
    import polib

    check_readable(path)
    refuse_packed(next(read_blocks(path)), path)
    with tempfile.NamedTemporaryFile(suffix=_kind(path)) as unpacked:
        name = str(path)
        if path.suffix in COMPRESSED:
            unpacked.writelines(read_blocks(path))
            unpacked.flush()
            name = unpacked.name
        try:
            return polib.mofile(name) if _kind(path) == ".mo" else polib.pofile(name)
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
