"""Rules that leave rows of a bitext out: empty or identical sides, length, length ratio."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .same_text import has_words, same_texts

# What `str.split` splits at outside ASCII: the following bytes by the leading byte of its UTF-8 form.
_WIDE_SPACES: dict[int, list[bytes]] = {}
for _code in (0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000):
    _bytes = chr(_code).encode()
    _WIDE_SPACES.setdefault(_bytes[0], []).append(_bytes[1:])


@dataclass(frozen=True)
class CleaningRules:
    """What `clean` leaves out besides rows with an empty side; a limit of 0 is none."""

    drop_identical: bool = False
    min_length: int = 0
    max_length: int = 0
    max_length_ratio: float = 0.0


def count_words(texts: pa.Array) -> np.ndarray:
    """Counts the words between white space as `len(text.split())` does: (sentences,), int64; a null has none."""
    # The bytes of all texts at once are twice as fast as Arrow's split, and prepare is 1.4 times as fast.
    if texts.null_count:
        texts = pc.fill_null(texts, "")
    _, offsets_buffer, data_buffer = texts.buffers()
    if not len(texts) or data_buffer is None:
        return np.zeros(len(texts), dtype=np.int64)
    offsets = np.frombuffer(offsets_buffer, np.int32, len(texts) + 1, 4 * texts.offset)
    data = np.frombuffer(data_buffer, np.uint8)[offsets[0] : offsets[-1]]
    offsets = offsets - offsets[0]
    space = _white_space(data)
    begins = ~space
    begins[1:] &= space[:-1]
    firsts = offsets[:-1][np.diff(offsets) > 0]
    begins[firsts] = ~space[firsts]
    return np.diff(np.searchsorted(np.flatnonzero(begins), offsets))


def _white_space(data: np.ndarray) -> np.ndarray:
    """Marks the bytes of UTF-8 text that belong to what `str.split` splits at: (bytes,), bool."""
    # Unsigned differences wrap, so that each range takes one comparison.
    space = (data == 0x20) | (data - np.uint8(0x09) < 5) | (data - np.uint8(0x1C) < 4)
    for lead, others in _WIDE_SPACES.items():
        places = np.flatnonzero(data == lead)
        # Valid UTF-8 never ends inside a character, so the bytes that are looked at are there.
        for following in others:
            found = places
            for distance, byte in enumerate(following, start=1):
                found = found[data[found + distance] == byte]
            for distance in range(len(following) + 1):
                space[found + distance] = True
    return space


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
