"""Classes of characters: combining marks, and the letters of scripts that put no spaces between words.

In Han, Kana, Thai, Lao, Khmer, Burmese, Tibetan, Javanese and related scripts, each letter with its marks counts as
one word, whatever is installed: counts, fingerprints and seeded outputs are the same on every machine.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

WORD, SPACE, OTHER, UNSPACED_LETTER, MARK = range(5)
Ranges: TypeAlias = tuple[tuple[int, int], ...]

_UNSPACED_BLOCKS: Ranges = (
    *((0x0E00, 0x0FFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x1950, 0x19DF)),  # Thai to Burmese, Khmer, Tai Le
    *((0x1A20, 0x1AAF), (0x1B00, 0x1B7F), (0x2E80, 0x2FDF), (0x3005, 0x3007)),  # Tai Tham, Balinese, radicals, 々
    *((0x3021, 0x3029), (0x3031, 0x303C), (0x3041, 0x312F), (0x31A0, 0x31FF)),  # Kana, Bopomofo
    *((0x3400, 0x4DBF), (0x4E00, 0xA4CF), (0xA980, 0xA9FF), (0xAA60, 0xAADF)),  # Han, Yi, Javanese, Tai Viet
    *((0xF900, 0xFAFF), (0xFF66, 0xFF9D), (0x1AFF0, 0x1B16F), (0x20000, 0x323AF)),
)
_HALFWIDTH_SOUND_MARKS = [0xFF9E, 0xFF9F]


def python_class(ranges: Iterable[tuple[int, int]]) -> str:
    """Writes ranges of code points as the inside of a character class of `re`."""
    return "".join(f"{re.escape(chr(low))}-{re.escape(chr(high))}" for low, high in ranges)


def re2_class(ranges: Iterable[tuple[int, int]]) -> str:
    """Writes ranges of code points as the inside of a character class of RE2, which Arrow uses."""
    return "".join(rf"\x{{{low:X}}}-\x{{{high:X}}}" for low, high in ranges)


@cache
def combining_marks() -> Ranges:
    """Lists the combining marks, such as the vowel signs of Hindi and Thai, which belong to the letter before them."""
    return _ranges_of(character_kinds() == MARK)


@cache
def unspaced_letters() -> Ranges:
    """Lists the letters of the scripts that put no spaces between words; digits and marks are not among them."""
    return _ranges_of(character_kinds() == UNSPACED_LETTER)


@cache
def spaced_word_characters() -> Ranges:
    """Lists the letters of all other scripts, digits, the underscore and all combining marks."""
    kinds = character_kinds()
    return _ranges_of((kinds == WORD) | (kinds == MARK))


@cache
def character_kinds() -> NDArray[np.uint8]:
    """Returns the kind of every code point: `WORD`, `SPACE`, `UNSPACED_LETTER`, `MARK`, or `OTHER` for punctuation."""
    characters = "".join(map(chr, range(0x110000)))
    kinds = np.full(len(characters), OTHER, dtype=np.uint8)
    for pattern, kind in ((r"\w+", WORD), (r"\s+", SPACE)):
        for match in re.finditer(pattern, characters):
            kinds[match.start() : match.end()] = kind
    for low, high in _UNSPACED_BLOCKS:
        for match in re.finditer(r"[^\W\d]+", characters[low : high + 1]):
            kinds[low + match.start() : low + match.end()] = UNSPACED_LETTER
    others = np.flatnonzero(kinds[:0x20000] == OTHER).tolist()
    kinds[[code for code in others if unicodedata.category(chr(code))[0] == "M"]] = MARK
    kinds[_HALFWIDTH_SOUND_MARKS] = MARK
    return kinds


def basic_plane(ranges: Ranges) -> Ranges:
    """Returns the ranges below U+10000: `re` matches a class of these faster."""
    return tuple((low, high) for low, high in ranges if high < 0x10000)


def _ranges_of(is_member: NDArray[np.bool_]) -> Ranges:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_member, [False]]).astype(np.int8)))
    return tuple((int(low), int(stop) - 1) for low, stop in edges.reshape(-1, 2))
