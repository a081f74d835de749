"""Sentences as word numbers between a begin and an end mark."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..tokens import TokenSpans

UNKNOWN, BEGIN, END = "<unk>", "<s>", "</s>"
"""The marks of ARPA files. None can be a token: :func:`..tokens.tokenize` splits at the angle brackets."""


def word_numbers(spans: TokenSpans, number_of: Callable[[str], int], first: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Numbers the tokens of sentences; each distinct token is looked up once, in the order in which they come.

    Args:
        spans: The tokens.
        number_of: Gives the number of a token.
        first: The sentence to begin with.

    Returns:
        The numbers, int64 (tokens,), and the tokens of each sentence, int64 (sentences,).
    """
    counts = spans.counts[first:]
    skipped = len(spans) - int(counts.sum())
    _, places, inverse = np.unique(spans.numbers[skipped:], return_index=True, return_inverse=True)
    order = np.argsort(places)
    numbers = np.empty(len(places), dtype=np.int64)
    numbers[order] = [number_of(spans.text(skipped + place)) for place in places[order].tolist()]
    return numbers[inverse], counts


def with_marks(numbers: np.ndarray, counts: np.ndarray, begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
    """Puts `begin` before and `end` behind every sentence, empty ones included.

    Returns:
        The sequence, int64 (tokens + 2 · sentences,), and where in it each sentence's mark `begin` stands.
    """
    sequence = np.empty(len(numbers) + 2 * len(counts), dtype=np.int64)
    begins = np.cumsum(counts + 2) - counts - 2
    sequence[begins] = begin
    sequence[begins + counts + 1] = end
    sentences = np.repeat(np.arange(len(counts)), counts)
    sequence[np.arange(len(numbers)) + 2 * sentences + 1] = numbers
    return sequence, begins
