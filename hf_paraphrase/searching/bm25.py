"""Search by words: BM25 (Robertson and Zaragoza 2009) on stored postings, and the fusion of two rankings."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.files import open_array
from ..text.hashing import hash64
from ..text.normalization import normalize_text
from ..text.words import split_words

_K1, _B = 0.9, 0.4
_RANK_CONSTANT = 60
_PARTS = ("word_keys", "word_starts", "word_rows", "word_counts", "word_lengths")


def search_words(text: str) -> list[str]:
    """Splits a text into words without regard to case, Unicode form, width and soft hyphens."""
    return split_words(text if text.isascii() else normalize_text(unicodedata.normalize("NFKC", text)))


class WordIndex:
    """The postings of some texts: for each word, by its 64-bit hash, the rows that contain it and how often.

    Args:
        keys: Hashes of the words (words,), ascending.
        starts: Where the postings of each word begin (words + 1,).
        rows: Rows of the postings (postings,), ascending within a word.
        counts: How often the word occurs in the row (postings,).
        lengths: Words of each text (texts,).
    """

    def __init__(
        self,
        keys: NDArray[np.uint64],
        starts: NDArray[np.int64],
        rows: NDArray[np.int32],
        counts: NDArray[np.int32],
        lengths: NDArray[np.int32],
    ) -> None:
        self._keys, self._starts, self._rows, self._counts, self.lengths = keys, starts, rows, counts, lengths

    @classmethod
    def build(cls, blocks: Iterable[Sequence[str]]) -> WordIndex:
        """Counts the words of texts, which come in blocks."""
        builder = WordIndexBuilder()
        for texts in blocks:
            builder.add(texts)
        return builder.build()

    @classmethod
    def open(cls, folder: Path) -> WordIndex:
        """Maps the postings in a folder into memory."""
        return cls(*(open_array(folder / f"{name}.npy") for name in _PARTS))

    def save(self, folder: Path) -> None:
        """Writes the postings into a folder."""
        arrays: tuple[NDArray[Any], ...] = (self._keys, self._starts, self._rows, self._counts, self.lengths)
        for name, array in zip(_PARTS, arrays, strict=True):
            np.save(folder / f"{name}.npy", array)

    def postings(self, key: np.uint64) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Returns the rows that contain a word, ascending, and how often each does."""
        word = int(np.searchsorted(self._keys, key))
        if word == len(self._keys) or self._keys[word] != key:
            return self._rows[:0], self._counts[:0]
        part = slice(int(self._starts[word]), int(self._starts[word + 1]))
        return self._rows[part], self._counts[part]


class WordIndexBuilder:
    """Collects the words of texts for a :class:`WordIndex`."""

    def __init__(self) -> None:
        self._vocabulary: dict[str, int] = {}
        self._words: list[NDArray[np.int32]] = []
        self._lengths: list[NDArray[np.int32]] = []

    def add(self, texts: Sequence[str]) -> None:
        """Counts the words of further texts."""
        ids, vocabulary = [], self._vocabulary
        lengths = []
        for text in texts:
            words = search_words(text)
            lengths.append(len(words))
            ids += [vocabulary.setdefault(word, len(vocabulary)) for word in words]
        self._words.append(np.array(ids, np.int32))
        self._lengths.append(np.array(lengths, np.int32))

    def build(self) -> WordIndex:
        """Sorts the postings by the hashes of their words."""
        keys = hash64(self._vocabulary)
        order = np.argsort(keys)
        places = np.empty(len(order), np.int32)
        places[order] = np.arange(len(order))
        lengths = np.concatenate([np.empty(0, np.int32), *self._lengths])
        words = places[np.concatenate([np.empty(0, np.int32), *self._words])]
        rows = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        by_word = np.argsort(words, kind="stable")
        words, rows = words[by_word], rows[by_word]
        firsts = np.flatnonzero(np.append(True, (np.diff(words) != 0) | (np.diff(rows) != 0))[: len(words)])
        counts = np.diff(firsts, append=len(words)).astype(np.int32)
        starts = np.searchsorted(words[firsts], np.arange(len(keys) + 1))
        return WordIndex(keys[order], starts, rows[firsts], counts, lengths)


class Bm25:
    """BM25 of texts, with the parameters of BEIR and Lucene's idf, which is never negative.

    Words are neither stemmed nor removed by a stop list.

    Args:
        texts: The texts, or the word indexes of their parts, in the order of their rows.
    """

    def __init__(self, texts: Sequence[str] | Sequence[WordIndex]) -> None:
        is_built = bool(len(texts)) and isinstance(texts[0], WordIndex)
        self._parts: Sequence[WordIndex] = texts if is_built else [WordIndex.build([texts])]  # type: ignore[assignment,list-item]
        sizes = [len(part.lengths) for part in self._parts]
        self._starts = np.cumsum([0, *sizes])
        total = sum(int(part.lengths.sum(dtype=np.int64)) for part in self._parts)
        self._mean_length = max(1.0, total / max(1, sum(sizes)))

    def best(self, query: str, k: int, candidate_rows: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Returns at most k rows that contain a word of the query, the highest score and then the earlier row first.

        Only `candidate_rows`, ascending, are returned if they are given.
        """
        all_rows, all_scores = [np.empty(0, np.int64)], [np.empty(0)]
        words = Counter(search_words(query))
        for key, times in zip(hash64(words), words.values(), strict=True):
            postings = [part.postings(key) for part in self._parts]
            frequency = sum(len(rows) for rows, _ in postings)
            idf = np.log(1 + (self._starts[-1] - frequency + 0.5) / (frequency + 0.5))
            for part, start, (rows, counts) in zip(self._parts, self._starts.tolist(), postings, strict=False):
                norms = 1 - _B + _B * part.lengths[rows] / self._mean_length
                all_rows.append(rows.astype(np.int64) + start)
                all_scores.append(times * (idf * counts * (_K1 + 1) / (counts + _K1 * norms)))
        rows, places = np.unique(np.concatenate(all_rows), return_inverse=True)
        scores = np.bincount(places, np.concatenate(all_scores), minlength=len(rows))
        if candidate_rows is not None:
            is_allowed = np.isin(rows, candidate_rows)
            rows, scores = rows[is_allowed], scores[is_allowed]
        return np.asarray(rows[np.lexsort((rows, -scores))[:k]], np.int64)


def reciprocal_rank_fusion(
    rankings: Sequence[NDArray[np.int64]], k: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Fuses rankings of rows, the best first, by the sum of 1 / (60 + rank) (Cormack, Clarke and Büttcher 2009).

    Returns at most k rows and their sums, the highest sum and then the earlier row first.
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, row in enumerate(ranking.tolist(), start=1):
            scores[row] = scores.get(row, 0.0) + 1 / (_RANK_CONSTANT + rank)
    rows, values = np.array(list(scores), np.int64), np.array(list(scores.values()), np.float64)
    order = np.lexsort((rows, -values))[:k]
    return rows[order], values[order]
