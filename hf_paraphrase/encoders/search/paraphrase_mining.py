"""Paraphrase mining: the pairs of sentences of one corpus whose embeddings have at least a given cosine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from ...settings import check_count
from .inverted_lists import InvertedLists
from .vector_file import VectorFile, cosine_of_rows

Pairs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""First rows, second rows, cosines, each (pairs,)."""
_ROWS = 2048
_ROUNDING = 1e-5


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
        if not len(scores):
            return
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


def mine_exactly(vectors: VectorFile, threshold: float, *, show_progress_bar: bool = False) -> Iterator[Pairs]:
    """Compares all vectors with all others, block by block.

    Args:
        vectors: Unit (or zero) vectors (rows, dim).
        threshold: The least cosine, above 0.
        show_progress_bar: Show the progress, in sentences compared with all, on standard error.

    Yields:
        Pairs of rows, the smaller one first, each pair once.
    """
    rows = len(vectors)
    with tqdm(total=rows, unit=" sentences", desc="mine", disable=not show_progress_bar) as progress:
        num_pairs = 0
        for start in range(0, rows, _ROWS):
            block = vectors[start : start + _ROWS]
            for other in range(start, rows, _ROWS):
                part = block if other == start else vectors[other : other + _ROWS]
                one, two, scores = _similar(block, part, threshold, same=other == start)
                num_pairs += len(scores)
                yield one + start, two + other, scores
            progress.set_postfix(pairs=f"{num_pairs:,}", refresh=False)
            progress.update(len(block))


def mine_lists(
    lists: InvertedLists, threshold: float, probes: int, *, show_progress_bar: bool = False
) -> Iterator[Pairs]:
    """Compares the members of every list with each other and with those of the lists near it.

    Yields:
        As :func:`mine_exactly`, in another order.
    """
    with tqdm(total=lists.count, unit=" lists", desc="mine", disable=not show_progress_bar) as progress:
        num_pairs = 0
        for number, near in lists.neighbouring(probes):
            rows, vectors = own = lists.read(number)
            for others in chain([own], _joined(lists, near[1:])):
                other_rows, other_vectors = others
                for start in range(0, len(rows), _ROWS):
                    for column in range(start if others is own else 0, len(other_rows), _ROWS):
                        one, two, scores = _similar(
                            vectors[start : start + _ROWS],
                            other_vectors[column : column + _ROWS],
                            threshold,
                            same=others is own and column == start,
                        )
                        num_pairs += len(scores)
                        pairs = np.stack([rows[one + start], other_rows[two + column]])
                        yield pairs.min(axis=0), pairs.max(axis=0), scores
            progress.set_postfix(pairs=f"{num_pairs:,}", refresh=False)
            progress.update(1)


def _joined(lists: InvertedLists, numbers: Sequence[int]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """Reads lists and puts them together until they are worth a product, as row numbers and vectors."""
    parts: list[tuple[NDArray[np.int64], NDArray[np.float32]]] = []
    size = 0
    for number in numbers:
        parts.append(lists.read(number))
        size += len(parts[-1][0])
        if size >= _ROWS:
            yield np.concatenate([rows for rows, _ in parts]), np.concatenate([vectors for _, vectors in parts])
            parts, size = [], 0
    if size:
        yield np.concatenate([rows for rows, _ in parts]), np.concatenate([vectors for _, vectors in parts])


def _similar(
    first: NDArray[np.float32], second: NDArray[np.float32], threshold: float, *, same: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Finds the pairs of two blocks (rows, dim); of one block with itself only those above the diagonal."""
    products = first @ second.T
    # The product rounds by the sizes of the blocks; what it lets through is computed again in double precision.
    one, two = np.nonzero(products >= threshold - _ROUNDING)
    if same:
        above = one < two
        one, two = one[above], two[above]
    scores = np.empty(len(one))
    for start in range(0, len(one), _ROWS):
        part = slice(start, start + _ROWS)
        scores[part] = cosine_of_rows(first[one[part]], second[two[part]])
    kept = scores >= threshold
    return one[kept], two[kept], scores[kept]
