"""Sentences as word numbers, counts of trigrams, and the adjusted counts of lower orders for Kneser-Ney smoothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import InputError
from ..tokens import TokenSpans

UNKNOWN, BEGIN, END = "<unk>", "<s>", "</s>"
"""The marks of ARPA files. None can be a token: :func:`~..tokens.tokenize` splits at the angle brackets."""
ORDER = 3
WORD_BITS = 21
"""Bits of a word's number: three of them make up a 64-bit key."""
WORD_MASK = (1 << WORD_BITS) - 1
_PENDING = 1 << 22


def _with_marks(numbers: np.ndarray, counts: np.ndarray, begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
    """Puts `begin` before and `end` behind every sentence; returns the sequence and where each `begin` stands."""
    sequence = np.empty(len(numbers) + 2 * len(counts), dtype=np.int64)
    begins = np.cumsum(counts + 2) - counts - 2
    sequence[begins] = begin
    sequence[begins + counts + 1] = end
    sentences = np.repeat(np.arange(len(counts)), counts)
    sequence[np.arange(len(numbers)) + 2 * sentences + 1] = numbers
    return sequence, begins


class TrigramCounter:
    """Counts the trigrams of tokenised text; memory grows with the distinct trigrams, not with the text.

    As in KenLM's `lmplz`, a sentence w_1 … w_n is counted as `<s>` w_1 … w_n `</s>`, with a single begin mark.
    Sentences without a token are left out.

    Attributes:
        words: The word of each number; the first three are `<unk>`, `<s>` and `</s>`.
        tokens: How many tokens they have, end marks excluded.
    """

    def __init__(self) -> None:
        self.words = [UNKNOWN, BEGIN, END]
        self.sentences = self.tokens = 0
        self._numbers = {word: number for number, word in enumerate(self.words)}
        self._trigrams = _Counts()
        self._openings = _Counts()

    def add(self, sentences: Sequence[str]) -> None:
        """Counts some sentences."""
        spans = TokenSpans(list(map(str.lower, sentences)))
        # Each distinct token is looked up once, in the order in which they come.
        _, places, inverse = np.unique(spans.numbers, return_index=True, return_inverse=True)
        order = np.argsort(places)
        distinct = np.empty(len(places), dtype=np.int64)
        distinct[order] = [self._number(spans.text(place)) for place in places[order].tolist()]
        numbers = distinct[inverse]
        counts = spans.counts[spans.counts > 0]
        sequence, begins = _with_marks(numbers, counts, self._numbers[BEGIN], self._numbers[END])
        self.sentences += len(counts)
        self.tokens += len(numbers)
        self._openings.add(pack(sequence[begins], sequence[begins + 1]))
        inside = np.ones(len(sequence), dtype=bool)
        # No trigram begins at the last word of a sentence or at its end mark.
        ends = begins + counts
        inside[ends] = inside[ends + 1] = False
        starts = np.flatnonzero(inside)
        self._trigrams.add(pack(sequence[starts], sequence[starts + 1], sequence[starts + 2]))

    def adjusted(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Computes what Kneser-Ney smoothing counts (Chen and Goodman 1998, section 2.7; `lmplz`).

        Trigrams count as often as they occur. Bigrams and words count as many distinct words as stand before them,
        except bigrams that begin with `<s>`, which nothing can stand before: they count as often as they occur.

        Returns:
            For each order from 1 to 3 the keys of its n-grams, ascending, int64 (n-grams,), and their adjusted
            counts, int64 (n-grams,). Words have all numbers as keys; `<unk>` and `<s>` have count 0.
        """
        trigrams, occurrences = self._trigrams.totals()
        openings, opening_counts = self._openings.totals()
        bigrams, lefts = np.unique(trigrams & ((1 << 2 * WORD_BITS) - 1), return_counts=True)
        bigrams, lefts = np.concatenate([openings, bigrams]), np.concatenate([opening_counts, lefts])
        order = np.argsort(bigrams)
        bigrams, lefts = bigrams[order], lefts[order]
        words = np.bincount(bigrams & WORD_MASK, minlength=len(self.words))
        return [(np.arange(len(self.words)), words), (bigrams, lefts), (trigrams, occurrences)]

    def _number(self, word: str) -> int:
        number = self._numbers.setdefault(word, len(self.words))
        if number == len(self.words):
            if number > WORD_MASK:
                raise InputError(
                    f"the text of the language model has more than {number:,} distinct words", remedy="give less text"
                )
            self.words.append(word)
        return number


class _Counts:
    """Occurrences of keys, kept as sorted distinct keys that new ones are merged into now and then."""

    def __init__(self) -> None:
        self._keys: list[np.ndarray] = [np.empty(0, dtype=np.int64)]
        self._counts: list[np.ndarray] = [np.empty(0, dtype=np.int64)]

    def add(self, keys: np.ndarray) -> None:
        distinct, counts = np.unique(keys, return_counts=True)
        self._keys.append(distinct)
        self._counts.append(counts)
        if sum(map(len, self._keys[1:])) > max(_PENDING, len(self._keys[0])):
            self.totals()

    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        keys, inverse = np.unique(np.concatenate(self._keys), return_inverse=True)
        counts = np.zeros(len(keys), dtype=np.int64)
        np.add.at(counts, inverse, np.concatenate(self._counts))
        self._keys, self._counts = [keys], [counts]
        return keys, counts


def pack(*numbers: np.ndarray) -> np.ndarray:
    """Packs the word numbers of n-grams, the first word highest, into one int64 each."""
    key = numbers[0].copy()
    for number in numbers[1:]:
        key <<= WORD_BITS
        key |= number
    return key
