"""Tokens and n-grams of many sentences at once, as arrays: counts per text, and n-grams that two sentences share."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .words import MARK, SPACE, UNSPACED_LETTER, WORD, character_kinds, contraction_endings

SHORTEST_WORD = 3
_CHARACTER_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)


@functools.lru_cache(maxsize=4)
def _powers(count: int) -> np.ndarray:
    """Return the first powers of the multiplier modulo 2⁶⁴, uint64 (count,)."""
    powers = np.full(count, _CHARACTER_MULTIPLIER)
    powers[0] = 1
    return np.multiply.accumulate(powers)


class TokenSpans:
    """The tokens of sentences, in order.

    Attributes:
        counts: Tokens of each sentence, int64 (sentences,).
        first: Where the tokens of each sentence begin, int64 (sentences,).
        starts: Where each token begins in the sentences joined by line breaks, int64 (tokens,).
        sizes: Characters of each token, int64 (tokens,).
        numbers: A hash of each token, uint64 (tokens,), equal for equal tokens of one call.
        is_word: Whether a token has at least three characters, or is a letter of a script without spaces, bool
            (tokens,). Shorter tokens are punctuation and articles, which occur in every text.
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
        # Whether a character continues the token before it.
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
        # Σ c_k·m^{n−s+k} modulo 2⁶⁴ over the characters of each token, from prefix sums. A power of two, so that a
        # few tables serve all texts.
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
    """Assign each combining mark the kind of its letter; a mark without a letter is a word character."""
    marks = np.flatnonzero(kinds == MARK)
    if not len(marks):
        return kinds
    letters = np.arange(len(kinds))
    letters[marks] = 0
    kinds_of_letters = kinds[np.maximum.accumulate(letters)[marks]]
    result = kinds.copy()
    result[marks] = np.where(kinds_of_letters == UNSPACED_LETTER, UNSPACED_LETTER, WORD)
    return result


_PAIR_MULTIPLIER = np.uint64(0xD6E8FEB86659FD93)
_SLOT_MULTIPLIER = 0x9E3779B97F4A7C15


class SharedNgrams(NamedTuple):
    """Counts of all occurrences of the n-grams of one order in pairs; int64 (pairs,) each.

    Attributes:
        total1: N-grams of `sentence1`; likewise total2.
        present1: N-grams of `sentence1` that occur in `sentence2`; likewise present2.
        clipped: The smaller of the two counts of each n-gram, summed.
        repeated1: N-grams of `sentence1` that occurred before in it; likewise repeated2.
    """

    total1: NDArray[np.int64]
    total2: NDArray[np.int64]
    present1: NDArray[np.int64]
    present2: NDArray[np.int64]
    clipped: NDArray[np.int64]
    repeated1: NDArray[np.int64]
    repeated2: NDArray[np.int64]


class _Groups(NamedTuple):
    """Equal n-grams of one pair, with their counts in both sentences; an n-gram that occurs once is in no group.

    `words` is true if the first token is a word; `of_tokens` has the group of the n-gram that begins at each token, -1
    for none (tokens,). The other arrays are (groups,).
    """

    pairs: NDArray[np.int64]
    words: NDArray[np.bool_]
    counts1: NDArray[np.int64]
    counts2: NDArray[np.int64]
    of_tokens: NDArray[np.int64]


class PairNgrams:
    """The n-grams that the two sentences of pairs share and repeat, counted without a loop over the pairs.

    An n-gram can only occur twice in a pair if both its shorter n-grams do. So each order compares only the repeated
    n-grams of the order below, as pairs of groups.

    Args:
        spans: The tokens of the first sentences of all pairs, then of the second ones.
    """

    def __init__(self, spans: TokenSpans) -> None:
        self._spans = spans
        self._num_pairs = len(spans.counts) // 2
        self._boundary = int(spans.counts[: self._num_pairs].sum())
        self._sentences = np.repeat(np.arange(2 * self._num_pairs), spans.counts)
        self._groups: list[_Groups] = []
        self._shared: dict[int, SharedNgrams] = {}

    def shared(self, order: int) -> SharedNgrams:
        """Count the n-grams of all tokens."""
        while len(self._groups) < order:
            self._groups.append(self._next_groups())
        if order not in self._shared:
            totals = np.maximum(self._spans.counts - (order - 1), 0)
            groups = self._groups[order - 1]
            self._shared[order] = self._count(totals, groups.pairs, groups.counts1, groups.counts2)
        return self._shared[order]

    def shared_words(self) -> SharedNgrams:
        """Count the tokens that are words by :attr:`TokenSpans.is_word`."""
        self.shared(1)
        totals = np.bincount(self._sentences[self._spans.is_word], minlength=2 * self._num_pairs)
        groups = self._groups[0]
        return self._count(
            totals, *(values[groups.words] for values in (groups.pairs, groups.counts1, groups.counts2))
        )

    def _next_groups(self) -> _Groups:
        if not self._groups:
            starts = np.arange(len(self._sentences))
            pairs = (self._sentences % max(1, self._num_pairs)).astype(np.uint64)
            keys = self._spans.numbers + pairs * _PAIR_MULTIPLIER
        else:
            below = self._groups[-1]
            goes_on = (below.of_tokens[:-1] >= 0) & (below.of_tokens[1:] >= 0)
            if len(self._groups) == 1:
                goes_on &= self._sentences[:-1] == self._sentences[1:]
            starts = np.flatnonzero(goes_on)
            keys = (below.of_tokens[starts] * len(below.pairs) + below.of_tokens[starts + 1]).astype(np.uint64)
        equal = _first_equal(keys)
        split = int(np.searchsorted(starts, self._boundary))
        counts1, counts2 = (np.bincount(part, minlength=len(keys)) for part in (equal[:split], equal[split:]))
        members = np.flatnonzero(counts1 + counts2 > 1)
        numbers = np.full(len(keys), -1)
        numbers[members] = np.arange(len(members))
        of_tokens = np.full(len(self._sentences), -1)
        of_tokens[starts] = numbers[equal]
        firsts = starts[members]
        pairs_of_groups = self._sentences[firsts] % max(1, self._num_pairs)
        return _Groups(pairs_of_groups, self._spans.is_word[firsts], counts1[members], counts2[members], of_tokens)

    def _count(
        self,
        totals: NDArray[np.int64],
        pairs: NDArray[np.int64],
        counts1: NDArray[np.int64],
        counts2: NDArray[np.int64],
    ) -> SharedNgrams:
        def by_pair(values: NDArray[np.int64]) -> NDArray[np.int64]:
            return np.bincount(pairs, values, self._num_pairs).astype(np.int64)

        return SharedNgrams(
            totals[: self._num_pairs],
            totals[self._num_pairs :],
            by_pair(counts1 * (counts2 > 0)),
            by_pair(counts2 * (counts1 > 0)),
            by_pair(np.minimum(counts1, counts2)),
            by_pair(np.maximum(counts1 - 1, 0)),
            by_pair(np.maximum(counts2 - 1, 0)),
        )


def number_ngrams(spans: TokenSpans, order: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of each n-gram of sentences and its first token, each (occurrences,)."""
    _, words = np.unique(spans.numbers, return_inverse=True)
    following = np.repeat(spans.first + spans.counts, spans.counts) - np.arange(len(words))
    starts = np.flatnonzero(following >= order)
    numbers = np.zeros(len(starts), np.int64)
    num_words = int(words.max(initial=0)) + 1
    for offset in range(order):
        # Numbers after every word keep the products small.
        _, numbers = np.unique(numbers * num_words + words[starts + offset], return_inverse=True)
    return numbers, starts


def word_ngrams(words: Sequence[str], order: int) -> list[tuple[str, ...]]:
    """List the n-grams of some words, in order."""
    return list(zip(*(words[start:] for start in range(order)), strict=False))


def _first_equal(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return for every key (n,) the position of one equal key, the same for all equal keys: int64 (n,)."""
    # A hash table in arrays: keys are written to slots, and keys that were overwritten go to the next round.
    equal = np.empty(len(keys), np.int64)
    bits = max(1, (2 * len(keys)).bit_length())
    table = np.empty(1 << bits, np.int32 if len(keys) < 1 << 31 else np.int64)
    pending = np.arange(len(keys))
    for attempt in count():
        multiplier = np.uint64((_SLOT_MULTIPLIER * (2 * attempt + 1)) & 0xFFFFFFFFFFFFFFFF)
        own = keys[pending] if attempt else keys
        slots = ((own * multiplier) >> np.uint64(64 - bits)).view(np.int64)
        table[slots] = pending
        written = table[slots]
        is_own = keys[written] == own
        if is_own.all():
            equal[pending] = written
            break
        equal[pending[is_own]] = written[is_own]
        pending = pending[~is_own]
    return equal
