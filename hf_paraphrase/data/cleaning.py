"""Rules that leave rows of a bitext out: empty or identical sides, length, length ratio."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .same_text import has_words, same_texts


@dataclass(frozen=True)
class CleaningRules:
    """What `clean` leaves out besides rows with an empty side; a limit of 0 is none."""

    drop_identical: bool = False
    min_length: int = 0
    max_length: int = 0
    max_length_ratio: float = 0.0


def count_words(texts: pa.Array) -> np.ndarray:
    """Counts the words between white space as `len(text.split())` does: (sentences,), int64; a null has none."""
    trimmed = pc.utf8_trim_whitespace(texts)
    lengths = pc.list_value_length(pc.utf8_split_whitespace(trimmed))
    return pc.if_else(pc.equal(trimmed, ""), 0, lengths).fill_null(0).cast(pa.int64()).to_numpy(zero_copy_only=False)


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
    limited = bool(rules.min_length or rules.max_length or rules.max_length_ratio)
    if rules.drop_identical or limited:
        words = count_words(source), count_words(target)
    if rules.drop_identical:
        # Only sides with as many words that begin alike are worth folding.
        rows = np.flatnonzero(keep & (words[0] == words[1]))
        rows = rows[_may_begin_alike(*(side.take(pa.array(rows)) for side in (source, target)))]
        good = np.ones(len(keep), dtype=bool)
        sides = (same_texts(side.take(pa.array(rows))) for side in (source, target))
        good[rows] = pc.not_equal(*sides).to_numpy(zero_copy_only=False)
        drop("identical_sides", good)
    if limited:
        shorter, longer = np.minimum(*words), np.maximum(*words)
        if rules.min_length:
            drop("too_short", shorter >= rules.min_length)
        if rules.max_length:
            drop("too_long", longer <= rules.max_length)
        if rules.max_length_ratio:
            drop("length_ratio", longer <= rules.max_length_ratio * shorter)
    return (table if keep.all() else table.filter(pa.array(keep))), counts


def _may_begin_alike(source: pa.Array, target: pa.Array) -> np.ndarray:
    """Returns which texts do not begin with two different letters or digits of ASCII: (sentences,), bool."""
    first, second = (
        pc.ascii_lower(pc.utf8_slice_codeunits(pc.utf8_trim_whitespace(side), 0, 1)) for side in (source, target)
    )
    both_ascii = pc.and_(pc.ascii_is_alnum(first), pc.ascii_is_alnum(second))
    return pc.or_(pc.equal(first, second), pc.invert(both_ascii)).to_numpy(zero_copy_only=False)
