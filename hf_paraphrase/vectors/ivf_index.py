"""Unit vectors that were seen before, of which those near to a new one are found.

Each vector x is shortened to u = (P x, |x - P'P x|), with P the projection on the leading components of a sample. By
Cauchy-Schwarz u·v is never less than the cosine of x and y, so a short product rules out almost all pairs; those left
are compared by their whole vectors, in double precision. Of many vectors only those in the lists around the centroids
nearest to the new one are compared.
"""

from __future__ import annotations

import math
import os
import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..threads import available_threads, in_threads
from .similarity import float32_error, unit_row_cosines

MOST_EXACT = 100_000
"""Up to so many vectors all are compared with all."""
COMPONENTS = 160
PROBES = 12
_MOST_LISTS = 1024
_ROUNDS = 6
_MEMBERS_AT_A_TIME = 2048
_PARTS = 8
_PLACED_AT_A_TIME = 512
_LISTS_OF_A_GROUP = 8
_MANY_LISTS = 500
_PAIRS_AT_A_TIME = 4096
_ROUNDING = 1e-6

Pairs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""New vectors, earlier vectors and cosines, each (pairs,)."""


@dataclass
class PlacedVectors:
    """New vectors: as they are (rows, dim), shortened (rows, components + 1), and their lists.

    Each is kept in its nearest list (rows,); `lists` are row × number of lists + list of what is looked in (pairs,).
    """

    vectors: NDArray[np.float32]
    short: NDArray[np.float32]
    own: NDArray[np.int16]
    lists: NDArray[np.int64]


class _Members:
    """The numbers (members,) and the shortened vectors (members, components + 1) in one list, with room to grow."""

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


class NearVectors:
    """Finds, among the vectors of length 1 that were added, those whose cosine to new ones reaches a threshold.

    Args:
        sample: Some of the vectors (rows, dim), for components and centroids.
        threshold: The least cosine.
        most: How many vectors may be added, which decides how many lists there are.
    """

    def __init__(self, sample: NDArray[np.float32], threshold: float, most: int) -> None:
        self._dimension = sample.shape[1]
        self._threshold = threshold
        # Asked for once: while another thread embeds, it may be one.
        self._threads = available_threads()
        self._components: NDArray[np.float32] | None = None
        if self._dimension > COMPONENTS:
            _, components = np.linalg.eigh((sample.T @ sample).astype(np.float64))
            self._components = np.ascontiguousarray(components[:, -COMPONENTS:], np.float32)
        number = 1 if most <= MOST_EXACT else min(_MOST_LISTS, round(4 * math.sqrt(most)))
        self._centroids = _centroids(self._shortened(sample), number)
        self._lists = [_Members(self._centroids.shape[1]) for _ in self._centroids]
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        self.count = 0

    @property
    def is_exact(self) -> bool:
        """Whether all vectors are compared with all."""
        return len(self._lists) == 1

    def place(self, vectors: NDArray[np.float32]) -> PlacedVectors:
        """Shortens vectors (rows, dim) and chooses their lists."""
        starts = range(0, len(vectors) or 1, _PLACED_AT_A_TIME)
        columns = zip(*in_threads(lambda start: self._placed(vectors, start), starts, self._threads), strict=True)
        return PlacedVectors(vectors, *map(np.concatenate, columns))

    def _placed(
        self, vectors: NDArray[np.float32], start: int
    ) -> tuple[NDArray[np.float32], NDArray[np.int16], NDArray[np.int64]]:
        """Returns some vectors shortened, their nearest lists (rows,), and the places to look in (pairs,)."""
        short = self._shortened(vectors[start : start + _PLACED_AT_A_TIME])
        cosines = short @ self._centroids.T
        # At least the nearest PROBES: of many lists those not below so many of the largest of interleaved groups.
        number = len(self._lists)
        groups = number if number < _MANY_LISTS else number // _LISTS_OF_A_GROUP
        largest = cosines[:, : number // groups * groups].reshape(len(short), number // groups, groups).max(axis=1)
        probes = min(PROBES, groups)
        least = np.partition(largest, -probes, axis=1)[:, -probes]
        looked_in = np.flatnonzero(cosines >= least[:, None]) + start * number
        return short, cosines.argmax(axis=1).astype(np.int16), looked_in

    def add(self, placed: PlacedVectors, chosen: NDArray[np.int64]) -> None:
        """Adds the chosen ones (rows,) of some vectors, which are numbered from 0 as they are added."""
        self._file.write(placed.vectors[chosen].tobytes())
        for number, places in _grouped(placed.own[chosen]):
            self._lists[number].append(self.count + places, placed.short[chosen[places]])
        self.count += len(chosen)

    def near(self, placed: PlacedVectors, *, everywhere: bool = False, threshold: float | None = None) -> Pairs:
        """Finds the near vectors among those added, in the lists of each new one or `everywhere`."""
        threshold = self._threshold if threshold is None else threshold
        if everywhere:
            groups = [(number, np.arange(len(placed.own))) for number in range(len(self._lists))]
        else:
            rows_of_pairs, lists = np.divmod(placed.lists, len(self._lists))
            groups = [(number, rows_of_pairs[places]) for number, places in _grouped(lists.astype(np.int16))]
        tasks = [
            (rows, self._lists[number], first)
            for number, rows in groups
            for first in range(0, self._lists[number].count, _MEMBERS_AT_A_TIME)
        ]

        def candidates(part: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
            found = []
            for rows, members, first in tasks[part::_PARTS]:
                block = slice(first, min(first + _MEMBERS_AT_A_TIME, members.count))
                new, old = self._not_ruled_out(placed.short[rows], members.short[block], threshold)
                found.append((rows[new], members.numbers[block][old]))
            return found

        nothing = np.empty(0, np.int64)
        sides = [(nothing, nothing)]
        sides += [pair for found in in_threads(candidates, range(_PARTS), self._threads) for pair in found]
        new, old = (np.concatenate(side) for side in zip(*sides, strict=True))
        cosines = np.full(len(new), -1.0)
        for first in range(0, len(new), _PAIRS_AT_A_TIME):
            pairs = slice(first, first + _PAIRS_AT_A_TIME)
            read, places = np.unique(old[pairs], return_inverse=True)
            one, other = placed.vectors[new[pairs]], self.vectors(read)[places]
            left = np.flatnonzero(np.einsum("ij,ij->i", one, other) >= self._least(threshold))
            cosines[first + left] = unit_row_cosines(one[left], other[left])
        return _reaching(new, old, cosines, threshold)

    def near_within(self, placed: PlacedVectors, rows: NDArray[np.int64], before: NDArray[np.int64]) -> Pairs:
        """Finds near vectors among the new ones themselves: for some (rows,) those `before` them, both ascending."""

        def candidates(some: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
            later, earlier = self._not_ruled_out(placed.short[rows], placed.short[some], self._threshold)
            return rows[later], some[earlier]

        sides = in_threads(candidates, np.array_split(before, _PARTS), self._threads)
        later, earlier = (np.concatenate(side) for side in zip(*sides, strict=True))
        is_before = earlier < later
        later, earlier = later[is_before], earlier[is_before]
        cosines = unit_row_cosines(placed.vectors[later], placed.vectors[earlier])
        return _reaching(later, earlier, cosines, self._threshold)

    def vectors(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """Reads vectors that were added (rows, dim)."""
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

    def _not_ruled_out(
        self, new: NDArray[np.float32], old: NDArray[np.float32], threshold: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        # This order takes a quarter less time than the other: there are more old ones.
        earlier, later = np.divmod(np.flatnonzero(old @ new.T >= self._least(threshold)), len(new))
        return later, earlier

    def _least(self, threshold: float) -> np.float32:
        """Returns the least product in float32 of a pair whose cosine may reach a threshold."""
        return np.float32(threshold - _ROUNDING - 2 * float32_error(self._dimension))


def _reaching(new: NDArray[np.int64], old: NDArray[np.int64], cosines: NDArray[np.float64], threshold: float) -> Pairs:
    # At a threshold of 1 the rounding of vectors to float32 decides nothing.
    reached = cosines >= threshold - _ROUNDING
    return new[reached], old[reached], cosines[reached]


def _grouped(numbers: NDArray[np.signedinteger[Any]]) -> list[tuple[int, NDArray[np.int64]]]:
    """Returns each of the numbers (rows,), ascending, with the places where it stands."""
    order = np.argsort(numbers, kind="stable")
    values, starts = np.unique(numbers[order], return_index=True)
    # Of no numbers `split` makes one part.
    return list(zip(values.tolist(), np.split(order, starts[1:])[: len(values)], strict=True))


def _centroids(sample: NDArray[np.float32], number: int) -> NDArray[np.float32]:
    """Computes centroids (lists, dim) of length 1 by k-means on the sphere."""
    number = max(1, min(number, len(sample)))
    centroids = sample[np.linspace(0, len(sample) - 1, number).astype(np.int64)]
    for _ in range(_ROUNDS if number > 1 else 0):
        nearest = np.concatenate([(block @ centroids.T).argmax(axis=1) for block in np.array_split(sample, 16)])
        for place, rows in _grouped(nearest):
            mean = sample[rows].mean(axis=0)
            centroids[place] = mean / max(float(np.linalg.norm(mean)), 1e-12)
    return np.ascontiguousarray(centroids)
