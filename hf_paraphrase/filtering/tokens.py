"""The tokens over which the measures count, of one sentence or of many at once.

:func:`tokenize` says what a token is. :class:`TokenSpans` finds the same tokens of many sentences with arrays instead
of a loop: spans of one long array of characters, each with a 64-bit number that is the same for equal tokens.
:func:`shared_ngrams` counts the n-grams of pairs that occur on the other side, or before on their own.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..data.same_text import combining_marks

_SUFFIXES = "s|d|m|re|ve|ll"
_WORD, _SPACE, _OTHER = range(3)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_NGRAM_MULTIPLIER = np.uint64(0xD6E8FEB86659FD93)


def tokenize(text: str) -> list[str]:
    """Splits a lower-cased text into the words that encoders have by default.

    At white space and around punctuation, each mark of which is a token, and before the endings of English
    contractions: `don't` is `do` and `n't`, `it's` is `it` and `'s`, `well-known` three tokens. Curly apostrophes are
    straightened.
    """
    text = text.lower().replace("\u2019", "'")
    return _patterns(text.isascii() or max(text) < "\U00010000")[0].findall(text)


@functools.cache
def _patterns(is_basic: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Returns the patterns of a token and of the end of a contraction, for texts of the basic plane or for all.

    A word keeps its combining marks, such as the vowel signs of Hindi. A class of the basic plane is faster.
    """
    marks = [mark for mark in combining_marks() if not is_basic or ord(mark) < 0x10000]
    w = rf"[\w{''.join(marks)}]"
    not_ = f"n't(?!{w})"
    token = re.compile(rf"{not_}|'(?:{_SUFFIXES})(?!{w})|{w}+?(?={not_})|{w}+|[^\w\s]")
    return token, re.compile(rf"'(t|{_SUFFIXES})(?!{w})")


@functools.lru_cache(maxsize=1)
def _kinds() -> np.ndarray:
    """Returns for every code point whether it is part of a word, space, or a token by itself: uint8."""
    characters = "".join(map(chr, range(0x110000)))
    kinds = np.full(len(characters), _OTHER, dtype=np.uint8)
    for pattern, kind in ((r"\w+", _WORD), (r"\s+", _SPACE)):
        for match in re.finditer(pattern, characters):
            kinds[match.start() : match.end()] = kind
    kinds[list(map(ord, combining_marks()))] = _WORD
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
        starts: Where each token begins in the sentences joined by line breaks, int64 (tokens,).
        sizes: Characters of each token, int64 (tokens,).
        numbers: A number for each token, uint64 (tokens,): the same for equal tokens of one call. Different tokens
            share one with a probability of about 2⁻⁶⁴.
    """

    def __init__(self, sentences: Sequence[str]) -> None:
        sizes = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences)) + 1
        # A line break after each sentence keeps a word from reaching into the next one.
        text = "\n".join([*sentences, ""]).replace("\u2019", "'")
        if text.isascii():
            encoded = text.encode("ascii")
            codes = np.frombuffer(encoded, dtype=np.uint8)
            kinds = np.frombuffer(encoded.translate(_kinds()[:256].tobytes()), dtype=np.uint8)
        else:
            codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
            kinds = _kinds()[codes]
        shown = kinds != _SPACE
        # Whether a character continues the token before it, and whether the next one continues its own.
        joined = np.zeros(len(codes) + 1, dtype=np.bool_)
        word = kinds == _WORD
        np.logical_and(word[1:], word[:-1], out=joined[1:-1])
        for contracted in _patterns(int(codes.max(initial=0)) < 0x10000)[1].finditer(text):
            apostrophe, stop = contracted.start(), contracted.end()
            if contracted[1] != "t":
                joined[apostrophe + 1 : stop] = True
            elif apostrophe and text[apostrophe - 1] == "n":
                joined[apostrophe - 1] = False
                joined[apostrophe:stop] = True
        self.starts = np.flatnonzero(shown & ~joined[:-1])
        stops = np.flatnonzero(shown & ~joined[1:]) + 1
        self.sizes = stops - self.starts
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


class SharedNgrams(NamedTuple):
    """Counts over the n-grams of one order, every occurrence of an n-gram counting for itself; int64 (pairs,) each.

    Attributes:
        total1: N-grams of `sentence1`.
        total2: N-grams of `sentence2`.
        present1: N-grams of `sentence1` that occur in `sentence2`.
        present2: N-grams of `sentence2` that occur in `sentence1`.
        clipped: N-grams that both have, each counted as often as the side that has it less often does.
        repeated1: N-grams of `sentence1` that occurred before in it.
        repeated2: N-grams of `sentence2` that occurred before in it.
    """

    total1: np.ndarray
    total2: np.ndarray
    present1: np.ndarray
    present2: np.ndarray
    clipped: np.ndarray
    repeated1: np.ndarray
    repeated2: np.ndarray


def shared_ngrams(spans: TokenSpans, order: int = 1, *, shortest: int = 1) -> SharedNgrams:
    """Counts the n-grams of pairs, those of tokens with at least `shortest` characters.

    Pair, n-gram and side of every n-gram make one integer; sorted, equal n-grams of a pair stand together, and a pass
    over the groups counts them for all pairs at once.

    Args:
        spans: The tokens of the first sentences of all pairs, then of the second ones.
        order: How many tokens an n-gram has, 1 or more.
        shortest: The fewest characters of a token; shorter ones are left out before n-grams are made.
    """
    num_pairs = len(spans.counts) // 2
    numbers, sentences = spans.numbers, np.repeat(np.arange(2 * num_pairs, dtype=np.uint64), spans.counts)
    if shortest > 1:
        kept = spans.sizes >= shortest
        numbers, sentences = numbers[kept], sentences[kept]
    grams = numbers
    for place in range(1, order):
        grams = grams[:-1] * _NGRAM_MULTIPLIER + numbers[place:]
    if order > 1:
        inside = np.flatnonzero(sentences[: len(grams)] == sentences[order - 1 :])
        grams, sentences = grams[inside], sentences[inside]
    totals = np.bincount(sentences.astype(np.int64), minlength=2 * num_pairs).reshape(2, num_pairs)
    side = (sentences >= num_pairs).astype(np.uint64)
    pairs = sentences - side * np.uint64(num_pairs)
    # The lowest bit is the side, the highest are the pair; of the n-gram's number as many bits as are left.
    pair_bits = num_pairs.bit_length()
    keys = pairs << np.uint64(64 - pair_bits) | grams >> np.uint64(pair_bits + 1) << np.uint64(1) | side
    keys.sort()
    grams = keys >> np.uint64(1)
    edges = np.concatenate([[0], np.flatnonzero(grams[1:] != grams[:-1]) + 1, [len(keys)]])
    # An n-gram that a pair has once is neither shared nor repeated.
    groups = np.flatnonzero(np.diff(edges) > 1)
    begins, ends = edges[groups], edges[groups + 1]
    seconds = np.concatenate([[0], np.cumsum((keys & np.uint64(1)).view(np.int64))])
    counts2 = seconds[ends] - seconds[begins]
    counts1 = ends - begins - counts2
    group_pairs = (keys[begins] >> np.uint64(64 - pair_bits)).astype(np.int64)

    def by_pair(values: np.ndarray) -> np.ndarray:
        return np.bincount(group_pairs, values, num_pairs).astype(np.int64)

    return SharedNgrams(
        totals[0],
        totals[1],
        by_pair(counts1 * (counts2 > 0)),
        by_pair(counts2 * (counts1 > 0)),
        by_pair(np.minimum(counts1, counts2)),
        by_pair(np.maximum(counts1 - 1, 0)),
        by_pair(np.maximum(counts2 - 1, 0)),
    )
