"""N-grams of words: those of one text, and those that the two sides of many pairs share or repeat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .tokens import TokenSpans

_NGRAM_MULTIPLIER = np.uint64(0xD6E8FEB86659FD93)


def word_ngrams(words: Sequence[str], order: int) -> list[tuple[str, ...]]:
    """Lists the n-grams of some words, in their order."""
    return list(zip(*(words[start:] for start in range(order)), strict=False))


def hash_ngrams(
    spans: TokenSpans, order: int = 1, *, shortest: int = 1
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Hashes all n-grams of the tokens of sentences with at least `shortest` characters.

    Returns:
        A number for each n-gram, the same for equal ones, uint64 (n-grams,), and its sentence, int64 (n-grams,).
    """
    numbers, sentences = spans.numbers, np.repeat(np.arange(len(spans.counts)), spans.counts)
    if shortest > 1:
        is_long = spans.sizes >= shortest
        numbers, sentences = numbers[is_long], sentences[is_long]
    ngrams = numbers
    for offset in range(1, order):
        ngrams = ngrams[:-1] * _NGRAM_MULTIPLIER + numbers[offset:]
    if order > 1:
        inside = np.flatnonzero(sentences[: len(ngrams)] == sentences[order - 1 :])
        ngrams, sentences = ngrams[inside], sentences[inside]
    return ngrams, sentences


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
    grams, owners = hash_ngrams(spans, order, shortest=shortest)
    sentences = owners.astype(np.uint64)
    totals = np.bincount(owners, minlength=2 * num_pairs).reshape(2, num_pairs)
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
