"""Search by words: BM25 (Robertson and Zaragoza 2009), and its ranks fused with those of a search by vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..text.words import split_words

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_K1, _B = 0.9, 0.4
_RANK_CONSTANT = 60


def count_matrix(bags: Sequence[Sequence[str]], vocabulary: dict[str, int]) -> csr_matrix:
    """Counts the items of each bag: float64 (n, items); new items are added to the vocabulary."""
    from scipy.sparse import csr_matrix

    columns = [vocabulary.setdefault(item, len(vocabulary)) for bag in bags for item in bag]
    starts = np.concatenate([[0], np.cumsum([len(bag) for bag in bags], dtype=np.int64)])
    matrix = csr_matrix((np.ones(len(columns)), columns, starts), shape=(len(bags), max(1, len(vocabulary))))
    matrix.sum_duplicates()
    return matrix


class Bm25:
    """The words of some texts, with the parameters that BEIR uses and Lucene's never negative idf.

    Words are neither stemmed nor stopped.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._vocabulary: dict[str, int] = {}
        counts = count_matrix([split_words(text) for text in texts], self._vocabulary)
        frequencies = np.bincount(counts.indices, minlength=counts.shape[1])
        lengths = np.asarray(counts.sum(axis=1)).ravel()
        norms = np.repeat(1 - _B + _B * lengths / max(1.0, lengths.mean()), np.diff(counts.indptr))
        idf = np.log(1 + (len(lengths) - frequencies + 0.5) / (frequencies + 0.5))
        counts.data = idf[counts.indices] * counts.data * (_K1 + 1) / (counts.data + _K1 * norms)
        self._weights = counts.T.tocsr()

    def best(self, query: str, k: int, among: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Returns the at most k rows with a word of the query and the greatest scores, of equal ones the earlier.

        `among` are the rows that are allowed, in rising order.
        """
        words = [word for word in split_words(query) if word in self._vocabulary]
        scores = count_matrix([words], self._vocabulary) @ self._weights
        rows, values = scores.indices.astype(np.int64), scores.data
        if among is not None:
            is_allowed = np.isin(rows, among)
            rows, values = rows[is_allowed], values[is_allowed]
        return rows[np.lexsort((rows, -values))[:k]]


def reciprocal_rank_fusion(
    rankings: Sequence[NDArray[np.int64]], k: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Fuses rankings of rows, the best first, by the sum of 1 / (60 + rank) (Cormack, Clarke and Büttcher 2009).

    Returns the at most k best rows and these sums, of equal ones the earlier row first.
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, row in enumerate(ranking.tolist(), start=1):
            scores[row] = scores.get(row, 0.0) + 1 / (_RANK_CONSTANT + rank)
    rows, values = np.array(list(scores), np.int64), np.array(list(scores.values()), np.float64)
    order = np.lexsort((rows, -values))[:k]
    return rows[order], values[order]
