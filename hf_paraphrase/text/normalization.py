"""Normalizes texts: one definition of equal texts for cleaning, decontamination, indexes, mining and deduplication.

Two texts are the same if they are equal after NFC, case folding (İ folds like i), removal of invisible characters, and
with white space as single spaces. To compare sentences without their punctuation, :func:`normalize_words` keeps their
words: letters, marks and digits after NFKC. A vowel sign of Hindi or Thai belongs to its word, and each letter of a
script without spaces is a word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, TypeAlias

from .words import python_class, re2_class, separate_letters

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Texts: TypeAlias = pa.Array | pa.ChunkedArray | Sequence[str]

_CONTROLS = ((0x00, 0x08), (0x0E, 0x1B), (0x7F, 0x84), (0x86, 0x9F))
_IGNORABLE = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F)),
    *((0x202A, 0x202E), (0x2060, 0x206F), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB)),
    *((0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
    # Letters and symbols by their class: the fillers of Hangul and the blank of Braille.
    *((0x115F, 0x1160), (0x2800, 0x2800), (0x3164, 0x3164), (0xFFA0, 0xFFA0)),
)
_INVISIBLE = re.compile(f"[{python_class((*_CONTROLS, *_IGNORABLE))}]+")
_BLANK = re.compile(rf"[\s{python_class((*_CONTROLS, *_IGNORABLE))}]*")
_VISIBLE = rf"[^\t-\r\x1c-\x20\x{{85}}\p{{Z}}{re2_class((*_CONTROLS, *_IGNORABLE))}]"
_PLAIN = r"^[\t-\r\x1c-~]*$"
"""ASCII without control characters: only the rules for case and white space apply."""
_MOSES_ESCAPES = {
    **{"&bar;": "|", "&#124;": "|", "&lt;": "<", "&gt;": ">", "&bra;": "[", "&#91;": "[", "&ket;": "]", "&#93;": "]"},
    **{"&quot;": '"', "&apos;": "'", "&#39;": "'", "&amp;": "&"},
}
"""The escapes of the Moses tokenizer. `&amp;` is last, so that `&amp;lt;` becomes `&lt;`."""
_NOT_WORDS = re.compile(r"[\W_]+")


def normalize_text(text: str) -> str:
    """Normalize a text: two texts are the same if this returns the same for both.

    Example:
        >>> normalize_text("A  STRAẞE")
        'a strasse'
    """
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).replace("i\u0307", "i")
    return " ".join(_INVISIBLE.sub("", text).split())


def lower_text(text: str) -> str:
    """Return a text in lower case and Unicode form NFC, which composes accented letters."""
    return unicodedata.normalize("NFC", text.lower())


def normalize_texts(texts: pa.Array) -> pa.Array:
    """Apply :func:`normalize_text` to every string; a null is an empty text."""  # single spaces need no change
    return _apply(texts, normalize_text, r"[\t-\r\x1c-\x20]{2,}|[\t-\r\x1c-\x1f]")


def normalize_words(text: str, *, split_unspaced: bool = True) -> str:
    """Normalize the words of a text and join them with single spaces; punctuation is left out.

    Args:
        text: Any text.
        split_unspaced: Whether each letter of a script without spaces is a word.

    Example:
        >>> normalize_words("It's ２ o'clock: 你好!")
        'it s 2 o clock 你 好'
    """
    text = normalize_text(unicodedata.normalize("NFKC", text))
    text = _NOT_WORDS.sub(lambda between: " " if between[0].isascii() else _keep_marks(between[0]), text)
    return " ".join((separate_letters(text) if split_unspaced else text).split())


def normalize_words_all(texts: pa.Array, *, split_unspaced: bool = True) -> pa.Array:
    """Apply :func:`normalize_words` to every string; a null is an empty text."""
    return _apply(texts, partial(normalize_words, split_unspaced=split_unspaced), r"[^0-9a-z]+")


def decode_moses(texts: pa.Array) -> pa.Array:
    """Decode the escapes of the Moses tokenizer, such as `&apos;`, and join words at ` @-@ `."""
    import pyarrow.compute as pc

    for escape, character in _MOSES_ESCAPES.items():
        texts = pc.replace_substring(texts, escape, character)
    return pc.replace_substring_regex(texts, r" ?@([-/])@ ?", r"\1")


def is_blank(text: str) -> bool:
    """Return whether a text is empty, or white space and invisible characters only."""
    return _BLANK.fullmatch(text) is not None


def are_visible(texts: pa.Array) -> NDArray[np.bool_]:
    """Return which texts have a visible character: (texts,), bool; a null has none."""
    import pyarrow.compute as pc

    visible = pc.match_substring_regex(texts, _VISIBLE).fill_null(False)
    return visible.to_numpy(zero_copy_only=False)


def as_string_array(texts: Texts) -> pa.Array:
    """Convert a column of texts to one Arrow array of strings."""
    import pyarrow as pa

    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    if isinstance(texts, pa.Array):
        return texts if texts.type == pa.string() else texts.cast(pa.string())
    return pa.array(list(texts), pa.string())


@lru_cache(maxsize=4096)
def _keep_marks(text: str) -> str:
    return "".join(letter if unicodedata.category(letter)[0] == "M" else " " for letter in text)


def _apply(texts: pa.Array, function: Callable[[str], str], between: str) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.fill_null(texts, "")
    plain = pc.match_substring_regex(texts, _PLAIN)
    result = pc.ascii_trim_whitespace(pc.replace_substring_regex(pc.ascii_lower(texts), between, " "))
    if pc.all(plain, min_count=0).as_py():
        return result
    hard = [function(text) for text in texts.filter(pc.invert(plain)).to_pylist()]
    return pc.replace_with_mask(result, pc.invert(plain), pa.array(hard, pa.string()))
