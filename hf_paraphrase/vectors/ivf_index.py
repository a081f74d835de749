"""A growing index of unit vectors that returns all vectors near a new one.

Each vector x is shortened to u = (P x, |x - P'P x|), with P the projection on the leading components of a sample. By
Cauchy-Schwarz u·v is never less than the cosine of x and y, so a short product rules out almost all pairs. The
remaining pairs are compared by their whole vectors, in double precision. A large index compares a new vector only with
the lists around its nearest centroids. `scripts/benchmarks/near_duplicates.py` compares this index with faiss.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..threads import available_threads, in_threads
from .exact_search import Pairs, rank_within_groups
from .similarity import float32_error, unit_row_cosines

MOST_EXACT = 100_000
"""The maximum number of vectors that are all compared with one another."""
COMPONENTS = 160
PROBES = 12
_MOST_LISTS = 1024
_ROUNDS = 6
_MEMBERS_AT_A_TIME = 2048
_PARTS = 8
_PLACED_AT_A_TIME = 512
_PAIRS_AT_A_TIME = 4096
_NEW_AT_A_TIME = 512
_WAITING_PAIRS = 32_768
_ROUNDING = 1e-6

PairTest = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]]
PairGroups = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]
_Read = Callable[[NDArray[np.int64]], NDArray[np.float32]]
_Side = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Numbers (rows,) and shortened vectors (rows, components + 1)."""


@dataclass
class PlacedVectors:
    """New vectors, whole (rows, dim) and shortened (rows, components + 1), with their lists.

    `own` (rows,) is the nearest list of each vector. `lists` (pairs,) are the lists to search for each row, encoded as
    row × number of lists + list.
    """

    vectors: NDArray[np.float32]
    short: NDArray[np.float32]
    own: NDArray[np.int16]
    lists: NDArray[np.int64]


class _Members:
    """The numbers (members,) and the shortened vectors (members, components + 1) of one list; the arrays grow."""

    def __init__(self, width: int) -> None:
        self.count = 0
        self.numbers, self.short = np.empty(0, np.int64), np.empty((0, width), np.float32)

    def append(self, numbers: NDArray[np.int64], short: NDArray[np.float32]) -> None:
        stop = self.count + len(numbers)
        if stop > len(self.numbers):
            self.numbers, self.short = (
                np.concatenate([grown, np.empty((stop // 2 + len(numbers), *grown.shape[1:]), grown.dtype)])
                for grown in (self.numbers, self.short)
            )
        self.numbers[self.count : stop], self.short[self.count : stop] = numbers, short
        self.count = stop


class IvfIndex:
    """Finds added vectors of length 1 whose cosine to a new vector reaches a threshold.

    Args:
        sample: Some of the vectors (rows, dim), for components and centroids.
        threshold: Minimum cosine.
        most: The maximum number of vectors to add, which determines the number of lists.
    """

    def __init__(self, sample: NDArray[np.float32], threshold: float, most: int) -> None:
        self._dimension = sample.shape[1]
        self._threshold = threshold
        self._threads = available_threads()
        self._components: NDArray[np.float32] | None = None
        if self._dimension > COMPONENTS:
            _, components = np.linalg.eigh((sample.T @ sample).astype(np.float64))
            self._components = np.ascontiguousarray(components[:, -COMPONENTS:], np.float32)
        nlist = 1 if most <= MOST_EXACT else min(_MOST_LISTS, round(4 * math.sqrt(most)))
        self._centroids = _centroids(self._shortened(sample), nlist)
        self._lists = [_Members(self._centroids.shape[1]) for _ in self._centroids]
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        self.count = 0

    @property
    def is_exact(self) -> bool:
        """Whether all vectors are compared with all."""
        return len(self._lists) == 1

    def place(self, vectors: NDArray[np.float32]) -> PlacedVectors:
        """Shorten vectors (rows, dim) and choose their lists."""
        starts = range(0, len(vectors) or 1, _PLACED_AT_A_TIME)
        columns = zip(*in_threads(lambda start: self._placed(vectors, start), starts, self._threads), strict=True)
        return PlacedVectors(vectors, *map(np.concatenate, columns))

    def _placed(
        self, vectors: NDArray[np.float32], start: int
    ) -> tuple[NDArray[np.float32], NDArray[np.int16], NDArray[np.int64]]:
        short = self._shortened(vectors[start : start + _PLACED_AT_A_TIME])
        cosines = short @ self._centroids.T
        probes = min(PROBES, len(self._lists))
        bounds = np.partition(cosines, -probes, axis=1)[:, -probes]
        searched = np.flatnonzero(cosines >= bounds[:, None]) + start * len(self._lists)
        return short, cosines.argmax(axis=1).astype(np.int16), searched

    def add(self, placed: PlacedVectors, chosen: NDArray[np.int64]) -> None:
        """Add the chosen rows (rows,) of some vectors; vectors are numbered from 0 in the order of their addition."""
        self._file.write(placed.vectors[chosen].tobytes())
        for number, members in _grouped(placed.own[chosen]):
            self._lists[number].append(self.count + members, placed.short[chosen[members]])
        self.count += len(chosen)

    def near(
        self,
        placed: PlacedVectors,
        *,
        threshold: float | None = None,
        skip: PairTest | None = None,
        group: PairGroups | None = None,
        best: int | None = None,
    ) -> Pairs:
        """Find the added vectors near new ones: new row, number of the added vector, and cosine of each pair.

        Args:
            placed: The new vectors.
            threshold: Minimum cosine; by default the threshold of the index.
            skip: Returns which pairs of a new row and an earlier number to ignore.
            group: Returns a group for each pair. A few pairs of each group are returned, with the pair of the smallest
                earlier number among them, so that memory does not grow with the number of near pairs.
            best: Search all lists, and return about this number of nearest vectors from each list instead.
        """
        threshold = self._threshold if threshold is None else threshold
        if best is not None:
            lists = [(number, np.arange(len(placed.own))) for number in range(len(self._lists))]
        else:
            rows_of_pairs, numbers = np.divmod(placed.lists, len(self._lists))
            lists = [(number, rows_of_pairs[pairs]) for number, pairs in _grouped(numbers.astype(np.int16))]
        tasks = [
            (rows, self._lists[number], first)
            for number, rows in lists
            for first in range(0, self._lists[number].count, _MEMBERS_AT_A_TIME)
        ]
        # For the best pairs, pairs are skipped before the selection.
        early, late = (None, skip) if best is None else (skip, None)

        def compare(part: int) -> Pairs:
            near, waiting, count = [], [], 0
            for rows, members, first in tasks[part::_PARTS]:
                block = slice(first, min(first + _MEMBERS_AT_A_TIME, members.count))
                for start in range(0, len(rows), _NEW_AT_A_TIME):
                    some = rows[start : start + _NEW_AT_A_TIME]
                    sides = (some, placed.short[some]), (members.numbers[block], members.short[block])
                    pairs = self._candidates(*sides, threshold, early, best)
                    waiting.append(pairs)
                    count += len(pairs[0])
                    # A list has few candidates, so the candidates of many lists are compared at once.
                    if count > _WAITING_PAIRS:
                        near.append(self._near(placed, waiting, self.vectors, threshold, late, group))
                        waiting, count = [], 0
            near.append(self._near(placed, waiting, self.vectors, threshold, late, group))
            return _joined(near)

        return _joined(in_threads(compare, range(_PARTS), self._threads))

    def near_within(
        self,
        placed: PlacedVectors,
        rows: NDArray[np.int64],
        before: NDArray[np.int64],
        *,
        skip: PairTest | None = None,
        group: PairGroups | None = None,
    ) -> Pairs:
        """Find near vectors among the new ones: for each of some `rows` the near ones in `before`, both ascending."""

        def compare(some: NDArray[np.int64]) -> Pairs:
            sides = (rows, placed.short[rows]), (some, placed.short[some])
            pairs = self._candidates(*sides, self._threshold, lambda new, old: old >= new)
            return self._near(placed, [pairs], placed.vectors.__getitem__, self._threshold, skip, group)

        return _joined(in_threads(compare, np.array_split(before, _PARTS), self._threads))

    def _candidates(
        self, later: _Side, earlier: _Side, threshold: float, skip: PairTest | None, best: int | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the pairs that the short vectors do not rule out: their later and earlier numbers, each (pairs,)."""
        # Earlier vectors are more, and this order of the product takes a quarter less time.
        products = earlier[1] @ later[1].T
        flat = np.flatnonzero(products >= self._bound(threshold))
        if not len(flat):
            return flat, flat
        old, new = np.divmod(flat, len(later[0]))
        if skip is not None:
            kept = ~skip(later[0][new], earlier[0][old])
            flat, old, new = flat[kept], old[kept], new[kept]
        if best is not None:
            order = np.lexsort((-products.ravel()[flat], new))
            order = order[rank_within_groups(new[order]) < best]
            old, new = old[order], new[order]
        return later[0][new], earlier[0][old]

    def _near(
        self,
        placed: PlacedVectors,
        candidates: list[tuple[NDArray[np.int64], NDArray[np.int64]]],
        read: _Read,
        threshold: float,
        skip: PairTest | None,
        group: PairGroups | None,
    ) -> Pairs:
        """Return the candidates whose cosine reaches the threshold, of each group the first one."""
        nothing = np.empty(0, np.int64)
        new, old = (np.concatenate(side) for side in zip((nothing, nothing), *candidates, strict=True))
        if skip is not None and len(new):
            kept = ~skip(new, old)
            new, old = new[kept], old[kept]
        if group is None or not len(new):
            near_pairs = [(new, old, self._cosines(placed, new, old, read, threshold))]
        else:
            groups, near_pairs = group(new, old), []
            order = np.lexsort((old, groups))
            groups, new, old = groups[order], new[order], old[order]
            width = 1
            while len(new):
                # Try the first pairs of each group, and more of them in each round.
                ranks = rank_within_groups(groups)
                some = np.flatnonzero(ranks < width)
                cosines = self._cosines(placed, new[some], old[some], read, threshold)
                near = some[cosines >= threshold - _ROUNDING]
                firsts = near[np.unique(groups[near], return_index=True)[1]]
                near_pairs.append((new[firsts], old[firsts], cosines[np.searchsorted(some, firsts)]))
                left = (ranks >= width) & ~np.isin(groups, groups[firsts])
                groups, new, old, width = groups[left], new[left], old[left], 4 * width
        new, old, cosines = _joined(near_pairs)
        # At a threshold of 1 the rounding of vectors to float32 must not decide.
        reached = cosines >= threshold - _ROUNDING
        return new[reached], old[reached], cosines[reached]

    def _bound(self, threshold: float) -> np.float32:
        """Return the minimum product in single precision of a pair whose cosine may reach a threshold."""
        return np.float32(threshold - _ROUNDING - 2 * float32_error(self._dimension))

    def _cosines(
        self, placed: PlacedVectors, new: NDArray[np.int64], old: NDArray[np.int64], read: _Read, threshold: float
    ) -> NDArray[np.float64]:
        """Compute the cosines of pairs (pairs,), -1 where the product in single precision rules them out."""
        cosines = np.full(len(new), -1.0)
        for first in range(0, len(new), _PAIRS_AT_A_TIME):
            pairs = slice(first, first + _PAIRS_AT_A_TIME)
            numbers, positions = np.unique(old[pairs], return_inverse=True)
            one, other = placed.vectors[new[pairs]], read(numbers)[positions]
            left = np.flatnonzero(np.einsum("ij,ij->i", one, other) >= self._bound(threshold))
            cosines[first + left] = unit_row_cosines(one[left], other[left])
        return cosines

    def vectors(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """Read vectors that were added (rows, dim)."""
        self._file.flush()
        size = 4 * self._dimension
        # Not mapped: pages of a mapped file count as memory of the process, many more than are read.
        rows = [os.pread(self._file.fileno(), size, size * number) for number in numbers.tolist()]
        return np.frombuffer(b"".join(rows), np.float32).reshape(-1, self._dimension)

    def _shortened(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        if self._components is None:
            return vectors
        leading = vectors @ self._components
        rest = np.einsum("ij,ij->i", vectors, vectors) - np.einsum("ij,ij->i", leading, leading)
        return np.column_stack([leading, np.sqrt(np.maximum(rest, 0.0))])


def _joined(pairs: Iterable[Pairs]) -> Pairs:
    nothing = np.empty(0, np.int64)
    new, old, cosines = zip((nothing, nothing, np.empty(0)), *pairs, strict=True)
    return np.concatenate(new), np.concatenate(old), np.concatenate(cosines)


def _grouped(numbers: NDArray[np.signedinteger[Any]]) -> list[tuple[int, NDArray[np.int64]]]:
    """Return each distinct number (rows,), ascending, with its indices."""
    order = np.argsort(numbers, kind="stable")
    values, starts = np.unique(numbers[order], return_index=True)
    # `split` makes one part of an empty array.
    return list(zip(values.tolist(), np.split(order, starts[1:])[: len(values)], strict=True))


def _centroids(sample: NDArray[np.float32], nlist: int) -> NDArray[np.float32]:
    """Compute centroids (lists, dim) of length 1 by k-means on the sphere."""
    nlist = max(1, min(nlist, len(sample)))
    centroids = sample[np.linspace(0, len(sample) - 1, nlist).astype(np.int64)]
    for _ in range(_ROUNDS if nlist > 1 else 0):
        nearest = np.concatenate([(block @ centroids.T).argmax(axis=1) for block in np.array_split(sample, 16)])
        for number, rows in _grouped(nearest):
            mean = sample[rows].mean(axis=0)
            centroids[number] = mean / max(float(np.linalg.norm(mean)), 1e-12)
    return np.ascontiguousarray(centroids)
