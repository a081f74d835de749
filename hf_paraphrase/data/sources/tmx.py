"""Translation memories (TMX 1.1 to 1.4b): an XML file of translation units, each with a sentence in several languages.

The file is parsed as a stream, so memory does not grow with it. Translation tools write what XML does not allow:
control characters become spaces, and entities of HTML their characters. Declarations of entities are refused: they
serve no purpose in a translation memory, and expanding them can fill the memory or read other files.
"""

from __future__ import annotations

import codecs
import html
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.entities import html5
from itertools import chain
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np
import pyarrow as pa

from ...errors import InputError
from ..languages import is_language
from ..text_blocks import LineErrors, empty_file, read_blocks, refuse_packed
from ..text_files import Block

_SPACE = re.compile(r"\s+")
_BREAK = re.compile(r"[\t\n\r]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_REFERENCE = re.compile(r"&(#?\w{1,32});")
_DECLARED = re.compile(rb"""^<\?xml[^>]*?encoding\s*=\s*["']([\w.-]+)["']""")
_LONGEST_REFERENCE = 34
_LONGEST_DECLARATION = 256
# Only these hold text of the sentence; all other elements inside a segment are codes of the format it came from.
_TEXT_ELEMENTS = {"seg", "hi", "mrk"}
_LISTED_LANGUAGES = 12


def single_line(text: str) -> str:
    """Puts a text on one line: white space with a tab or line end in it becomes one space, and none is at the ends."""
    # In one pattern with what stands around it, a line end would be sought from every space again.
    if _BREAK.search(text):
        text = _SPACE.sub(lambda found: " " if _BREAK.search(found[0]) else found[0], text)
    return text.strip()


@dataclass
class _Unit:
    """A translation unit: language and text of each variant."""

    line: int
    variants: list[tuple[str, str]] = field(default_factory=list)
    fault: str | None = None


class _Units:
    """Expat's callbacks: collects the units that are complete."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.complete: list[_Unit] = []
        self._unit: _Unit | None = None
        self._language = ""
        self._text: list[str] | None = None
        self._inside: list[str] = []
        self._root: str | None = None
        # The text is decoded here, whatever encoding it declares.
        self.parser: Any = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.EntityDeclHandler = self._entity_declaration

    def feed(self, text: str, final: bool = False) -> list[_Unit]:
        """Parses more of the file and returns the units that it completes."""
        try:
            self.parser.Parse(_REFERENCE.sub(_character, _CONTROL.sub(" ", text)).encode(), final)
        except expat.ExpatError as error:
            raise InputError(
                f"not well-formed XML at column {error.offset + 1}: {expat.ErrorString(error.code)}",
                path=self.path,
                line=error.lineno,
                remedy="fix or download the file again: nothing after this position can be read",
            ) from error
        complete, self.complete = self.complete, []
        return complete

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.lower()
        if self._root is None and name != "tmx":
            raise InputError(f"not a translation memory: the document is <{name}>", path=self.path, line=1)
        self._root = "tmx"
        if self._text is not None:
            self._inside.append(name)
        elif name == "tu":
            self._unit = _Unit(self.parser.CurrentLineNumber)
        elif name == "tuv" and self._unit is not None:
            self._language = attributes.get("xml:lang") or attributes.get("lang") or ""
            if not self._language:
                self._unit.fault = "a variant (<tuv>) without a language (xml:lang)"
        elif name == "seg" and self._unit is not None:
            self._text, self._inside = [], []

    def _end(self, name: str) -> None:
        if self._text is not None and self._inside:
            self._inside.pop()
        elif self._text is not None and self._unit is not None:
            self._unit.variants.append((self._language, single_line("".join(self._text))))
            self._text = None
        elif name.lower() == "tu" and self._unit is not None:
            self.complete.append(self._unit)
            self._unit = None

    def _characters(self, text: str) -> None:
        if self._text is not None and _TEXT_ELEMENTS.issuperset(self._inside):
            self._text.append(text)

    def _entity_declaration(self, name: str, *details: object) -> None:
        raise InputError(
            f"the file declares the entity `{name}`, which is refused",
            path=self.path,
            line=self.parser.CurrentLineNumber,
            remedy="write the text out; translation memories need no entities of their own",
        )


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


def _units(path: Path) -> Iterator[list[_Unit]]:
    """Streams the units of a file, those that end in a block at a time."""
    units = _Units(path)
    for text in _texts(path):
        if complete := units.feed(text):
            yield complete
    yield units.feed("", final=True)


def read_tmx(path: Path, source_lang: str, target_lang: str, errors: LineErrors) -> Iterator[Block]:
    """Streams the pairs of a translation memory in two languages as `source` and `target`, numbered from 1.

    A language matches whatever its region (`fr-FR` is `fr`). A unit with several variants in one of the two languages
    gives every combination. Text of inline codes (`<ph>`, `<bpt>`, …) is left out, that of `<hi>` and `<mrk>` is kept.
    Units that lack one of the languages are counted as left out by the rule `other_languages`; one with a variant of
    unstated language is malformed.
    """
    languages: Counter[str] = Counter()
    number = unit_number = 0
    for units in _units(path):
        pairs: list[tuple[str, str]] = []
        for unit in units:
            unit_number += 1
            if unit.fault is not None:
                errors.handle(unit.fault, path, unit.line, "fix the unit", unit_number)
                continue
            languages.update({tag for tag, _ in unit.variants})
            sources = [text for tag, text in unit.variants if is_language(tag, source_lang)]
            targets = [text for tag, text in unit.variants if is_language(tag, target_lang)]
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
        yield [text for unit in units for _, text in unit.variants]
