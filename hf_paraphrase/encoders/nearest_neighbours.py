"""The exact nearest neighbours by cosine: the one search of search, mining, detection and deduplication.

A product in float32 only rules out: with a bound e on what it can be off, a row whose product is below t - e cannot
have a cosine of t. While blocks of the corpus go by, t is the k-th best cosine of those seen so far; the few rows that
are not ruled out are computed again in double precision, and the result is the same as if all had been.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from .vectors import check_counts, check_finite

_PAIRS_AT_A_TIME = 256  # few enough for the cache of the processor
_COSINES_AT_A_TIME = 8192


def float32_error(dimension: int) -> float:
    """Bounds how far a product of unit vectors in float32 can be from their cosine, with room to spare."""
    return 2.0**-22 * (dimension + 4)


def unit_vectors(vectors: NDArray[np.floating], name: str = "vectors", first: int = 0) -> NDArray[np.float64]:
    """Divides each row (rows, dim) by its length, in double precision: the square of 1e30 is no float32.

    Zero rows stay zero. An error calls the rows, the first of which has the number `first`, by `name`.
    """
    exact = np.array(vectors, np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", exact, exact))
    check_finite(name, lengths[:, None], first, path=getattr(vectors, "filename", None))
    exact /= np.where(lengths == 0, 1.0, lengths)[:, None]
    return exact


def cosine_of_rows(
    first: NDArray[np.float32] | NDArray[np.float64], second: NDArray[np.float32] | NDArray[np.float64]
) -> NDArray[np.float64]:
    """Computes the cosine of each pair of rows (pairs, dim) of unit (or zero) length, in double precision.

    Unlike a matrix product, whose rounding depends on the sizes of the matrices, it gives the same number for a pair
    whatever else is computed with it.
    """
    cosines = np.empty(len(first))
    for start in range(0, len(first), _COSINES_AT_A_TIME):
        rows = slice(start, start + _COSINES_AT_A_TIME)
        products = np.multiply(first[rows], second[rows], dtype=np.float64)
        cosines[rows] = np.ascontiguousarray(products).sum(axis=1)
    return np.clip(cosines, -1.0, 1.0)


def nearest_neighbours(
    queries: NDArray[np.float32],
    corpus: NDArray[np.float32],
    k: int,
    *,
    among: NDArray[np.int64] | None = None,
    skip_zero: bool = False,
    are_units: bool = False,
    names: Sequence[str] = ("queries", "corpus"),
    query_block: int = 1024,
    corpus_block: int = 4096,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Finds the k vectors of a corpus with the greatest cosine to each query.

    All are compared, in blocks, so memory stays at one block however large a file the corpus is mapped from. Cosines
    are those of double precision, so neither the blocks nor the other queries change a result.

    Args:
        queries: float32 (queries, dim).
        corpus: float32 (rows, dim).
        k: How many neighbours; fewer are given if the corpus is smaller.
        among: The rows of the corpus to compare, in rising order; None for all.
        skip_zero: Zero vectors have no neighbours and are none; otherwise they have cosine 0 with everything.
        are_units: The rows of the corpus have the length 1 or 0 already, so that few of them are divided by it.
        names: What errors call the two sides.
        query_block: Queries in a block.
        corpus_block: Corpus rows in a block.

    Returns:
        The rows of the neighbours (queries, min(k, rows)), the nearest first and of equal cosines the earlier row
        first, -1 where there are fewer; and their cosines, 0 where there are fewer.
    """
    check_counts(k=k)
    if queries.ndim != 2 or corpus.ndim != 2 or queries.shape[1] != corpus.shape[1]:
        what = f"{names[0]} {queries.shape} and {names[1]} {corpus.shape} must be matrices of one dimension"
        raise UsageError(what, remedy="give a row for each text, all from one encoder")
    size = len(corpus) if among is None else len(among)
    k = min(k, size)
    rows = np.full((len(queries), k), -1, np.int64)
    cosines = np.zeros((len(queries), k))
    for first in range(0, len(queries), query_block):
        units = unit_vectors(queries[first : first + query_block], names[0], first)
        compared = units.any(axis=1)
        if not skip_zero:
            # To a zero vector all rows are equal, so none of them would ever be ruled out.
            rows[first : first + len(units)][~compared] = np.arange(k)
        places = first + np.flatnonzero(compared)
        if len(places) and k:
            best = _RunningBest(units[compared], k)
            for start in range(0, size, corpus_block):
                block = slice(start, start + corpus_block)
                part = corpus[block] if among is None else corpus[among[block]]
                best.add(part if are_units else unit_vectors(part, names[1], start), names[1], start, skip_zero)
            rows[places], cosines[places] = best.result()
    return rows if among is None or not size else np.where(rows < 0, -1, among[rows]), cosines


class _RunningBest:
    """The k best rows of each query among the blocks of a corpus that it has seen."""

    def __init__(self, queries: NDArray[np.float64], k: int) -> None:
        self._queries, self._k = queries, k
        self._rounded = queries.astype(np.float32)
        self._error = float32_error(queries.shape[1])
        # Query, row and cosine of each pair, those that are kept and those that came since.
        self._kept = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        self._new: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []
        self._worst = np.full(len(queries), -np.inf)

    def add(self, part: NDArray[Any], name: str, start: int, skip_zero: bool) -> None:
        """Compares all queries with a block (rows, dim) that begins at the row `start`, after those seen before.

        Its rows are unit vectors, in float32 only nearly so.
        """
        products = self._rounded @ np.asarray(part, np.float32).T
        if not np.isfinite(products).all():
            unit_vectors(part, name, start)  # says which row is not finite
        if skip_zero:
            products[:, _zero_rows(part)] = -np.inf
        is_full = np.isfinite(self._worst)
        least = self._worst - self._error
        if not is_full.all() and len(part) > self._k:
            place = len(part) - self._k
            reached = np.partition(products, place, axis=1)[:, place]
            # The k that reach it have a cosine of no less than `reached` - e.
            least = np.maximum(least, reached.astype(np.float64) - 2 * self._error)
        least = np.maximum(least, -2.0)
        reaching = products >= np.nextafter(least.astype(np.float32), np.float32(-3))[:, None]
        # Many times as fast as `nonzero` of a matrix.
        query, column = np.divmod(np.flatnonzero(reaching), len(part))
        cosines = np.empty(len(query))
        for first in range(0, len(query), _PAIRS_AT_A_TIME):
            pairs = slice(first, first + _PAIRS_AT_A_TIME)
            rows = part[column[pairs]]
            exact = rows if rows.dtype == np.float64 else unit_vectors(rows)
            cosines[pairs] = cosine_of_rows(self._queries[query[pairs]], exact)
        self._new.append((query, column + start, cosines))
        # Each merge costs a sort and raises what the rest must reach.
        if not is_full.all() or sum(len(new[0]) for new in self._new) > len(self._kept[0]):
            self._merge()

    def result(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Returns rows and cosines, (queries, k) each, filled up with -1 and 0."""
        self._merge()
        query, row, cosine = self._kept
        rows = np.full((len(self._queries), self._k), -1, np.int64)
        cosines = np.zeros(rows.shape)
        rank = _places_within(query, len(rows))
        rows[query, rank], cosines[query, rank] = row, cosine
        return rows, cosines

    def _merge(self) -> None:
        query, row, cosine = (np.concatenate(column) for column in zip(self._kept, *self._new, strict=True))
        self._new = []
        order = np.lexsort((row, -cosine, query))
        order = order[_places_within(query[order], len(self._queries)) < self._k]
        self._kept = query[order], row[order], cosine[order]
        counts = np.bincount(self._kept[0], minlength=len(self._queries))
        is_full = counts == self._k
        self._worst[is_full] = self._kept[2][(np.cumsum(counts) - 1)[is_full]]


def _zero_rows(part: NDArray[Any]) -> NDArray[np.int64]:
    """Finds the rows (rows, dim) that are zero, most of which show it in their first components."""
    rows = np.flatnonzero(~part[:, :8].any(axis=1))
    return rows[~part[rows].any(axis=1)]


def _places_within(groups: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Numbers the members of each of `count` groups from 0, where equal groups stand together in rising order."""
    counts = np.bincount(groups, minlength=count)
    return np.arange(len(groups)) - np.repeat(np.cumsum(counts) - counts, counts)
