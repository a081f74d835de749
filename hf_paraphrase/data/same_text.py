"""When two texts are the same: one rule for cleaning, decontamination, indexes, mining and duplicates.

Texts are the same if they are equal after NFC, case folding (İ folds like i), removal of invisible characters, and
with white space as single spaces. Their words, by which sentences are compared without punctuation, are runs of
letters, marks and digits after NFKC: a vowel sign of Hindi or Thai belongs to its word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

_CONTROLS = ((0x00, 0x08), (0x0E, 0x1B), (0x7F, 0x84), (0x86, 0x9F))
_IGNORABLE = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F)),
    *((0x202A, 0x202E), (0x2060, 0x206F), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB)),
    *((0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
    # Letters and symbols by their class: the fillers of Hangul and the blank of Braille.
    *((0x115F, 0x1160), (0x2800, 0x2800), (0x3164, 0x3164), (0xFFA0, 0xFFA0)),
)


def _of_python(*ranges: tuple[int, int]) -> str:
    return "".join(f"{re.escape(chr(low))}-{re.escape(chr(high))}" for low, high in ranges)


def _of_re2(*ranges: tuple[int, int]) -> str:
    return "".join(rf"\x{{{low:X}}}-\x{{{high:X}}}" for low, high in ranges)


_INVISIBLE = re.compile(f"[{_of_python(*_CONTROLS, *_IGNORABLE)}]+")
_BLANK = re.compile(rf"[\s{_of_python(*_CONTROLS, *_IGNORABLE)}]*")
_VISIBLE = rf"[^\t-\r\x1c-\x20\x{{85}}\p{{Z}}{_of_re2(*_CONTROLS, *_IGNORABLE)}]"
_PLAIN = r"^[\t-\r\x1c-~]*$"
"""What needs none of the rules but those for case and white space: ASCII without control characters."""
_NOT_WORDS = re.compile(r"[\W_]+")


def same_text(text: str) -> str:
    """Returns the form of a text that all texts have that are the same."""
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).replace("i\u0307", "i")
    return " ".join(_INVISIBLE.sub("", text).split())


def is_blank(text: str) -> bool:
    """Returns whether a text is empty, or white space and invisible characters only."""
    return _BLANK.fullmatch(text) is not None


def words_of(text: str) -> str:
    """Returns the words of a text in the form that is compared, with single spaces between them."""
    text = same_text(unicodedata.normalize("NFKC", text))
    text = _NOT_WORDS.sub(lambda between: " " if between[0].isascii() else _marks_of(between[0]), text)
    return " ".join(text.split())


@lru_cache(maxsize=4096)
def _marks_of(text: str) -> str:
    return "".join(letter if unicodedata.category(letter)[0] == "M" else " " for letter in text)


@cache
def combining_marks() -> str:
    """Lists all combining marks for a class of characters: the vowel signs of Hindi and Thai belong to their words."""
    return "".join(letter for letter in map(chr, range(0x300, 0x20000)) if unicodedata.category(letter)[0] == "M")


def same_texts(texts: pa.Array) -> pa.Array:
    """Applies :func:`same_text` to every string; a null is an empty text."""  # single spaces need no change
    return _applied(texts, same_text, r"[\t-\r\x1c-\x20]{2,}|[\t-\r\x1c-\x1f]")


def words_of_all(texts: pa.Array) -> pa.Array:
    """Applies :func:`words_of` to every string; a null is an empty text."""
    return _applied(texts, words_of, r"[^0-9a-z]+")


def _applied(texts: pa.Array, function: Callable[[str], str], between: str) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.fill_null(texts, "")
    plain = pc.match_substring_regex(texts, _PLAIN)
    result = pc.ascii_trim_whitespace(pc.replace_substring_regex(pc.ascii_lower(texts), between, " "))
    if pc.all(plain, min_count=0).as_py():
        return result
    hard = [function(text) for text in texts.filter(pc.invert(plain)).to_pylist()]
    return pc.replace_with_mask(result, pc.invert(plain), pa.array(hard, pa.string()))


def has_words(texts: pa.Array) -> NDArray[np.bool_]:
    """Returns which texts have anything to be seen: (texts,), bool."""
    import pyarrow.compute as pc

    visible = pc.match_substring_regex(texts, _VISIBLE).fill_null(False)
    return visible.to_numpy(zero_copy_only=False)


def count_words(texts: pa.Array) -> NDArray[np.int64]:
    """Counts the words between white space as `len(text.split())` does: (sentences,), int64; a null has none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(texts)
    lengths = pc.list_value_length(pc.utf8_split_whitespace(trimmed))
    counts = pc.if_else(pc.equal(trimmed, ""), 0, lengths).fill_null(0).cast(pa.int64())
    return counts.to_numpy(zero_copy_only=False)
