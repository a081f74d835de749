"""Which n-grams of a pair of sentences occur on the other side, and which occurred before on their own.

Where a token occurs in another sentence of at most 64 tokens fits into 64 bits: bit j of the mask of token i says that
token j over there is the same. The n-gram at i then occurs at those j that are left of

    mask_n(i) = mask_{n−1}(i) & (mask_1(i + n − 1) >> (n − 1)),

so that one sort of the tokens serves all orders, and each order costs two operations a token. Longer sentences, which
are rare, are counted one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .tokens import TokenSpans

LONGEST = 64
"""Sentences of more tokens are counted one by one."""


class SharedNgrams(NamedTuple):
    """Counts over the n-grams of one order, every occurrence of an n-gram counting for itself; int64 (pairs,) each.

    Attributes:
        present1: N-grams of `sentence1` that occur in `sentence2`.
        present2: N-grams of `sentence2` that occur in `sentence1`.
        clipped: N-grams that both have, each counted as often as the side that has it less often does.
        repeated1: N-grams of `sentence1` that occurred before in it.
        repeated2: N-grams of `sentence2` that occurred before in it.
    """

    present1: np.ndarray
    present2: np.ndarray
    clipped: np.ndarray
    repeated1: np.ndarray
    repeated2: np.ndarray


class SharedNgramCounter:
    """Counts shared and repeated n-grams of pairs, order by order; each order is counted once."""

    def __init__(self, spans: TokenSpans) -> None:
        self.num_pairs = len(spans.counts) // 2
        self._spans = spans
        long = (spans.counts > LONGEST).reshape(2, self.num_pairs).any(0)
        self._long = np.flatnonzero(long)
        counts = np.where(np.tile(long, 2), 0, spans.counts)
        self._edges = np.concatenate([[0], np.cumsum(counts)])
        self._counted = np.flatnonzero(np.repeat(~np.tile(long, 2), spans.counts)) if len(self._long) else slice(None)
        tokens = np.arange(self._edges[-1])
        self._following = np.repeat(self._edges[1:], counts) - 1 - tokens
        self._first_side = int(self._edges[self.num_pairs])
        pairs = np.repeat(np.tile(np.arange(self.num_pairs, dtype=np.uint64), 2), counts)
        # Shorter masks take less time to move, and most sentences are short.
        kind = np.uint32 if counts.max(initial=0) <= LONGEST // 2 else np.uint64
        places = (tokens - np.repeat(self._edges[:-1], counts)).astype(kind)
        self._other, self._earlier = self._token_masks(pairs, places)
        self._masks = {1: (self._other, self._earlier)}
        self._results: dict[int, SharedNgrams] = {}

    def of_order(self, order: int) -> SharedNgrams:
        """Counts the n-grams of one order, 1 or more."""
        if order not in self._results:
            self._results[order] = self._count(order)
        return self._results[order]

    def repeated_words(self, characters: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Counts the tokens of at least so many characters.

        Returns:
            For `sentence1` the number of such tokens and how many of them occurred before in it, then the same for
            `sentence2`; int64 (pairs,) each.
        """
        long = self._spans.sizes[self._counted] >= characters
        words, repeated = self._by_sentence(long, long & (self._earlier != 0))
        for row in self._long.tolist():
            for side in (0, 1):
                kept = [token for token in self._tokens(row, side) if len(token) >= characters]
                words[side][row], repeated[side][row] = len(kept), len(kept) - len(set(kept))
        return words[0], repeated[0], words[1], repeated[1]

    def present_words(self, characters: int) -> tuple[np.ndarray, np.ndarray]:
        """Counts the tokens of `sentence2` of at least so many characters, and those that `sentence1` has as well."""
        long = self._spans.sizes[self._counted] >= characters
        words, present = (counts[1] for counts in self._by_sentence(long, long & (self._other != 0)))
        for row in self._long.tolist():
            first = set(self._tokens(row, 0))
            kept = [token for token in self._tokens(row, 1) if len(token) >= characters]
            words[row], present[row] = len(kept), sum(token in first for token in kept)
        return words, present

    def _token_masks(self, pairs: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each token where it occurs on the other side, and where before on its own: (tokens,) both."""
        kind = places.dtype.type
        bits = np.left_shift(kind(1), places)
        if not len(bits):
            return bits, bits
        order, begins = _groups(pairs, self._spans.numbers[self._counted])
        sorted_bits = bits[order]
        on_side1 = order < self._first_side
        none = kind(0)
        # The bits of a group are all different, so their sum is their union, and sums come from running totals.
        masks1 = _group_sums(np.where(on_side1, sorted_bits, none), begins)
        masks2 = _group_sums(np.where(on_side1, none, sorted_bits), begins)
        group = np.empty(len(order), dtype=np.int64)
        group[order] = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(order)))
        own = np.concatenate([masks1[group[: self._first_side]], masks2[group[self._first_side :]]])
        other = np.concatenate([masks2[group[: self._first_side]], masks1[group[self._first_side :]]])
        return other, own & (bits - kind(1))

    def _masks_of(self, order: int) -> tuple[np.ndarray, np.ndarray]:
        if order not in self._masks:
            other, earlier = self._masks_of(order - 1)
            # No n-gram begins where fewer than n − 1 tokens follow.
            fits = self._following >= order - 1
            self._masks[order] = (
                (other & _shifted(self._other, order - 1)) * fits,
                (earlier & _shifted(self._earlier, order - 1)) * fits,
            )
        return self._masks[order]

    def _count(self, order: int) -> SharedNgrams:
        other, earlier = self._masks_of(order)
        # An occurrence is clipped away if as many came before it as the other side has.
        matched = np.bitwise_count(earlier) < np.bitwise_count(other)
        present, repeated, (_, clipped) = self._by_sentence(other != 0, earlier != 0, matched)
        for row in self._long.tolist():
            first, second = (Counter(_ngrams(self._tokens(row, side), order)) for side in (0, 1))
            present[0][row] = sum(count for gram, count in first.items() if gram in second)
            present[1][row] = sum(count for gram, count in second.items() if gram in first)
            clipped[row] = (first & second).total()
            repeated[0][row] = first.total() - len(first)
            repeated[1][row] = second.total() - len(second)
        return SharedNgrams(present[0], present[1], clipped, repeated[0], repeated[1])

    def _by_sentence(self, *flags: np.ndarray) -> list[np.ndarray]:
        """Counts the tokens of each sentence that have a flag: for up to four flags an int64 (2, pairs) array each."""
        # No count exceeds 64, so four of them fit into the bytes of one integer and are added up together.
        columns = np.zeros((len(flags[0]), 4), dtype=np.uint8)
        for place, flag in enumerate(flags):
            columns[:, place] = flag
        totals = np.zeros(len(columns) + 1, dtype=np.uint32)
        np.cumsum(columns.view(np.uint32)[:, 0], out=totals[1:])
        counts = np.diff(totals[self._edges]).view(np.uint8).reshape(2, self.num_pairs, 4)
        return [counts[:, :, place].astype(np.int64) for place in range(len(flags))]

    def _tokens(self, row: int, side: int) -> list[str]:
        sentence = row + side * self.num_pairs
        first = self._spans.first[sentence]
        return [self._spans.text(token) for token in range(first, first + self._spans.counts[sentence])]


def _groups(pairs: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorts tokens by pair and number; returns the order and where each group of equal tokens begins in it."""
    # Pair, some bits of the number, and the token's place in one integer: sorting them is faster than sorting places.
    place_bits = len(pairs).bit_length()
    number_bits = 64 - int(pairs.max()).bit_length() - place_bits
    keys = pairs << np.uint64(number_bits + place_bits)
    keys |= numbers >> np.uint64(64 - number_bits) << np.uint64(place_bits)
    keys |= np.arange(len(pairs), dtype=np.uint64)
    keys.sort()
    order = (keys & np.uint64((1 << place_bits) - 1)).astype(np.int64)
    keys >>= np.uint64(place_bits)
    same = keys[1:] == keys[:-1]
    ordered = numbers[order]
    if (same & (ordered[1:] != ordered[:-1])).any():
        order = np.lexsort((numbers, pairs))
        same = (pairs[order[1:]] == pairs[order[:-1]]) & (numbers[order[1:]] == numbers[order[:-1]])
    return order, np.flatnonzero(np.concatenate([[True], ~same]))


def _group_sums(values: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """Adds up the values of each group, modulo the range of their type: (groups,)."""
    totals = np.cumsum(values, dtype=values.dtype)
    return np.diff(totals[np.append(begins[1:], len(values)) - 1], prepend=values.dtype.type(0))


def _shifted(masks: np.ndarray, places: int) -> np.ndarray:
    """The masks of the tokens so many places further on, their bits moved back by as many places."""
    moved = np.zeros_like(masks)
    if places < len(masks):
        np.right_shift(masks[places:], masks.dtype.type(places), out=moved[: len(masks) - places])
    return moved


def _ngrams(tokens: Sequence[str], order: int) -> list[tuple[str, ...]]:
    return [tuple(tokens[place : place + order]) for place in range(len(tokens) - order + 1)]
