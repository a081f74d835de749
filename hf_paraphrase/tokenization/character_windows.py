"""Windows of three characters over a whole block of texts at once, in array operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MARKS = "\x01\x02"
"""Two control characters that are taken out of every text, because the tokenizer needs them for itself."""


class CharacterWindows(NamedTuple):
    """The characters of several texts in one row, and the places of their windows.

    Every text has one space before and one behind it, single spaces inside, and shares the spaces round it with its
    neighbours. Window i of the row is `points[centres[i] - 1]`, `points[centres[i]]`, `points[centres[i] + 1]`.

    Attributes:
        points: The code points (characters,), uint8 or uint32.
        centres: The place in the row of the middle character of each window (windows,), int64.
        offsets: Text i has the windows from `offsets[i]` up to `offsets[i + 1]`, int64 (texts + 1,).
    """

    points: NDArray[np.unsignedinteger]
    centres: NDArray[np.int64]
    offsets: NDArray[np.int64]

    def packed(self) -> NDArray[np.int64]:
        """Packs each window into one number, 21 bits a character, whose order is that of the strings (windows,)."""
        wide = self.points.astype(np.int64)
        return (wide[self.centres - 1] << 42) | (wide[self.centres] << 21) | wide[self.centres + 1]


def character_windows(texts: Sequence[str], normalize: Callable[[str], str], *, lower_case: bool) -> CharacterWindows:
    """Finds the windows of three characters of some texts.

    For ASCII the normalisation is computed here: lower case, runs of white space to one space, none at the ends. Any
    other text is given to `normalize`.

    Args:
        texts: The texts.
        normalize: NFKC, lower case if asked for, :data:`MARKS` removed, runs of white space to one space and none at
            the ends, of one text.
        lower_case: Whether ASCII is lower-cased.
    """
    for kind in set(map(type, texts)):
        if not issubclass(kind, str):
            raise TypeError(f"every text must be a string, not {kind.__name__}")
    try:
        plain = [text if text.isascii() else normalize(text) for text in texts]
        joined = f" {' '.join(plain)} "
        if any(mark in joined for mark in MARKS):
            plain = [normalize(text) for text in texts]
            joined = f" {' '.join(plain)} "
    except UnicodeEncodeError as error:
        raise TypeError(f"a text is not valid Unicode: {error}") from error
    lengths = np.fromiter(map(len, plain), np.int64, len(plain))
    borders = np.concatenate([np.zeros(1, np.int64), (lengths + 1).cumsum()])
    points: NDArray[np.unsignedinteger]
    if joined.isascii():
        points = np.frombuffer((joined.lower() if lower_case else joined).encode("ascii"), np.uint8)
    else:
        points = np.frombuffer(joined.encode("utf-32-le"), np.uint32)
        if lower_case:
            # Only capitals of texts that are plain ASCII are left: the others went through `normalize`.
            points = points + np.uint32(32) * ((points >= ord("A")) & (points <= ord("Z"))).astype(np.uint32)
    space = (points == ord(" ")) | ((points >= ord("\t")) & (points <= ord("\r")))
    begins = space.copy()
    begins[1:] &= ~space[:-1]
    runs = np.flatnonzero(begins)
    between = np.zeros(len(runs), np.bool_)
    between[np.searchsorted(runs, borders, side="right") - 1] = True
    kept = ~space
    kept[runs] = True
    middle = ~space
    middle[runs] = ~between
    places = np.flatnonzero(middle)
    row = points[kept]
    # A run of white space is one space whatever it was made of.
    row = np.where(space[kept], np.uint8(ord(" ")), row).astype(points.dtype)
    return CharacterWindows(row, (kept.cumsum() - 1)[places], np.searchsorted(places, borders))
