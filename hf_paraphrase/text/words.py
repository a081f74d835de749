"""Splits texts of all scripts into words.

In Han, Kana, Thai, Lao, Khmer, Burmese, Tibetan, Javanese and related scripts, each letter with its marks counts as
one word. No optional package changes this: counts, fingerprints and seeded outputs are the same on every machine.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

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
    """Write ranges of code points as the inside of a character class of `re`."""
    return "".join(f"{re.escape(chr(low))}-{re.escape(chr(high))}" for low, high in ranges)


def re2_class(ranges: Iterable[tuple[int, int]]) -> str:
    """Write ranges of code points as the inside of a character class of RE2, which Arrow uses."""
    return "".join(rf"\x{{{low:X}}}-\x{{{high:X}}}" for low, high in ranges)


@functools.cache
def combining_marks() -> Ranges:
    """List the combining marks, such as the vowel signs of Hindi and Thai, which belong to the letter before them."""
    return _ranges_of(character_kinds() == MARK)


@functools.cache
def unspaced_letters() -> Ranges:
    """List the letters of the scripts that put no spaces between words; digits and marks are not among them."""
    return _ranges_of(character_kinds() == UNSPACED_LETTER)


@functools.cache
def spaced_word_characters() -> Ranges:
    """List the letters of all other scripts, digits, the underscore and all combining marks."""
    kinds = character_kinds()
    return _ranges_of((kinds == WORD) | (kinds == MARK))


@functools.cache
def character_kinds() -> NDArray[np.uint8]:
    """Return the kind of every code point: `WORD`, `SPACE`, `UNSPACED_LETTER`, `MARK`, or `OTHER` for punctuation."""
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
    """Return the ranges below U+10000, which `re` matches faster."""
    return tuple((low, high) for low, high in ranges if high < 0x10000)


def _ranges_of(is_member: NDArray[np.bool_]) -> Ranges:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_member, [False]]).astype(np.int8)))
    return tuple((int(low), int(stop) - 1) for low, stop in edges.reshape(-1, 2))


_SUFFIXES = "s|d|m|re|ve|ll"
_ASCII_TOKEN = re.compile(r"\w+|[^\w\s]")


def tokenize(text: str) -> list[str]:
    """Split a lower-cased text into words and punctuation marks as encoders do by default.

    Splits at white space, around each punctuation mark, and before the endings of English contractions. Curly
    apostrophes are straightened.

    Example:
        >>> tokenize("Don't: it’s well-known, 你好")
        ['do', "n't", ':', 'it', "'s", 'well', '-', 'known', ',', '你', '好']
    """
    text = text.lower().replace("\u2019", "'")
    return _token_pattern(_is_basic(text)).findall(text)


def split_words(text: str) -> list[str]:
    """Split a lower-cased text into words and punctuation marks, without English contractions."""
    # A text in ASCII has no marks, and the short pattern is many times as fast.
    return (_ASCII_TOKEN if text.isascii() else _word_pattern(_is_basic(text))).findall(text.lower())


def word_spans(text: str) -> list[tuple[int, int]]:
    """Find the start and end of each word, with its apostrophes, and of each span of punctuation marks."""
    return [match.span() for match in _span_pattern().finditer(text)]


def separate_letters(text: str) -> str:
    """Put spaces around each letter of a script without spaces, its marks included."""
    return text if text.isascii() else _letter_pattern().sub(r" \g<0> ", text)


def count_words(texts: pa.Array) -> NDArray[np.int64]:
    """Count words: (texts,), int64; a null has none.

    Words are separated by white space, as in `len(text.split())`. Each letter of a script without spaces is a word,
    adjacent punctuation included.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    letter = f"[{re2_class(unspaced_letters())}]"
    unspaced = pc.count_substring_regex(texts, letter).fill_null(0)
    if pc.any(pc.greater(unspaced, 0), min_count=0).as_py():
        touching = rf"[\pP\pS]*{letter}[{re2_class(combining_marks())}\pP\pS]*"
        texts = pc.replace_substring_regex(texts, touching, " ")
    trimmed = pc.utf8_trim_whitespace(texts)
    lengths = pc.list_value_length(pc.utf8_split_whitespace(trimmed))
    counts = pc.if_else(pc.equal(trimmed, ""), 0, lengths).fill_null(0).cast(pa.int64())
    return pc.add(counts, unspaced.cast(pa.int64())).to_numpy(zero_copy_only=False)


@functools.cache
def contraction_endings(is_basic: bool) -> re.Pattern[str]:
    """Return a pattern of the endings of English contractions, for texts below U+10000 or for all texts."""
    return re.compile(rf"'(t|{_SUFFIXES})(?!{_classes(is_basic)[0]})")


def _is_basic(text: str) -> bool:
    return text.isascii() or max(text) < "\U00010000"


@functools.cache
def _classes(is_basic: bool) -> tuple[str, str]:
    """Return the class of a character in a word, and a pattern of a letter of a script without spaces."""
    ranges = (spaced_word_characters(), unspaced_letters(), combining_marks())
    word, letter, mark = (python_class(basic_plane(each) if is_basic else each) for each in ranges)
    return f"[{word}]", f"[{letter}][{mark}]*"


@functools.cache
def _letter_pattern() -> re.Pattern[str]:
    return re.compile(_classes(is_basic=False)[1])


@functools.cache
def _token_pattern(is_basic: bool) -> re.Pattern[str]:
    word, letter = _classes(is_basic)
    negation = f"n't(?!{word})"
    return re.compile(rf"{letter}|{negation}|'(?:{_SUFFIXES})(?!{word})|{word}+?(?={negation})|{word}+|[^\w\s]")


@functools.cache
def _word_pattern(is_basic: bool) -> re.Pattern[str]:
    word, letter = _classes(is_basic)
    return re.compile(rf"{letter}|{word}+|[^\w\s]")


@functools.cache
def _span_pattern() -> re.Pattern[str]:
    word, letter = _classes(is_basic=False)
    return re.compile(rf"{letter}|{word}+(?:['’]{word}+)*|[^\w\s]+")
