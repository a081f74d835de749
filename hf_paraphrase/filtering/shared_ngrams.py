"""Which n-grams of a pair of sentences occur on the other side, and which occurred before on their own.

Pair, n-gram and side of every n-gram make one integer; sorted, equal n-grams of a pair stand together, and a pass over
the groups counts them for all pairs at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .tokens import TokenSpans

_MULTIPLIER = np.uint64(0xD6E8FEB86659FD93)


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
        grams = grams[:-1] * _MULTIPLIER + numbers[place:]
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
