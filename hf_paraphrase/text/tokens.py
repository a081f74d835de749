"""The tokens of many sentences at once, found with arrays instead of a loop: those of :func:`~.words.tokenize`."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from .scripts import MARK, SPACE, UNSPACED_LETTER, WORD, character_kinds
from .words import contraction_endings

SHORTEST_WORD = 3
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)


@functools.lru_cache(maxsize=4)
def _powers(count: int) -> np.ndarray:
    """The first powers of the multiplier modulo 2⁶⁴, uint64 (count,)."""
    powers = np.full(count, _MULTIPLIER)
    powers[0] = 1
    return np.multiply.accumulate(powers)


class TokenSpans:
    """The tokens of sentences, one after the other.

    Attributes:
        counts: Tokens of each sentence, int64 (sentences,).
        first: Where the tokens of each sentence begin, int64 (sentences,).
        starts: Where each token begins in the sentences joined by line breaks, int64 (tokens,).
        sizes: Characters of each token, int64 (tokens,).
        numbers: A number for each token, uint64 (tokens,): the same for equal tokens of one call. Different tokens
            share one with a probability of about 2⁻⁶⁴.
        is_word: Whether a token has at least three characters, or is a letter of a script without spaces, bool
            (tokens,). Shorter tokens are punctuation and articles, which are the same everywhere.
    """

    def __init__(self, sentences: Sequence[str]) -> None:
        sizes = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences)) + 1
        # A line break after each sentence keeps a word from reaching into the next one.
        text = "\n".join([*sentences, ""]).replace("\u2019", "'")
        if text.isascii():
            encoded = text.encode("ascii")
            codes = np.frombuffer(encoded, dtype=np.uint8)
            kinds = np.frombuffer(encoded.translate(character_kinds()[:256].tobytes()), dtype=np.uint8)
        else:
            codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
            kinds = character_kinds()[codes]
        shown = kinds != SPACE
        # Whether a character continues the token before it, and whether the next one continues its own.
        joined = np.zeros(len(codes) + 1, dtype=np.bool_)
        word = kinds == WORD
        if codes.dtype != np.uint8:
            base = _letters_of_marks(kinds)
            word = base == WORD
        np.logical_and(word[1:], word[:-1], out=joined[1:-1])
        if codes.dtype != np.uint8:
            joined[:-1] |= (kinds == MARK) & (base == UNSPACED_LETTER)
        for contracted in contraction_endings(int(codes.max(initial=0)) < 0x10000).finditer(text):
            apostrophe, stop = contracted.start(), contracted.end()
            if contracted[1] != "t":
                joined[apostrophe + 1 : stop] = True
            elif apostrophe and text[apostrophe - 1] == "n":
                joined[apostrophe - 1] = False
                joined[apostrophe:stop] = True
        self.starts = np.flatnonzero(shown & ~joined[:-1])
        stops = np.flatnonzero(shown & ~joined[1:]) + 1
        self.sizes = stops - self.starts
        self.is_word = (self.sizes >= SHORTEST_WORD) | (kinds[self.starts] == UNSPACED_LETTER)
        edges = np.searchsorted(self.starts, np.concatenate([[0], np.cumsum(sizes)]))
        self.first, self.counts = edges[:-1], np.diff(edges)
        # Σ c_k·m^{n−s+k} modulo 2⁶⁴ over the characters of each token, from prefix sums. A power of two, so that the
        # few tables that there are serve all texts.
        powers = _powers(1 << len(codes).bit_length())
        sums = np.zeros(len(codes) + 1, dtype=np.uint64)
        np.cumsum(codes * powers[: len(codes)], out=sums[1:])
        self.numbers = sums[stops] - sums[self.starts]
        self.numbers *= powers[len(codes) - self.starts]
        # The low bits of such a sum depend on few bits of the characters.
        self.numbers ^= self.numbers >> np.uint64(31)
        self.numbers *= _MIX
        self.numbers ^= self.numbers >> np.uint64(29)


def _letters_of_marks(kinds: np.ndarray) -> np.ndarray:
    """Gives each combining mark the kind of the letter that it belongs to; one without a letter is a word."""
    marks = np.flatnonzero(kinds == MARK)
    if not len(marks):
        return kinds
    places = np.arange(len(kinds))
    places[marks] = 0
    kinds_of_letters = kinds[np.maximum.accumulate(places)[marks]]
    result = kinds.copy()
    result[marks] = np.where(kinds_of_letters == UNSPACED_LETTER, UNSPACED_LETTER, WORD)
    return result
