"""Exact search by cosine: the nearest rows of a corpus, and all pairs of rows above a threshold.

A product in single precision rules most rows out: with a bound e on its error, a product below t - e means a cosine
below t, where t is the k-th best cosine in the blocks so far. The few remaining rows are computed again in double
precision, so the result is the same as in double precision for all rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from ..errors import UsageError
from .similarity import check_counts, exact_unit_rows, float32_error, unit_row_cosines

Pairs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""First rows, second rows and cosines, each (pairs,)."""
_PAIRS_AT_A_TIME = 256  # fits into the cache of the processor
_ROWS_PER_BLOCK = 2048


def find_nearest(
    queries: NDArray[np.float32],
    corpus: NDArray[np.float32],
    k: int,
    *,
    candidate_rows: NDArray[np.int64] | None = None,
    skip_zero: bool = False,
    are_unit: bool = False,
    names: Sequence[str] = ("queries", "corpus"),
    query_block: int = 1024,
    corpus_block: int = 4096,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find the k vectors of a corpus with the highest cosine to each query.

    All vectors are compared, in blocks, so a corpus that is mapped from a file needs the memory of one block. Cosines
    have double precision, so a result depends neither on the blocks nor on further queries.

    Args:
        queries: float32 (queries, dim).
        corpus: float32 (rows, dim).
        k: Neighbors per query; fewer are returned if the corpus is smaller.
        candidate_rows: The rows of the corpus to compare, ascending; None for all.
        skip_zero: Leave zero vectors out, as queries and as neighbours; otherwise their cosine with every vector is 0.
        are_unit: Whether the rows of the corpus already have length 1 or 0.
        names: The names of queries and corpus in errors.
        query_block: Queries per block.
        corpus_block: Corpus rows per block.

    Returns:
        The rows of the neighbours (queries, min(k, rows)), by descending cosine and then by row, padded with -1; and
        their cosines, padded with 0.
    """
    check_counts(k=k)
    if queries.ndim != 2 or corpus.ndim != 2 or queries.shape[1] != corpus.shape[1]:
        what = f"{names[0]} {queries.shape} and {names[1]} {corpus.shape} must be matrices of one dimension"
        raise UsageError(what, remedy="give a row for each text, all from one encoder")
    size = len(corpus) if candidate_rows is None else len(candidate_rows)
    k = min(k, size)
    rows = np.full((len(queries), k), -1, np.int64)
    cosines = np.zeros((len(queries), k))
    for first in range(0, len(queries), query_block):
        units = exact_unit_rows(queries[first : first + query_block], names[0], first)
        compared = units.any(axis=1)
        if not skip_zero:
            # All rows have the cosine 0 to a zero vector, so no row would be ruled out.
            rows[first : first + len(units)][~compared] = np.arange(k)
        positions = first + np.flatnonzero(compared)
        if len(positions) and k:
            best = _RunningBest(units[compared], k)
            for start in range(0, size, corpus_block):
                block = slice(start, start + corpus_block)
                part = corpus[block] if candidate_rows is None else corpus[candidate_rows[block]]
                best.add(part if are_unit else exact_unit_rows(part, names[1], start), names[1], start, skip_zero)
            rows[positions], cosines[positions] = best.result()
    return rows if candidate_rows is None or not size else np.where(rows < 0, -1, candidate_rows[rows]), cosines


class _RunningBest:
    """The k best rows of each query among the blocks of a corpus so far."""

    def __init__(self, queries: NDArray[np.float64], k: int) -> None:
        self._queries, self._k = queries, k
        self._rounded = queries.astype(np.float32)
        self._error = float32_error(queries.shape[1])
        # Query, row and cosine of the kept pairs, and of the pairs since the last merge.
        self._kept = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        self._new: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []
        self._worst = np.full(len(queries), -np.inf)

    def add(self, part: NDArray[Any], name: str, start: int, skip_zero: bool) -> None:
        """Compare all queries with a block of unit vectors (rows, dim) that begins at the row `start`."""
        products = self._rounded @ np.asarray(part, np.float32).T
        if not np.isfinite(products).all():
            exact_unit_rows(part, name, start)  # raises an error that names the row
        if skip_zero:
            products[:, _zero_rows(part)] = -np.inf
        is_full = np.isfinite(self._worst)
        bounds = self._worst - self._error
        if not is_full.all() and len(part) > self._k:
            position = len(part) - self._k
            reached = np.partition(products, position, axis=1)[:, position]
            # The k rows that reach it have a cosine of at least `reached` - e.
            bounds = np.maximum(bounds, reached.astype(np.float64) - 2 * self._error)
        bounds = np.maximum(bounds, -2.0)
        reaching = products >= np.nextafter(bounds.astype(np.float32), np.float32(-3))[:, None]
        # Much faster than `nonzero` of a matrix.
        query, column = np.divmod(np.flatnonzero(reaching), len(part))
        cosines = np.empty(len(query))
        for first in range(0, len(query), _PAIRS_AT_A_TIME):
            pairs = slice(first, first + _PAIRS_AT_A_TIME)
            rows = part[column[pairs]]
            exact = rows if rows.dtype == np.float64 else exact_unit_rows(rows)
            cosines[pairs] = unit_row_cosines(self._queries[query[pairs]], exact)
        self._new.append((query, column + start, cosines))
        # Each merge costs a sort and raises the bounds.
        if not is_full.all() or sum(len(new[0]) for new in self._new) > len(self._kept[0]):
            self._merge()

    def result(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return rows and cosines, (queries, k) each, padded with -1 and 0."""
        self._merge()
        query, row, cosine = self._kept
        rows = np.full((len(self._queries), self._k), -1, np.int64)
        cosines = np.zeros(rows.shape)
        rank = rank_within_groups(query)
        rows[query, rank], cosines[query, rank] = row, cosine
        return rows, cosines

    def _merge(self) -> None:
        query, row, cosine = (np.concatenate(column) for column in zip(self._kept, *self._new, strict=True))
        self._new = []
        order = np.lexsort((row, -cosine, query))
        order = order[rank_within_groups(query[order]) < self._k]
        self._kept = query[order], row[order], cosine[order]
        counts = np.bincount(self._kept[0], minlength=len(self._queries))
        is_full = counts == self._k
        self._worst[is_full] = self._kept[2][(np.cumsum(counts) - 1)[is_full]]


def _zero_rows(part: NDArray[Any]) -> NDArray[np.int64]:
    """Find the zero rows of a block (rows, dim); the first components rule out most rows."""
    rows = np.flatnonzero(~part[:, :8].any(axis=1))
    return rows[~part[rows].any(axis=1)]


def rank_within_groups(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Assign numbers from 0 to the members of each group; equal values of `groups` (rows,) are adjacent."""
    starts = np.flatnonzero(np.append(True, groups[1:] != groups[:-1])[: len(groups)])
    return np.arange(len(groups)) - np.repeat(starts, np.diff(starts, append=len(groups)))


@dataclass(frozen=True)
class ScoredPairs:
    """Pairs of rows of an index and their cosines, each (pairs,), by descending cosine and then by row.

    `found` is the number of all pairs before the selection.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    scores: NDArray[np.float64]
    found: int

    def __len__(self) -> int:
        return len(self.scores)


def keep_best_pairs(blocks: Iterable[Pairs], limit: int) -> ScoredPairs:
    """Return the `limit` pairs with the highest scores of a stream; memory holds twice as many pairs and a block."""
    check_counts(max_pairs=limit)
    found = num_stored = 0
    lowest = -np.inf
    parts: list[Pairs] = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]

    def best() -> Pairs:
        first, second, scores = map(np.concatenate, zip(*parts, strict=True))
        order = np.lexsort((second, first, -scores))[:limit]
        return first[order], second[order], scores[order]

    for first, second, scores in blocks:
        found += len(scores)
        is_candidate = scores >= lowest
        num_stored += int(is_candidate.sum())
        parts.append((first[is_candidate], second[is_candidate], scores[is_candidate]))
        if num_stored > 2 * limit:
            parts = [best()]
            num_stored, lowest = limit, float(parts[0][2][-1])
    return ScoredPairs(*best(), found)


def find_similar_pairs(
    vectors: NDArray[np.float32], threshold: float, *, show_progress_bar: bool = False
) -> Iterator[Pairs]:
    """Compare all vectors (rows, dim) with all others, block by block, and yield the pairs of at least a given cosine.

    Each pair comes once, with the smaller row first.
    """
    starts = range(0, len(vectors), _ROWS_PER_BLOCK)
    for start in tqdm(starts, desc="mine", unit=" blocks", disable=not show_progress_bar):
        block = exact_unit_rows(vectors[start : start + _ROWS_PER_BLOCK], first=start)
        for other in range(start, len(vectors), _ROWS_PER_BLOCK):
            part = block if other == start else exact_unit_rows(vectors[other : other + _ROWS_PER_BLOCK], first=other)
            products = block.astype(np.float32) @ part.astype(np.float32).T
            near = np.flatnonzero(products >= threshold - float32_error(vectors.shape[1]))
            for few in np.array_split(near, 1 + len(near) // _ROWS_PER_BLOCK):
                first, second = np.divmod(few, len(part))
                scores = unit_row_cosines(block[first], part[second])
                # A block compared with itself has each pair twice.
                kept = (scores >= threshold) & (first + start < second + other)
                yield first[kept] + start, second[kept] + other, scores[kept]
