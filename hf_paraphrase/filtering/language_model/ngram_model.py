"""Queries of a backoff language model, for many sentences at once."""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np

from ...errors import InputError
from ..tokens import TokenSpans
from .arpa import ArpaOrder, read_arpa
from .counts import BEGIN, END, UNKNOWN, with_marks, word_numbers

_LOG10_UNKNOWN = -100.0
"""Log-probability of an unknown word where the file has no `<unk>`: KenLM's."""


class SentenceScores(NamedTuple):
    """The figures of a language model for sentences.

    Attributes:
        log10_probabilities: log10 p of the tokens and the end mark together, float64 (sentences,).
        tokens: Tokens, the end mark excluded, int64 (sentences,).
        unknown: Tokens that the model does not know, int64 (sentences,).
    """

    log10_probabilities: np.ndarray
    tokens: np.ndarray
    unknown: np.ndarray

    def perplexities(self) -> np.ndarray:
        """Returns 10^(−log10 p / (tokens + 1)), float64 (sentences,)."""
        return np.power(10.0, -self.log10_probabilities / (self.tokens + 1))


class NgramModel:
    """A backoff model of any order in sorted arrays.

    An n-gram is found by the place of its first n − 1 words among the shorter n-grams and its last word, so that every
    order costs one binary search.
    """

    def __init__(self, words: list[str], orders: list[ArpaOrder], path: str | os.PathLike[str] = "") -> None:
        self._numbers = {word: number for number, word in enumerate(words)}
        missing = [mark for mark in (BEGIN, END) if mark not in self._numbers]
        if missing:
            raise InputError(f"the language model has no {' and no '.join(missing)}", path=path)
        self.order = len(orders)
        self._size = len(words) + 1
        self._unknown = self._numbers.get(UNKNOWN, len(words))
        self._keys: list[np.ndarray] = [np.empty(0, dtype=np.int64)]
        first = np.argsort(orders[0].ngrams[:, 0])
        # The last place stands for an unknown word where the file has none.
        self._probabilities = [np.append(orders[0].log10_probabilities[first], _LOG10_UNKNOWN)]
        self._backoffs = [np.append(orders[0].log10_backoffs[first], 0.0)]
        for number, order in enumerate(orders[1:], 2):
            places = order.ngrams[:, 0]
            for column in range(1, number - 1):
                places = self._find(column + 1, places, order.ngrams[:, column])
            if (places < 0).any():
                gram = " ".join(words[word] for word in order.ngrams[int(np.argmax(places < 0))])
                raise InputError(f"the history of the {number}-gram `{gram}` is not among the n-grams", path=path)
            keys = places * self._size + order.ngrams[:, -1]
            sort = np.argsort(keys)
            self._keys.append(keys[sort])
            self._probabilities.append(order.log10_probabilities[sort])
            self._backoffs.append(order.log10_backoffs[sort])

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> NgramModel:
        """Reads an ARPA file."""
        words, orders = read_arpa(path)
        return cls(words, orders, path)

    def number_of(self, word: str) -> int:
        """Returns the number of a word, that of `<unk>` if the model does not know it."""
        return self._numbers.get(word, self._unknown)

    def log10_probabilities(self, sequence: np.ndarray) -> np.ndarray:
        """Computes log10 p(w | up to order − 1 words before it in its sentence) for every word of a sequence.

        Args:
            sequence: Word numbers of sentences, each begun by `<s>`, int64 (words,).

        Returns:
            float64 (words,); 0 for `<s>` itself, which is given.
        """
        begins = sequence == self._numbers[BEGIN]
        places = [sequence]
        for order in range(2, self.order + 1):
            indices = self._find(order, _moved(places[-1]), sequence)
            indices[begins] = -1
            places.append(indices)
        result = self._probabilities[0][sequence]
        longest = np.ones(len(sequence), dtype=np.int64)
        for order in range(2, self.order + 1):
            has_history = places[order - 1] >= 0
            result[has_history] = self._probabilities[order - 1][places[order - 1][has_history]]
            longest[has_history] = order
        for order in range(1, self.order):
            history = _moved(places[order - 1])
            backed_off = (history >= 0) & (longest <= order)
            result[backed_off] += self._backoffs[order - 1][history[backed_off]]
        result[begins] = 0.0
        return result

    def score(self, spans: TokenSpans, first: int = 0) -> SentenceScores:
        """Scores tokenised sentences."""
        numbers, counts = word_numbers(spans, self.number_of, first)
        sequence, begins = with_marks(numbers, counts, self._numbers[BEGIN], self._numbers[END])
        if not len(begins):
            return SentenceScores(np.empty(0), counts, counts)
        totals = np.add.reduceat(self.log10_probabilities(sequence), begins)
        unknown = np.add.reduceat(sequence == self._unknown, begins, dtype=np.int64)
        return SentenceScores(totals, counts, unknown)

    def _find(self, order: int, places: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Finds n-grams by the place of their history and their last word: int64 (n-grams,), −1 for none."""
        keys = self._keys[order - 1]
        if not len(keys):
            return np.full(len(words), -1, dtype=np.int64)
        wanted = places * self._size + words
        indices = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where((places >= 0) & (keys[indices] == wanted), indices, -1)


def _moved(places: np.ndarray) -> np.ndarray:
    """What stood one word earlier; −1 before the first word."""
    return np.concatenate([[-1], places[:-1]])
