"""Rules that leave rows of a bitext out: empty or identical sides, length, length ratio, not the stated language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .same_text import has_words, same_texts
from .text_blocks import LineErrors

if TYPE_CHECKING:
    from .languages import OtherLanguages

LENGTH_UNITS = ("words", "characters")


@dataclass(frozen=True)
class CleaningRules:
    """What `clean` leaves out besides rows with an empty side; a limit of 0 is none."""

    drop_identical: bool = False
    min_length: int = 0
    max_length: int = 0
    max_length_ratio: float = 0.0
    length_unit: str = "words"
    languages: OtherLanguages | None = None


def count_words(texts: pa.Array) -> np.ndarray:
    """Counts the words between white space as `len(text.split())` does: (sentences,), int64; a null has none."""
    texts = pc.utf8_trim_whitespace(texts)
    numbers = pc.list_value_length(pc.utf8_split_whitespace(texts))
    words: np.ndarray = pc.if_else(pc.equal(texts, ""), 0, numbers).fill_null(0).to_numpy(zero_copy_only=False)
    return words.astype(np.int64)


def clean(table: pa.Table, rules: CleaningRules | None = None) -> tuple[pa.Table, dict[str, int]]:
    """Leaves out rows that no rule of a parallel corpus lets through.

    Returns:
        The rows that stay, in order, and how many went by each rule; a row counts under the first rule that meets it.
    """
    rules = rules or CleaningRules()
    source, target = (table.column(name).combine_chunks() for name in ("source", "target"))
    keep = np.ones(len(source), dtype=bool)
    counts: dict[str, int] = {}

    def drop(rule: str, good: np.ndarray) -> None:
        counts[rule] = int((keep & ~good).sum())
        np.logical_and(keep, good, out=keep)

    drop("empty_side", has_words(source) & has_words(target))
    if rules.drop_identical:
        # Only sides that begin alike are worth folding.
        rows = np.flatnonzero(keep)
        rows = rows[_may_begin_alike(*(side.take(pa.array(rows)) for side in (source, target)))]
        good = np.ones(len(keep), dtype=bool)
        sides = (same_texts(side.take(pa.array(rows))) for side in (source, target))
        good[rows] = pc.not_equal(*sides).to_numpy(zero_copy_only=False)
        drop("identical_sides", good)
    if rules.min_length or rules.max_length or rules.max_length_ratio:
        count = count_words if rules.length_unit == "words" else _count_characters
        lengths = count(source), count(target)
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
    return (table if keep.all() else table.filter(pa.array(keep))), counts


def without_identical(table: pa.Table, errors: LineErrors) -> pa.Table:
    """Leaves out the pairs of which both sides are the same, and counts them."""
    sides = (same_texts(table.column(name).combine_chunks()) for name in ("sentence1", "sentence2"))
    same = pc.equal(*sides)
    errors.left_out["identical"] += same.true_count
    return table.filter(pc.invert(same))


def _may_begin_alike(source: pa.Array, target: pa.Array) -> np.ndarray:
    """Returns which texts do not begin with two different letters or digits of ASCII: (sentences,), bool."""
    first, second = (
        pc.ascii_lower(pc.utf8_slice_codeunits(pc.utf8_trim_whitespace(side), 0, 1)) for side in (source, target)
    )
    both_ascii = pc.and_(pc.ascii_is_alnum(first), pc.ascii_is_alnum(second))
    return pc.or_(pc.equal(first, second), pc.invert(both_ascii)).to_numpy(zero_copy_only=False)


def _count_characters(texts: pa.Array) -> np.ndarray:
    return pc.utf8_length(pc.utf8_trim_whitespace(texts)).fill_null(0).to_numpy(zero_copy_only=False)
