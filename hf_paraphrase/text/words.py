"""Splits texts of all scripts into words; the letters of scripts without spaces are words (see `scripts.py`)."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from .scripts import basic_plane, combining_marks, python_class, re2_class, spaced_word_characters, unspaced_letters

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

_SUFFIXES = "s|d|m|re|ve|ll"
_ASCII_TOKEN = re.compile(r"\w+|[^\w\s]")


def tokenize(text: str) -> list[str]:
    """Splits a lower-cased text into words and punctuation marks as encoders do by default.

    Splits at white space, around each punctuation mark, and before the endings of English contractions. Curly
    apostrophes are straightened.

    Example:
        >>> tokenize("Don't: it’s well-known, 你好")
        ['do', "n't", ':', 'it', "'s", 'well', '-', 'known', ',', '你', '好']
    """
    text = text.lower().replace("\u2019", "'")
    return _token_pattern(_is_basic(text)).findall(text)


def split_words(text: str) -> list[str]:
    """Splits a lower-cased text into words and punctuation marks, and knows nothing of English contractions."""
    # A text in ASCII has no marks, and the short pattern is many times as fast.
    return (_ASCII_TOKEN if text.isascii() else _word_pattern(_is_basic(text))).findall(text.lower())


def word_spans(text: str) -> list[tuple[int, int]]:
    """Finds where words, with their apostrophes, and runs of punctuation marks begin and end."""
    return [match.span() for match in _span_pattern().finditer(text)]


def separate_letters(text: str) -> str:
    """Puts spaces around each letter of a script without spaces, its marks included."""
    return text if text.isascii() else _letter_pattern().sub(r" \g<0> ", text)


def count_words(texts: pa.Array) -> NDArray[np.int64]:
    """Counts words: (texts,), int64; a null has none.

    Words stand between white space as in `len(text.split())`; each letter of a script without spaces is one more, and
    punctuation that touches such a letter counts with it.
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
    """Returns a pattern of the endings of English contractions, for texts below U+10000 or for all."""
    return re.compile(rf"'(t|{_SUFFIXES})(?!{_classes(is_basic)[0]})")


def _is_basic(text: str) -> bool:
    return text.isascii() or max(text) < "\U00010000"


@functools.cache
def _classes(is_basic: bool) -> tuple[str, str]:
    """Returns the class of a character in a word, and a pattern of a letter of a script without spaces."""
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
