"""A batch of pairs with what several measures share: the tokens, and the n-gram counts of both sides."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from .tokens import TokenIds, tokenize


@dataclass(frozen=True)
class NgramCounts:
    """How often each n-gram occurs on either side of each pair; one entry a distinct (pair, n-gram).

    Attributes:
        rows: The pair of each entry, int64 (entries,).
        counts1: Occurrences in `sentence1`, int64 (entries,).
        counts2: Occurrences in `sentence2`, int64 (entries,).
    """

    rows: np.ndarray
    counts1: np.ndarray
    counts2: np.ndarray

    def sum_by_row(self, values: np.ndarray, num_rows: int) -> np.ndarray:
        """Adds up the entries' values for each pair: float64 (pairs,)."""
        return np.bincount(self.rows, weights=values, minlength=num_rows)


class PairBatch:
    """A table of pairs; tokens and n-gram counts are computed once, when a measure first asks for them.

    Args:
        table: Pairs with the string columns `sentence1` and `sentence2`; a missing sentence counts as empty.
    """

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self._ngrams: dict[int, NgramCounts] = {}
        self._ngram_keys: dict[int, np.ndarray] = {}

    @property
    def num_rows(self) -> int:
        """The number of pairs."""
        return int(self.table.num_rows)

    def numbers(self, column: str) -> np.ndarray:
        """Returns a numeric column as float64 (pairs,), NaN where a value is missing."""
        return numeric_column(self.table, column)

    @cached_property
    def tokens1(self) -> list[list[str]]:
        """The lower-cased tokens of each `sentence1`."""
        return [tokenize(text or "") for text in self.table.column("sentence1").to_pylist()]

    @cached_property
    def tokens2(self) -> list[list[str]]:
        """The lower-cased tokens of each `sentence2`."""
        return [tokenize(text or "") for text in self.table.column("sentence2").to_pylist()]

    @cached_property
    def _ids(self) -> tuple[TokenIds, TokenIds, int]:
        vocabulary: dict[str, int] = {}
        first, second = TokenIds(self.tokens1, vocabulary), TokenIds(self.tokens2, vocabulary)
        return first, second, max(1, len(vocabulary))

    @cached_property
    def lengths1(self) -> np.ndarray:
        """Tokens in each `sentence1`, int64 (pairs,)."""
        return self._ids[0].lengths

    @cached_property
    def lengths2(self) -> np.ndarray:
        """Tokens in each `sentence2`, int64 (pairs,)."""
        return self._ids[1].lengths

    @cached_property
    def _positions(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        """For every token of side 1, then of side 2: its pair, its token id, and how many tokens follow it."""
        first, second, size = self._ids
        rows, following = [], []
        for side in (first, second):
            rows.append(np.repeat(np.arange(self.num_rows), side.lengths))
            following.append(np.repeat(side.starts + side.lengths, side.lengths) - 1 - np.arange(len(side.ids)))
        return np.concatenate(rows), np.concatenate([first.ids, second.ids]), np.concatenate(following), size

    def ngrams(self, order: int) -> NgramCounts:
        """Counts the n-grams of one order on both sides.

        An n-gram is numbered by its first n−1 tokens' number within its pair and its last token, so that each order
        costs one sort of integers, whatever n is.

        Args:
            order: n, 1 or more.
        """
        self._number_ngrams(order)
        return self._ngrams[order]

    def _number_ngrams(self, order: int) -> None:
        """Fills `_ngram_keys[order]`, the number of the n-gram that starts at each position (−1: none fits)."""
        if order in self._ngrams:
            return
        rows, ids, following, size = self._positions
        if order == 1:
            prefix, last = rows, ids
            fits = np.ones(len(ids), dtype=bool)
        else:
            self._number_ngrams(order - 1)
            prefix = self._ngram_keys[order - 1]
            fits = following >= order - 1
            last = np.concatenate([ids[order - 1 :], np.zeros(min(order - 1, len(ids)), dtype=np.int64)])
        where = np.flatnonzero(fits)
        _, first, inverse = np.unique(prefix[where] * size + last[where], return_index=True, return_inverse=True)
        keys = np.full(len(ids), -1, dtype=np.int64)
        keys[where] = inverse
        on_side1 = where < len(self._ids[0].ids)
        counts1 = np.bincount(inverse[on_side1], minlength=len(first))
        counts2 = np.bincount(inverse[~on_side1], minlength=len(first))
        self._ngram_keys[order] = keys
        self._ngrams[order] = NgramCounts(rows=rows[where[first]], counts1=counts1, counts2=counts2)


def numeric_column(table: pa.Table, column: str) -> np.ndarray:
    """Returns a numeric or boolean column as float64 (rows,), NaN where a value is missing."""
    values = table.column(column).cast(pa.float64())
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)
