"""Search by words: BM25 (Robertson and Zaragoza 2009) on stored postings, and the fusion of two rankings."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..artefacts.files import open_array
from ..text.hashing import hash64
from ..text.normalization import normalize_text
from ..text.words import split_words

_K1, _B = 0.9, 0.4
_RANK_CONSTANT = 60


def split_search_words(text: str) -> list[str]:
    """Split a text into words, ignoring case, Unicode form, character width and soft hyphens."""
    return split_words(text if text.isascii() else normalize_text(unicodedata.normalize("NFKC", text)))


@dataclass(frozen=True)
class WordIndex:
    """The postings of texts: the rows that contain a word, by its 64-bit hash.

    Attributes:
        word_keys: Hashes of the words (words,), ascending.
        word_starts: Start of the postings of each word (words + 1,).
        word_rows: Rows of the postings (postings,), ascending within a word.
        word_counts: Occurrences of the word in the row (postings,).
        word_lengths: Number of words of each text (texts,).
    """

    word_keys: NDArray[np.uint64]
    word_starts: NDArray[np.int64]
    word_rows: NDArray[np.int32]
    word_counts: NDArray[np.int32]
    word_lengths: NDArray[np.int32]

    @classmethod
    def build(cls, blocks: Iterable[Sequence[str]]) -> WordIndex:
        """Count the words of blocks of texts."""
        vocabulary: dict[str, int] = {}
        id_blocks, length_blocks = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        for texts in blocks:
            words = [split_search_words(text) for text in texts]
            ids = [vocabulary.setdefault(word, len(vocabulary)) for each in words for word in each]
            id_blocks.append(np.array(ids, np.int32))
            length_blocks.append(np.array([len(each) for each in words], np.int32))
        lengths = np.concatenate(length_blocks)
        keys = hash64(vocabulary)
        order = np.argsort(keys)
        ranks = np.empty(len(order), np.int32)
        ranks[order] = np.arange(len(order))
        words_of_postings = ranks[np.concatenate(id_blocks)]
        rows = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        by_word = np.argsort(words_of_postings, kind="stable")
        sorted_words, rows = words_of_postings[by_word], rows[by_word]
        is_new = np.append(True, (np.diff(sorted_words) != 0) | (np.diff(rows) != 0))
        firsts = np.flatnonzero(is_new[: len(rows)])
        counts = np.diff(firsts, append=len(rows)).astype(np.int32)
        starts = np.searchsorted(sorted_words[firsts], np.arange(len(keys) + 1))
        return cls(keys[order], starts, rows[firsts], counts, lengths)

    @classmethod
    def open(cls, folder: Path) -> WordIndex:
        """Map the postings in a folder into memory."""
        return cls(*(open_array(folder / f"{name}.npy") for name in cls.__dataclass_fields__))

    def save(self, folder: Path) -> None:
        """Write the postings into a folder."""
        for name, array in vars(self).items():
            np.save(folder / f"{name}.npy", array)

    def postings(self, key: np.uint64) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the rows that contain a word, ascending, and its occurrences in each."""
        word = int(np.searchsorted(self.word_keys, key))
        if word == len(self.word_keys) or self.word_keys[word] != key:
            return self.word_rows[:0], self.word_counts[:0]
        span = slice(int(self.word_starts[word]), int(self.word_starts[word + 1]))
        return self.word_rows[span], self.word_counts[span]


class Bm25:
    """BM25 of texts, with the parameters of BEIR and Lucene's idf, which is never negative.

    Words are neither stemmed nor removed by a stop list.

    Args:
        parts: The word indexes of the texts, in the order of their rows.
    """

    def __init__(self, parts: Sequence[WordIndex]) -> None:
        self._parts = parts
        self._starts = np.cumsum([0, *(len(part.word_lengths) for part in parts)]).tolist()
        total = sum(int(part.word_lengths.sum(dtype=np.int64)) for part in parts)
        self._mean_length = max(1.0, total / max(1, self._starts[-1]))

    def best(self, query: str, k: int, candidate_rows: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Return at most k rows that contain a word of the query, the highest score and then the earlier row first.

        Only `candidate_rows`, ascending, are returned if they are given.
        """
        all_rows, all_scores = [np.empty(0, np.int64)], [np.empty(0)]
        words = Counter(split_search_words(query))
        for key, times in zip(hash64(words), words.values(), strict=True):
            postings = [part.postings(key) for part in self._parts]
            frequency = sum(len(rows) for rows, _ in postings)
            idf = np.log(1 + (self._starts[-1] - frequency + 0.5) / (frequency + 0.5))
            for part, start, (rows, counts) in zip(self._parts, self._starts, postings, strict=False):
                norms = 1 - _B + _B * part.word_lengths[rows] / self._mean_length
                all_rows.append(rows.astype(np.int64) + start)
                all_scores.append(times * (idf * counts * (_K1 + 1) / (counts + _K1 * norms)))
        rows, positions = np.unique(np.concatenate(all_rows), return_inverse=True)
        scores = np.bincount(positions, np.concatenate(all_scores), minlength=len(rows))
        if candidate_rows is not None:
            is_allowed = np.isin(rows, candidate_rows)
            rows, scores = rows[is_allowed], scores[is_allowed]
        return np.asarray(rows[np.lexsort((rows, -scores))[:k]], np.int64)


def fuse_rankings(rankings: Sequence[NDArray[np.int64]], k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Fuse rankings of rows, the best first, by the sum of 1 / (60 + rank) (Cormack, Clarke and Büttcher 2009).

    Returns at most k rows and their sums, the highest sum and then the earlier row first.
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, row in enumerate(ranking.tolist(), start=1):
            scores[row] = scores.get(row, 0.0) + 1 / (_RANK_CONSTANT + rank)
    rows, values = np.array(list(scores), np.int64), np.array(list(scores.values()), np.float64)
    order = np.lexsort((rows, -values))[:k]
    return rows[order], values[order]
