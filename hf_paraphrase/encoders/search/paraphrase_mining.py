"""Paraphrase mining: the pairs of sentences of one corpus whose embeddings have at least a given cosine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from ...settings import check_count
from .nearest_neighbours import Vectors, float32_error, unit_vectors
from .vector_file import cosine_of_rows

Pairs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""First rows, second rows, cosines, each (pairs,)."""
_ROWS = 2048


@dataclass(frozen=True)
class MinedPairs:
    """Pairs of rows of an index, the greatest cosine first.

    Attributes:
        first: The row of the sentence that comes earlier (pairs,).
        second: The row of the other one (pairs,).
        scores: Their cosine (pairs,), float64.
        found: How many pairs there were before the best were kept.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    scores: NDArray[np.float64]
    found: int

    def __len__(self) -> int:
        return len(self.scores)


class BestPairs:
    """Keeps the pairs of the greatest score of a stream of any length, in memory for twice as many."""

    def __init__(self, limit: int) -> None:
        check_count("max_pairs", limit)
        self.limit = limit
        self.found = 0
        self._parts: list[Pairs] = []
        self._held = 0
        self._lowest = -np.inf

    def add(self, first: NDArray[np.int64], second: NDArray[np.int64], scores: NDArray[np.float64]) -> None:
        """Adds pairs, each array (pairs,)."""
        self.found += len(scores)
        # What is below the worst of a full list need not be held until the next clearing.
        good = scores >= self._lowest
        self._held += int(good.sum())
        self._parts.append((first[good], second[good], scores[good]))
        if self._held > 2 * self.limit:
            self._parts = [self._best()]
            self._held = self.limit
            self._lowest = float(self._parts[0][2][-1])

    def result(self) -> MinedPairs:
        """Returns what was kept, in order of falling score and rising rows."""
        return MinedPairs(*self._best(), self.found)

    def _best(self) -> Pairs:
        if not self._parts:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64)
        first, second, scores = (np.concatenate([part[place] for part in self._parts]) for place in range(3))
        order = np.lexsort((second, first, -scores))[: self.limit]
        return first[order], second[order], scores[order]


def similar_pairs(vectors: Vectors, threshold: float, *, show_progress_bar: bool = False) -> Iterator[Pairs]:
    """Compares all vectors (rows, dim) with all others, block by block, and yields the pairs that reach a cosine.

    Each pair comes once, the smaller row first.
    """
    rows = len(vectors)
    with tqdm(total=rows, unit=" sentences", desc="mine", disable=not show_progress_bar or None) as progress:
        num_pairs = 0
        for start in range(0, rows, _ROWS):
            block = unit_vectors(vectors[start : start + _ROWS], "vectors", vectors, start)
            for other in range(start, rows, _ROWS):
                part = block
                if other > start:
                    part = unit_vectors(vectors[other : other + _ROWS], "vectors", vectors, other)
                products = block.astype(np.float32) @ part.astype(np.float32).T
                near = np.flatnonzero(products >= threshold - float32_error(vectors.shape[1]))
                one, two = np.divmod(near, len(part))
                if other == start:
                    one, two = one[one < two], two[one < two]
                first, second, scores = pairs_above(block, part, one, two, threshold)
                num_pairs += len(scores)
                yield first + start, second + other, scores
            progress.set_postfix(pairs=f"{num_pairs:,}", refresh=False)
            progress.update(len(block))


def pairs_above(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    one: NDArray[np.int64],
    two: NDArray[np.int64],
    threshold: float,
) -> Pairs:
    """Keeps of the pairs (`one`, `two`) of unit rows of two blocks those that reach a cosine in double precision."""
    scores = np.empty(len(one))
    for start in range(0, len(one), _ROWS):
        part = slice(start, start + _ROWS)
        scores[part] = cosine_of_rows(first[one[part]], second[two[part]])
    kept = scores >= threshold
    return one[kept], two[kept], scores[kept]
