"""Translation memories (TMX 1.1 to 1.4b): an XML file of translation units, each with a sentence in several languages.

The file is parsed as a stream, so memory does not grow with it. Declarations of entities are refused: they serve no
purpose in a translation memory, and expanding them can fill the memory or read other files (XML bombs, XXE). A
document type is accepted and never fetched.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np
import pyarrow as pa

from ...errors import InputError
from ..languages import is_language
from ..text_blocks import LONGEST_LINE_BYTES, read_blocks, refuse_packed
from ..text_files import LineErrors

_SPACE = re.compile(r"\s+")
_BREAK = re.compile(r"[\t\n\r]")
# Only these hold text of the sentence; all other elements inside a segment are codes of the format it came from.
_TEXT_ELEMENTS = {"seg", "hi"}
_LISTED_LANGUAGES = 12
_MOST_COMBINATIONS = 1000
"""Of the variants of a unit in two languages; two or three of each are usual."""


def single_line(text: str) -> str:
    """Puts a text on one line: white space with a tab or line end in it becomes one space, and none is at the ends."""
    # In one pattern with what stands around it, a line end would be sought from every space again.
    if _BREAK.search(text):
        text = _SPACE.sub(lambda found: " " if _BREAK.search(found[0]) else found[0], text)
    return text.strip()


@dataclass
class _Unit:
    """A translation unit."""

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
        self._size = 0
        self._segment = ""
        self._inside: list[str] = []
        self._root_seen = False
        self.parser: Any = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.EntityDeclHandler = self._entity_declaration
        self.parser.SkippedEntityHandler = self._skipped_entity

    def feed(self, block: bytes, final: bool = False) -> list[_Unit]:
        """Parses a block of the file and returns the units that it completes."""
        try:
            self.parser.Parse(block, final)
        except expat.ExpatError as error:
            raise InputError(
                f"not well-formed XML at column {error.offset + 1}: {expat.ErrorString(error.code)}",
                path=self.path,
                line=error.lineno,
                remedy="fix or download the file again: nothing after this position can be read",
            ) from error
        except (ValueError, LookupError) as error:
            raise InputError(f"the XML is in an encoding that cannot be read: {error}", path=self.path) from error
        complete, self.complete = self.complete, []
        return complete

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.lower()
        if not self._root_seen:
            if name != "tmx":
                raise InputError(f"not a translation memory: the document is <{name}>", path=self.path, line=1)
            self._root_seen = True
        if self._text is not None:
            self._inside.append(name)
        elif name == "tu":
            self._unit = _Unit(self.parser.CurrentLineNumber)
        elif name == "tuv" and self._unit is not None:
            self._language = attributes.get("xml:lang") or attributes.get("lang") or ""
            self._segment = ""
            if not self._language:
                self._unit.fault = "a variant (<tuv>) without a language (xml:lang)"
        elif name == "seg" and self._unit is not None:
            self._text, self._inside, self._size = [], [], 0

    def _end(self, name: str) -> None:
        name = name.lower()
        if self._text is not None:
            if self._inside:
                self._inside.pop()
            else:
                self._segment = single_line("".join(self._text))
                self._text = None
        elif name == "tuv" and self._unit is not None:
            self._unit.variants.append((self._language, self._segment))
        elif name == "tu" and self._unit is not None:
            self.complete.append(self._unit)
            self._unit = None

    def _characters(self, text: str) -> None:
        if self._text is None or not _TEXT_ELEMENTS.issuperset(self._inside):
            return
        self._text.append(text)
        self._size += len(text)
        if self._size > LONGEST_LINE_BYTES:
            raise InputError(
                f"a segment of more than {LONGEST_LINE_BYTES >> 20} MiB",
                path=self.path,
                line=self.parser.CurrentLineNumber,
                remedy="a segment must hold a sentence",
            )

    def _entity_declaration(self, name: str, *details: object) -> None:
        raise InputError(
            f"the file declares the entity `{name}`, which is refused",
            path=self.path,
            line=self.parser.CurrentLineNumber,
            remedy="write the text out; translation memories need no entities of their own",
        )

    def _skipped_entity(self, name: str, is_parameter: bool) -> None:
        if self._unit is not None and not is_parameter:
            self._unit.fault = f"the entity `&{name};` is not defined"


def _units(path: Path) -> Iterator[list[_Unit]]:
    """Streams the units of a file, those that end in a block at a time."""
    units = _Units(path)
    size = 0
    for block in read_blocks(path):
        if not size:
            refuse_packed(block, path)
        size += len(block)
        if complete := units.feed(block):
            yield complete
    if not size:
        raise InputError("the file is empty", path=path, remedy="give a translation memory")
    if complete := units.feed(b"", final=True):
        yield complete


def read_tmx(
    path: Path, source_lang: str, target_lang: str, errors: LineErrors
) -> Iterator[tuple[np.ndarray, dict[str, pa.Array]]]:
    """Streams the pairs of a translation memory in two languages.

    A language matches whatever its region (`fr-FR` is `fr`). A unit with several variants in one of the two languages
    gives every combination, of which there may be a thousand. Text of inline codes (`<ph>`, `<bpt>`, …) is left out,
    that of `<hi>` is kept.

    Args:
        path: The file (plain, .gz, .bz2, .xz or .zst), in any encoding that it declares and Expat knows.
        source_lang: Language code of the source side.
        target_lang: Language code of the target side.
        errors: What to do about a unit with a variant of unstated language, an undefined entity or too many variants;
            units that lack one of the languages are counted there under `other_languages`.

    Yields:
        The numbers of the pairs (rows,), int64, from 1 over the file, and the arrays `source` and `target`.
    """
    languages: Counter[str] = Counter()
    number = unit_number = 0
    for units in _units(path):
        pairs: list[tuple[str, str]] = []
        for unit in units:
            unit_number += 1
            if unit.fault is not None:
                errors.handle_record(unit.fault, path, unit.line, "fix the unit", unit_number)
                continue
            languages.update({tag for tag, _ in unit.variants})
            sources = [text for tag, text in unit.variants if is_language(tag, source_lang)]
            targets = [text for tag, text in unit.variants if is_language(tag, target_lang)]
            if not (sources and targets):
                errors.left_out["other_languages"] += 1
            if len(sources) * len(targets) > _MOST_COMBINATIONS:
                variants = f"{len(sources):,} variants in {source_lang} and {len(targets):,} in {target_lang}"
                errors.handle_record(variants, path, unit.line, "split the unit", unit_number)
                continue
            pairs += [(source, target) for source in sources for target in targets]
        if pairs:
            numbers = np.arange(number + 1, number + 1 + len(pairs), dtype=np.int64)
            number += len(pairs)
            source, target = zip(*pairs, strict=True)
            yield numbers, {"source": pa.array(source, pa.string()), "target": pa.array(target, pa.string())}
    if not number:
        raise _no_pairs(path, source_lang, target_lang, languages)


def tmx_texts(path: Path) -> Iterator[list[str]]:
    """Streams the sentences of a translation memory, in all its languages."""
    for units in _units(path):
        yield [text for unit in units for _, text in unit.variants]


def _no_pairs(path: Path, source_lang: str, target_lang: str, languages: Counter[str]) -> InputError:
    languages_found = ", ".join(f"{tag} ({count} units)" for tag, count in languages.most_common(_LISTED_LANGUAGES))
    return InputError(
        f"no unit has both {source_lang} and {target_lang}",
        path=path,
        remedy=f"its languages are {languages_found}" if languages_found else "it has no unit with a language",
    )
