"""Rules that leave rows of a bitext out: empty or identical sides, length, length ratio, not the stated language."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .languages import primary_language

if TYPE_CHECKING:
    from .language_identification import OtherLanguages

LENGTH_UNITS = ("words", "characters")
# The complement of what `str.split` splits at, in the notation of RE2, whose own \s is ASCII only.
_VISIBLE = r"[^\t-\r\x1c-\x20\x{85}\p{Z}]"


@dataclass(frozen=True)
class CleaningRules:
    """What `clean` leaves out besides rows with an empty side.

    Attributes:
        drop_identical: Rows whose sides are the same but for case and white space at the ends.
        min_length: The least length of a side; 0 for no limit.
        max_length: The greatest length of a side; 0 for no limit.
        max_length_ratio: The greatest ratio of the longer side to the shorter; 0 for no limit.
        length_unit: `words` between white space, or `characters` for languages that write without spaces.
        languages: Finds sides in another language than the stated one.
    """

    drop_identical: bool = False
    min_length: int = 0
    max_length: int = 0
    max_length_ratio: float = 0.0
    length_unit: str = "words"
    languages: OtherLanguages | None = None


def count_words(texts: pa.Array) -> np.ndarray:
    """Counts the words between white space as `len(text.split())` does: (sentences,), int32; a null has none."""
    return pc.count_substring_regex(texts, _VISIBLE + "+").fill_null(0).to_numpy(zero_copy_only=False)


def has_words(texts: pa.Array) -> np.ndarray:
    """Tells which texts are more than white space: (sentences,), bool; faster than counting their words."""
    return pc.match_substring_regex(texts, _VISIBLE).fill_null(False).to_numpy(zero_copy_only=False)


def clean(rows: pa.Table, rules: CleaningRules | None = None) -> tuple[pa.Table, dict[str, int]]:
    """Leaves out rows that no rule of a parallel corpus lets through.

    Args:
        rows: Columns `source` and `target` and any others.
        rules: The rules; none but that neither side may be empty by default.

    Returns:
        The rows that stay, in order, and how many went by each rule; a row counts under the first rule that meets it.
    """
    rules = rules or CleaningRules()
    source, target = (rows.column(name).combine_chunks() for name in ("source", "target"))
    keep = np.ones(len(source), dtype=bool)
    counts: dict[str, int] = {}

    def drop(rule: str, good: np.ndarray) -> None:
        counts[rule] = int((keep & ~good).sum())
        np.logical_and(keep, good, out=keep)

    drop("empty_side", has_words(source) & has_words(target))
    if rules.drop_identical:
        drop("identical_sides", ~_identical(source, target))
    if rules.min_length or rules.max_length or rules.max_length_ratio:
        measure = count_words if rules.length_unit == "words" else _count_characters
        lengths = measure(source), measure(target)
        shorter, longer = np.minimum(*lengths), np.maximum(*lengths)
    if rules.min_length:
        drop("too_short", shorter >= rules.min_length)
    if rules.max_length:
        drop("too_long", longer <= rules.max_length)
    if rules.max_length_ratio:
        drop("length_ratio", longer <= rules.max_length_ratio * shorter)
    if rules.languages is not None:
        # The costly rule comes last and sees only what the others let through.
        left = np.flatnonzero(keep)
        chosen = pa.array(left)
        good = np.ones(len(keep), dtype=bool)
        good[left] = rules.languages.right(source.take(chosen), target.take(chosen))
        drop("wrong_language", good)
    return (rows if keep.all() else rows.filter(pa.array(keep))), counts


def _identical(source: pa.Array, target: pa.Array) -> np.ndarray:
    sides = (pc.utf8_lower(pc.utf8_trim_whitespace(side)) for side in (source, target))
    return pc.equal(*sides).fill_null(False).to_numpy(zero_copy_only=False)


def _count_characters(texts: pa.Array) -> np.ndarray:
    return pc.utf8_length(pc.utf8_trim_whitespace(texts)).fill_null(0).to_numpy(zero_copy_only=False)


def normalize_punctuation(texts: pa.Array, language: str) -> pa.Array:
    """Brings quotes, dashes, dots and the spaces around them to one form, with the Moses rules of sacremoses."""
    normalizer = _punctuation_normalizer(primary_language(language))
    return pa.array([None if text is None else normalizer.normalize(text) for text in texts.to_pylist()], pa.string())


@lru_cache(maxsize=8)
def _punctuation_normalizer(language: str) -> Any:
    from sacremoses import MosesPunctNormalizer

    return MosesPunctNormalizer(lang=language)
