"""Finds training sentences that share most of their word n-grams with an evaluation set, or contain its sentences.

Exact matching misses a sentence to which a word was added. Two tests on normalised words find such rows:

* at least a share of the n-grams of the training sentence occur in the sentences of one evaluation set (Chowdhery et
  al. 2022, "PaLM", section 8, take 70 % of the 8-grams of an example);
* an evaluation sentence of n words or more stands as a whole, in consecutive words, in the training sentence.

Sentences of fewer than n words have no n-gram, so neither test says anything about them: exact matching does.

All work is on arrays: a window of words is the polynomial Σ w_k B^k modulo 2^64 over the 64-bit hashes w of its words
(Karp and Rabin 1987), so that prefix sums give the hash of any window of any length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from xxhash import xxh3_64_intdigest

from ..errors import UsageError

SHORTEST_NGRAM = 4
DEFAULT_SHARE = 0.7
# Odd, so that it has an inverse, and 5 modulo 8, which has the longest period among the powers.
_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)


class _Words:
    """The hashed words of normalised sentences; those of sentence i are `starts[i]` up to `starts[i + 1]`."""

    def __init__(self, texts: pa.Array) -> None:
        words = pc.split_pattern(texts, " ")
        offsets = words.offsets.to_numpy().astype(np.int64)
        self.starts = offsets - offsets[0]
        flat = words.flatten().dictionary_encode()
        dictionary_hashes = np.fromiter(
            map(xxh3_64_intdigest, flat.dictionary.cast(pa.binary()).to_pylist()), dtype=np.uint64
        )
        number = len(flat)
        powers, self._inverses = _powers(_BASE, number), _powers(_INVERSE, number)
        hashes = dictionary_hashes[flat.indices.to_numpy(zero_copy_only=False)] if number else np.empty(0, np.uint64)
        self._prefix = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes * powers[:number], dtype=np.uint64)])

    def windows(self, positions: np.ndarray, lengths: np.ndarray | int) -> np.ndarray:
        """Hashes the words from each position on: (windows,), uint64."""
        return (self._prefix[positions + lengths] - self._prefix[positions]) * self._inverses[positions]

    def ngrams(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Finds all n-grams within sentences: their positions and their sentences, (n-grams,) each."""
        lengths = np.diff(self.starts)
        number = np.maximum(lengths - size + 1, 0)
        sentences = np.repeat(np.arange(len(lengths)), number)
        first = np.cumsum(number) - number
        positions = np.arange(len(sentences)) - first[sentences] + self.starts[:-1][sentences]
        return positions, sentences


@dataclass(frozen=True)
class _Set:
    """The n-grams of an evaluation set, sorted; by sentence its first n-gram (sorted), length and hash."""

    ngrams: np.ndarray
    first: np.ndarray
    lengths: np.ndarray
    whole: np.ndarray


class Containment:
    """The n-grams of several named evaluation sets.

    Args:
        size: The number of words of an n-gram, 4 or more.
        share: The least share of the n-grams of a sentence that must occur in a set, above 0 and at most 1.
    """

    def __init__(self, size: int, share: float = DEFAULT_SHARE) -> None:
        if size < SHORTEST_NGRAM:
            raise UsageError(
                f"--decontaminate-ngrams {size}: n-grams must have {SHORTEST_NGRAM} words or more",
                remedy="8 is usual; 0 compares whole sentences only",
            )
        if not 0 < share <= 1:
            raise UsageError(f"--decontaminate-share {share} is not above 0 and at most 1", remedy="e.g. 0.7")
        self.size = size
        self.share = share
        self.sets: dict[str, _Set] = {}

    def label(self, name: str) -> str:
        """Returns the name under which rows that a set matched by n-grams only are counted."""
        return f"{name} ({self.size}-grams)"

    def add(self, name: str, texts: pa.Array) -> None:
        """Adds a set of normalised sentences; one of fewer than n words adds nothing."""
        words = _Words(texts)
        positions, _ = words.ngrams(self.size)
        hashes = words.windows(positions, self.size)
        lengths = np.diff(words.starts)
        begins = np.flatnonzero(lengths >= self.size)
        first = words.windows(words.starts[begins], self.size)
        order = np.argsort(first, kind="stable")
        begins = begins[order]
        self.sets[name] = _Set(
            np.unique(hashes),
            first[order],
            lengths[begins],
            words.windows(words.starts[begins], lengths[begins]),
        )

    def match(self, texts: pa.Array) -> dict[str, np.ndarray]:
        """Finds the sentences that each set matches.

        Args:
            texts: Normalised sentences, (sentences,).

        Returns:
            For each set that matched any sentence, which ones (sentences,), bool.
        """
        words = _Words(texts)
        positions, sentences = words.ngrams(self.size)
        if not len(positions):
            return {}
        hashes = words.windows(positions, self.size)
        totals = np.bincount(sentences, minlength=len(texts))
        rows_by_set: dict[str, np.ndarray] = {}
        for name, evaluation_set in self.sets.items():
            hits = _is_in(hashes, evaluation_set.ngrams)
            if not hits.any():
                continue
            number = np.bincount(sentences[hits], minlength=len(texts))
            matched = (totals > 0) & (number >= self.share * totals) & (number > 0)
            matched[self._containing(words, positions[hits], sentences[hits], hashes[hits], evaluation_set)] = True
            if matched.any():
                rows_by_set[name] = matched
        return rows_by_set

    def _containing(
        self, words: _Words, positions: np.ndarray, sentences: np.ndarray, hashes: np.ndarray, known: _Set
    ) -> np.ndarray:
        """Finds the sentences in which an evaluation sentence stands whole, among the n-grams that are in the set."""
        low = np.searchsorted(known.first, hashes, side="left")
        number = np.searchsorted(known.first, hashes, side="right") - low
        window = np.repeat(np.arange(len(hashes)), number)
        candidate = np.arange(len(window)) - np.repeat(np.cumsum(number) - number - low, number)
        lengths = known.lengths[candidate]
        fits = positions[window] + lengths <= words.starts[sentences[window] + 1]
        window, candidate, lengths = window[fits], candidate[fits], lengths[fits]
        same = words.windows(positions[window], lengths) == known.whole[candidate]
        return np.unique(sentences[window[same]])


def combined(rows_by_column: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Joins what the columns of one table matched: a row is matched by a set if any of its columns is."""
    rows: dict[str, np.ndarray] = {}
    for one in rows_by_column:
        for name, matched in one.items():
            rows[name] = rows[name] | matched if name in rows else matched
    return rows


def _powers(base: int, number: int) -> np.ndarray:
    """The powers 0 to `number` of a base modulo 2^64, (number + 1,), uint64."""
    factors = np.full(number + 1, base, dtype=np.uint64)
    factors[0] = 1
    return np.multiply.accumulate(factors)


def _is_in(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Returns which values are in a sorted array: (values,), bool."""
    if not len(known):
        return np.zeros(len(values), dtype=bool)
    places = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return known[places] == values
