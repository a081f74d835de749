"""Translation memories (TMX 1.1 to 1.4b) and message catalogues of gettext (.po and .mo) as parallel text.

A translation memory is parsed as a stream, so memory does not grow with the file. Faults of translation tools are
repaired: control characters become spaces, and entities of HTML become characters; entities that the file declares
are text. Obsolete, fuzzy and untranslated messages of catalogues are left out and counted; singular and plural of a
message are two pairs, or one pair in a language with one form.
"""

from __future__ import annotations

import codecs
import html
import re
from collections.abc import Iterator, Sequence
from html.entities import html5
from itertools import chain, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast
from xml.etree import ElementTree

from ...errors import InputError
from ...text.languages import is_language, language_tag
from ..text_blocks import (
    COMPRESSED,
    LineErrors,
    empty_file,
    files_below,
    read_blocks,
    refuse_packed,
    without_compression,
)
from ..text_files import Block, blocks_of

_SPACE = re.compile(r"\s+")
_BREAK = re.compile(r"[\t\n\r]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_REFERENCE = re.compile(r"&(#?\w{1,32});")
_DECLARED = re.compile(rb"""^<\?xml[^>]*?encoding\s*=\s*["']([\w.-]+)["']""")
_LONGEST_REFERENCE = 34
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_TEXT_ELEMENTS = {"hi", "mrk"}
"""The elements with text in a segment; other elements are codes of the original format."""


def single_line(text: str) -> str:
    """Put a text on one line: white space with a tab or line end becomes one space, and the text is stripped."""
    # One pattern for a line end and the space around it would search again from every space.
    if _BREAK.search(text):
        text = _SPACE.sub(lambda match: " " if _BREAK.search(match[0]) else match[0], text)
    return text.strip()


def read_tmx(path: Path, source_lang: str, target_lang: str, errors: LineErrors) -> Iterator[Block]:
    """Stream the pairs of a translation memory in two languages as `source` and `target`, numbered from 1.

    A unit with several variants in a language gives every combination; one that lacks a language is counted.
    """

    def pairs() -> Iterator[Sequence[str]]:
        has_pair = False
        tags: set[str] = set()
        for unit_number, unit in enumerate(_units(path), start=1):
            if not all(tag for tag, _ in unit):
                fault = f"unit {unit_number}: a variant (<tuv>) without a language (xml:lang)"
                errors.handle(fault, path, unit_number, "fix the unit")
                continue
            tags.update(tag for tag, _ in unit)
            sources = [text for tag, text in unit if is_language(tag, source_lang)]
            targets = [text for tag, text in unit if is_language(tag, target_lang)]
            if sources and targets:
                has_pair = True
            else:
                errors.left_out["other_languages"] += 1
            yield from product(sources, targets)
        if not has_pair:
            remedy = f"its languages are {', '.join(sorted(tags)) or 'not stated'}"
            raise InputError(f"no unit has both {source_lang} and {target_lang}", path=path, remedy=remedy)

    return blocks_of(["source", "target"], enumerate(pairs(), start=1))


def tmx_texts(path: Path) -> list[str]:
    """Read the sentences of a translation memory, in all its languages."""
    return [text for unit in _units(path) for _, text in unit]


def _units(path: Path) -> Iterator[list[tuple[str, str]]]:
    """Stream the units of a file: the language and the text of each variant of a sentence."""
    parser: ElementTree.XMLPullParser[ElementTree.Element] = ElementTree.XMLPullParser(("start", "end"))
    root: str | None = None
    body: ElementTree.Element | None = None
    try:
        for text in chain(_texts(path), [None]):
            if text is None:
                parser.close()
            else:
                parser.feed(_REFERENCE.sub(_character, _CONTROL.sub(" ", text)))
            for event, element in cast("Iterator[tuple[str, ElementTree.Element]]", parser.read_events()):
                name = _name(element)
                root = root or name
                if root != "tmx":
                    raise InputError(f"not TMX: the root is <{root}>", path=path, line=1, remedy="give a TMX file")
                if event == "start" and name == "body":
                    body = element
                elif event == "end" and name == "tu":
                    yield [
                        (variant.get(_XML_LANG) or variant.get("lang") or "", single_line(_text(segment)))
                        for variant in element
                        if _name(variant) == "tuv"
                        for segment in variant
                        if _name(segment) == "seg"
                    ]
                    if body is not None:
                        body.clear()  # frees the memory of the units so far
    except ElementTree.ParseError as error:
        remedy = "fix or download the file again: nothing after this position can be read"
        raise InputError(f"not well-formed XML: {error}", path=path, line=error.position[0], remedy=remedy) from error


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2].lower()


def _text(element: ElementTree.Element) -> str:
    """Return the text of a segment without its codes."""
    texts = [element.text or ""]
    for child in element:
        texts += [_text(child) if _name(child) in _TEXT_ELEMENTS else "", child.tail or ""]
    return "".join(texts)


def _character(reference: re.Match[str]) -> str:
    """Replace a reference to a character: a control character becomes a space, an unknown name stays text."""
    if reference[1].startswith("#"):
        return html.escape(_CONTROL.sub(" ", html.unescape(reference[0]) or " "))
    return html.escape(html5.get(f"{reference[1]};", reference[0]))


def _texts(path: Path) -> Iterator[str]:
    """Stream the text of a file, in the encoding of its byte order mark or declaration; references stay whole."""
    blocks = read_blocks(path)
    head = next(blocks, b"")
    if not head:
        raise empty_file(path)
    refuse_packed(head, path)
    declared = _DECLARED.match(head.removeprefix(codecs.BOM_UTF8))
    encoding = declared[1].decode() if declared else "utf-8"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif encoding.lower() in {"utf-8", "utf-16"}:
        # Some declare UTF-16 and write UTF-8.
        encoding = "utf-8-sig"
    rest = ""
    try:
        for decoded in codecs.iterdecode(chain([head], blocks), encoding):
            text = rest + decoded
            begin = text.rfind("&", max(0, len(text) - _LONGEST_REFERENCE))
            cut = len(text) if begin < 0 else begin
            rest = text[cut:]
            yield text[:cut]
        yield rest
    except (UnicodeError, LookupError) as error:
        raise InputError(f"unreadable encoding: {error}", path=path, remedy="convert the file to UTF-8") from error


def find_catalogues(path: Path) -> list[Path]:
    """Find the catalogues in a folder, or return the file itself; a .po file replaces the .mo file of its name."""
    if path.is_file():
        return [path]
    if not path.exists():
        raise InputError("no such file or folder", path=path, remedy="check --gettext")
    by_name: dict[Path, Path] = {}
    for suffix in (".mo", ".po"):
        files = [
            file for file in files_below(path) if without_compression(file).suffix == suffix and file.stat().st_size
        ]
        by_name |= {without_compression(file).with_suffix(""): file for file in files}
    if not by_name:
        raise InputError("no gettext catalogue (.po, .mo)", path=path, remedy="name the folder that holds them")
    return [by_name[name] for name in sorted(by_name)]


def read_catalogues(catalogues: Sequence[Path], lang: str, english: str, errors: LineErrors) -> Iterator[Block]:
    """Stream the messages of catalogues in a language as `source` and `target`, numbered from 1.

    A single catalogue without a language is accepted. Messages that are left out are counted by reason.
    """

    def pairs() -> Iterator[Sequence[str]]:
        used = False
        others: set[str] = set()
        for path in catalogues:
            entries = _parsed(path, errors)
            if entries is None:
                continue
            names = _languages_of(path, entries)
            if (language_tag(names[0]) or len(catalogues) > 1) and not any(is_language(name, lang) for name in names):
                others.add(names[0] or "unstated")
                continue
            used = True
            for entry in entries:
                yield from _pairs_of(entry, errors)
        if not used and others:
            remedy = f"the languages are {', '.join(sorted(others)[:20])}"
            raise InputError(f"no catalogue in {lang}", path=catalogues[0], remedy=remedy)

    return blocks_of([english, "source" if english == "target" else "target"], enumerate(pairs(), start=1))


def _languages_of(path: Path, entries: Any) -> list[str]:
    """Return possible names of the language of a catalogue: the folder above `LC_MESSAGES`, else header and name."""
    if path.parent.name == "LC_MESSAGES" and language_tag(path.parent.parent.name):
        return [path.parent.parent.name]
    return [entries.metadata.get("Language", ""), without_compression(path).stem, path.parent.name]


def _pairs_of(entry: Any, errors: LineErrors) -> Iterator[tuple[str, str]]:
    """Stream the pairs of a message, English first, and count the pairs that are left out."""
    forms = list(entry.msgstr_plural.values())
    reasons = {"obsolete": entry.obsolete, "fuzzy": "fuzzy" in entry.flags, "plural": len(forms) > 2}
    if reason := next((name for name, applies in reasons.items() if applies), None):
        errors.left_out[reason] += 1
        return
    pairs = [(entry.msgid, entry.msgstr)]
    if forms:
        # A language without plural forms translates the plural only.
        pairs = list(zip((entry.msgid, entry.msgid_plural)[-len(forms) :], forms, strict=True))
    for english, foreign in pairs:
        if foreign.strip():
            yield single_line(english), single_line(foreign)
        else:
            errors.left_out["untranslated"] += 1


def _parsed(path: Path, errors: LineErrors) -> Any:
    """Parse a catalogue; None for a malformed one, which is reported."""
    import polib

    parse = polib.mofile if without_compression(path).suffix == ".mo" else polib.pofile
    with TemporaryDirectory() as folder:
        plain = path
        if path.suffix in COMPRESSED:  # which the parser does not read
            plain = Path(folder) / without_compression(path).name
            plain.write_bytes(b"".join(read_blocks(path)))
        try:
            return parse(str(plain))
        except Exception as error:
            # The parser lets any error of its own through for a malformed file.
            lines = re.findall(r"\(line (\d+)\)", str(error))
            message = f"not a well-formed gettext catalogue: {str(error).replace(str(plain), path.name)[:200]}"
            errors.handle(message, path, int(lines[-1]) if lines else 1, "fix it; msgfmt --check shows the error")
            return None
