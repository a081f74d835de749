"""Rules that leave rows of a bitext out: an empty side, a side that is too long, sides of too different length."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# The complement of what `str.split` splits at, in the notation of RE2, whose own \s is ASCII only.
_VISIBLE = r"[^\t-\r\x1c-\x20\x{85}\p{Z}]"


def count_words(texts: pa.Array) -> np.ndarray:
    """Counts the words between white space as `len(text.split())` does: (sentences,), int32; a null has none."""
    return pc.count_substring_regex(texts, _VISIBLE + "+").fill_null(0).to_numpy(zero_copy_only=False)


def has_words(texts: pa.Array) -> np.ndarray:
    """Tells which texts are more than white space: (sentences,), bool; faster than counting their words."""
    return pc.match_substring_regex(texts, _VISIBLE).fill_null(False).to_numpy(zero_copy_only=False)


def clean(rows: pa.Table, *, max_length: int = 0, max_length_ratio: float = 0.0) -> tuple[pa.Table, dict[str, int]]:
    """Leaves out rows that no rule of a parallel corpus lets through.

    Args:
        rows: Columns `source` and `target` and any others.
        max_length: The greatest number of words of a side; 0 for no limit.
        max_length_ratio: The greatest ratio of the longer side to the shorter in words; 0 for no limit.

    Returns:
        The rows that stay, in order, and how many went by each rule; a row counts under the first rule that meets it.
    """
    source, target = (rows.column(name).combine_chunks() for name in ("source", "target"))
    keep = has_words(source) & has_words(target)
    counts = {"empty_side": int((~keep).sum())}
    if max_length or max_length_ratio:
        lengths = count_words(source), count_words(target)
        shorter, longer = np.minimum(*lengths), np.maximum(*lengths)
    if max_length:
        good = longer <= max_length
        counts["too_long"] = int((keep & ~good).sum())
        keep &= good
    if max_length_ratio:
        good = longer <= max_length_ratio * shorter
        counts["length_ratio"] = int((keep & ~good).sum())
        keep &= good
    return (rows if keep.all() else rows.filter(pa.array(keep))), counts


def normalize_punctuation(texts: pa.Array, language: str) -> pa.Array:
    """Brings quotes, dashes, dots and the spaces around them to one form, with the Moses rules of sacremoses."""
    normalizer = _punctuation_normalizer(language)
    return pa.array([None if text is None else normalizer.normalize(text) for text in texts.to_pylist()], pa.string())


@lru_cache(maxsize=8)
def _punctuation_normalizer(language: str) -> Any:
    from sacremoses import MosesPunctNormalizer

    return MosesPunctNormalizer(lang=language.split("-")[0].split("_")[0])
