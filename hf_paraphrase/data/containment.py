"""Finds training sentences that share most of their word n-grams with an evaluation set, or contain its sentences.

Exact matching misses a sentence to which a word was added. Two tests on normalised words find such rows:

* at least a share of the n-grams of the training sentence occur in the sentences of one evaluation set (Chowdhery et
  al. 2022, "PaLM", section 8, take 70 % of the 8-grams of an example);
* an evaluation sentence of n words or more stands as a whole, in consecutive words, in the training sentence.

Sentences of fewer than n words have no n-gram, so neither test says anything about them: exact matching does.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa

SHORTEST_NGRAM = 4
DEFAULT_SHARE = 0.7


class Containment:
    """The n-grams of several named evaluation sets.

    Args:
        size: The number of words of an n-gram.
        share: The least share of the n-grams of a sentence that must occur in a set, above 0 and at most 1.
    """

    def __init__(self, size: int, share: float = DEFAULT_SHARE) -> None:
        self.size = size
        self.share = share
        self.names: list[str] = []
        self._sets_of: dict[str, set[str]] = {}
        self._begun_by: dict[str, list[tuple[str, str]]] = {}

    def label(self, name: str) -> str:
        """Returns the name under which rows that a set matched by n-grams only are counted."""
        return f"{name} ({self.size}-grams)"

    def add(self, name: str, texts: pa.Array) -> None:
        """Adds a set of normalised sentences; one of fewer than n words adds nothing."""
        self.names.append(name)
        for text in texts.to_pylist():
            ngrams = self._ngrams(text)
            for ngram in ngrams:
                self._sets_of.setdefault(ngram, set()).add(name)
            if ngrams:
                self._begun_by.setdefault(ngrams[0], []).append((name, f" {text} "))

    def match(self, texts: pa.Array) -> dict[str, np.ndarray]:
        """Finds the sentences that each set matches.

        Args:
            texts: Normalised sentences, (sentences,).

        Returns:
            For each set that matched any sentence, the numbers of those, ascending.
        """
        rows_by_set: dict[str, list[int]] = {}
        for row, text in enumerate(texts.to_pylist()):
            ngrams = self._ngrams(text)
            known = [ngram for ngram in ngrams if ngram in self._sets_of]
            shared = Counter(name for ngram in known for name in self._sets_of[ngram])
            matched = {name for name, number in shared.items() if number >= self.share * len(ngrams)}
            contained = (pair for ngram in known for pair in self._begun_by.get(ngram, ()))
            matched.update(name for name, sentence in contained if sentence in f" {text} ")
            for name in matched:
                rows_by_set.setdefault(name, []).append(row)
        return {name: np.array(rows) for name, rows in rows_by_set.items()}

    def _ngrams(self, text: str) -> list[str]:
        words = text.split(" ")
        return [" ".join(words[start : start + self.size]) for start in range(len(words) - self.size + 1)]
