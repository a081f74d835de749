"""Translation memories (TMX 1.1 to 1.4b): an XML file of translation units, each with a sentence in several languages.

The file is parsed as a stream, so memory does not grow with it. Translation tools write what XML does not allow:
control characters become spaces, and entities of HTML their characters. Entities that the file declares are text.
"""

from __future__ import annotations

import codecs
import html
import re
from collections import Counter
from collections.abc import Iterator
from html.entities import html5
from itertools import chain
from pathlib import Path
from typing import cast
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa

from ...errors import InputError
from ..languages import is_language
from ..text_blocks import LineErrors, empty_file, read_blocks, refuse_packed
from ..text_files import Block

Unit = list[tuple[str, str]]
"""The language and the text of each variant of a sentence."""

_SPACE = re.compile(r"\s+")
_BREAK = re.compile(r"[\t\n\r]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_REFERENCE = re.compile(r"&(#?\w{1,32});")
_DECLARED = re.compile(rb"""^<\?xml[^>]*?encoding\s*=\s*["']([\w.-]+)["']""")
_LONGEST_REFERENCE = 34
_LONGEST_DECLARATION = 256
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_TEXT_ELEMENTS = {"hi", "mrk"}
"""Other elements in a segment are codes of the format it came from."""
_LISTED_LANGUAGES = 12


def single_line(text: str) -> str:
    """Puts a text on one line: white space with a tab or line end in it becomes one space, and none is at the ends."""
    # In one pattern with what stands around it, a line end would be sought from every space again.
    if _BREAK.search(text):
        text = _SPACE.sub(lambda found: " " if _BREAK.search(found[0]) else found[0], text)
    return text.strip()


def read_tmx(path: Path, source_lang: str, target_lang: str, errors: LineErrors) -> Iterator[Block]:
    """Streams the pairs of a translation memory in two languages as `source` and `target`, numbered from 1.

    A language matches whatever its region. A unit with several variants in a language gives every combination; one
    that lacks a language counts under `other_languages`; one with a variant of unstated language is malformed.
    """
    languages: Counter[str] = Counter()
    number = unit_number = 0
    for units in _units(path):
        pairs: list[tuple[str, str]] = []
        for unit in units:
            unit_number += 1
            if not all(tag for tag, _ in unit):
                fault = f"unit {unit_number}: a variant (<tuv>) without a language (xml:lang)"
                errors.handle(fault, path, unit_number, "fix the unit")
                continue
            languages.update({tag for tag, _ in unit})
            sources = [text for tag, text in unit if is_language(tag, source_lang)]
            targets = [text for tag, text in unit if is_language(tag, target_lang)]
            if not (sources and targets):
                errors.left_out["other_languages"] += 1
            pairs += [(source, target) for source in sources for target in targets]
        if pairs:
            numbers = np.arange(number + 1, number + 1 + len(pairs), dtype=np.int64)
            number += len(pairs)
            source, target = zip(*pairs, strict=True)
            yield numbers, {"source": pa.array(source, pa.string()), "target": pa.array(target, pa.string())}
    if not number:
        found = ", ".join(f"{tag} ({count} units)" for tag, count in languages.most_common(_LISTED_LANGUAGES))
        raise InputError(
            f"no unit has both {source_lang} and {target_lang}",
            path=path,
            remedy=f"its languages are {found}" if found else "it has no unit with a language",
        )


def tmx_texts(path: Path) -> Iterator[list[str]]:
    """Streams the sentences of a translation memory, in all its languages."""
    for units in _units(path):
        yield [text for unit in units for _, text in unit]


def _units(path: Path) -> Iterator[list[Unit]]:
    """Streams the units of a file, those that end in a block at a time."""
    parser: ElementTree.XMLPullParser[ElementTree.Element] = ElementTree.XMLPullParser(("start", "end"))
    root: str | None = None
    body: ElementTree.Element | None = None
    for text in chain(_texts(path), [None]):
        units: list[Unit] = []
        try:
            if text is None:
                parser.close()
            else:
                parser.feed(_REFERENCE.sub(_character, _CONTROL.sub(" ", text)))
            for event, element in cast("Iterator[tuple[str, ElementTree.Element]]", parser.read_events()):
                name = _name(element)
                root = root or name
                if root != "tmx":
                    raise InputError(f"not a translation memory: the document is <{root}>", path=path, line=1)
                if event == "start" and name == "body":
                    body = element
                elif event == "end" and name == "tu":
                    units.append(_variants(element))
                    if body is not None:
                        # What was read needs no memory.
                        body.clear()
        except ElementTree.ParseError as error:
            line, column = error.position
            raise InputError(
                f"not well-formed XML at column {column + 1}: {error.msg}",
                path=path,
                line=line,
                remedy="fix or download the file again: nothing after this position can be read",
            ) from error
        yield units


def _name(element: ElementTree.Element) -> str:
    """Returns the name of an element without its namespace."""
    return element.tag.rpartition("}")[2].lower()


def _variants(unit: ElementTree.Element) -> Unit:
    return [
        (variant.get(_XML_LANG) or variant.get("lang") or "", single_line(_text(segment)))
        for variant in unit
        if _name(variant) == "tuv"
        for segment in variant
        if _name(segment) == "seg"
    ]


def _text(element: ElementTree.Element) -> str:
    """Returns the text of a segment without that of codes."""
    texts = [element.text or ""]
    for child in element:
        texts += [_text(child) if _name(child) in _TEXT_ELEMENTS else "", child.tail or ""]
    return "".join(texts)


def _character(reference: re.Match[str]) -> str:
    """Returns what stands for a reference to a character: a control character is a space, an unknown name is text."""
    if reference[1] in {"amp", "lt", "gt", "quot", "apos"}:
        return reference[0]
    if not reference[1].startswith("#"):
        return html.escape(html5.get(f"{reference[1]};", reference[0]))
    return html.escape(_CONTROL.sub(" ", html.unescape(reference[0]) or " "))


def _texts(path: Path) -> Iterator[str]:
    """Streams the text of a file, in the encoding of its byte order mark or its declaration; no reference is cut."""
    blocks = read_blocks(path)
    head = b""
    while len(head) < _LONGEST_DECLARATION and (block := next(blocks, b"")):
        head += block
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
        decoder = codecs.getincrementaldecoder(encoding)()
        for block in chain([head], blocks):
            text = rest + decoder.decode(block)
            cut = text.rfind("&", max(0, len(text) - _LONGEST_REFERENCE))
            rest = text[cut:] if cut >= 0 else ""
            yield text[:cut] if cut >= 0 else text
        yield rest + decoder.decode(b"", True)
    except (UnicodeError, LookupError) as error:
        raise InputError(f"the XML is in an encoding that cannot be read: {error}", path=path) from error
