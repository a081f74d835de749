"""The tokens over which the measures count, of one sentence or of many at once.

:func:`tokenize` says what a token is. :class:`TokenSpans` finds the same tokens of many sentences with arrays instead
of a loop: spans of one long array of characters, each with a 64-bit number that is the same for equal tokens.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

import numpy as np

# A word keeps its combining accents.
_W = r"[\w\u0300-\u036f]"
_SUFFIXES = "s|d|m|re|ve|ll"
_NOT = f"n't(?!{_W})"
_TOKEN = re.compile(rf"{_NOT}|'(?:{_SUFFIXES})(?!{_W})|{_W}+?(?={_NOT})|{_W}+|[^\w\s]")
_CONTRACTED = re.compile(rf"'(t|{_SUFFIXES})(?!{_W})")
_WORD, _SPACE, _OTHER = range(3)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)


def tokenize(text: str) -> list[str]:
    """Splits a lower-cased text into the words that encoders have by default.

    At white space and around punctuation, each mark of which is a token, and before the endings of English
    contractions: `don't` is `do` and `n't`, `it's` is `it` and `'s`, `well-known` three tokens. Curly apostrophes are
    straightened.
    """
    return _TOKEN.findall(_straightened(text.lower()))


def _straightened(text: str) -> str:
    return text.replace("\u2019", "'")


@functools.lru_cache(maxsize=1)
def _kinds() -> np.ndarray:
    """Returns for every code point whether it is part of a word, space, or a token by itself: uint8."""
    characters = "".join(map(chr, range(0x110000)))
    kinds = np.full(len(characters), _OTHER, dtype=np.uint8)
    for pattern, kind in ((f"{_W}+", _WORD), (r"\s+", _SPACE)):
        for match in re.finditer(pattern, characters):
            kinds[match.start() : match.end()] = kind
    return kinds


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
        sizes: Characters of each token, int64 (tokens,).
        numbers: A number for each token, uint64 (tokens,): the same for equal tokens of one call. Different tokens
            share one with a probability of about 2⁻⁶⁴.
    """

    def __init__(self, sentences: Sequence[str]) -> None:
        sizes = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences)) + 1
        # A line break after each sentence keeps a word from reaching into the next one.
        self._text = _straightened("\n".join([*sentences, ""]))
        if self._text.isascii():
            encoded = self._text.encode("ascii")
            codes = np.frombuffer(encoded, dtype=np.uint8)
            kinds = np.frombuffer(encoded.translate(_kinds()[:256].tobytes()), dtype=np.uint8)
        else:
            codes = np.frombuffer(self._text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
            kinds = _kinds()[codes]
        shown = kinds != _SPACE
        # Whether a character continues the token before it, and whether the next one continues its own.
        joined = np.zeros(len(codes) + 1, dtype=np.bool_)
        word = kinds == _WORD
        np.logical_and(word[1:], word[:-1], out=joined[1:-1])
        for contracted in _CONTRACTED.finditer(self._text):
            apostrophe, stop = contracted.start(), contracted.end()
            if contracted[1] != "t":
                joined[apostrophe + 1 : stop] = True
            elif apostrophe and self._text[apostrophe - 1] == "n":
                joined[apostrophe - 1] = False
                joined[apostrophe:stop] = True
        self._starts = np.flatnonzero(shown & ~joined[:-1])
        self._stops = np.flatnonzero(shown & ~joined[1:]) + 1
        self.sizes = self._stops - self._starts
        edges = np.searchsorted(self._starts, np.concatenate([[0], np.cumsum(sizes)]))
        self.first, self.counts = edges[:-1], np.diff(edges)
        self.numbers = self._number(codes)

    def __len__(self) -> int:
        return len(self._starts)

    def text(self, token: int) -> str:
        """Returns the text of a token."""
        return self._text[self._starts[token] : self._stops[token]]

    def _number(self, codes: np.ndarray) -> np.ndarray:
        """Computes Σ c_k·m^{n−s+k} modulo 2⁶⁴ over the characters of each token, from prefix sums."""
        if not len(codes):
            return np.empty(0, dtype=np.uint64)
        # A power of two, so that the few tables that there are serve all texts.
        powers = _powers(1 << len(codes).bit_length())
        sums = np.zeros(len(codes) + 1, dtype=np.uint64)
        np.cumsum(codes * powers[: len(codes)], out=sums[1:])
        numbers = sums[self._stops] - sums[self._starts]
        numbers *= powers[len(codes) - self._starts]
        # The low bits of such a sum depend on few bits of the characters.
        numbers ^= numbers >> np.uint64(31)
        numbers *= _MIX
        numbers ^= numbers >> np.uint64(29)
        return numbers
