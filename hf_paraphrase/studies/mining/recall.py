"""How many of the gold pairs the candidate filter keeps, for different numbers of candidates (paper 002, table 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from .candidates import Vectors, best_candidates

SIZES = (1, 10, 20, 30, 40, 50, 100, 1000)
"""The numbers of candidates of the table."""


@dataclass(frozen=True)
class RecallRow:
    """One row of table 1.

    Attributes:
        n: The number of candidates of a source sentence.
        found: The gold pairs among them.
        share: Their share of all gold pairs, in per cent.
        found_growth: How many more than in the row before, in per cent of that; None in the first row, and where the
            row before has none.
        pairs: The number of candidate pairs.
        pairs_growth: How many more than in the row before, in per cent of that.
    """

    n: int
    found: int
    share: float
    found_growth: float | None
    pairs: int
    pairs_growth: float | None

    def as_dict(self) -> dict[str, int | float | None]:
        """Returns the row as JSON values."""
        return asdict(self)


def gold_ranks(
    source_vectors: Vectors,
    target_vectors: Vectors,
    gold: NDArray[np.int64],
    deepest: int,
    *,
    show_progress_bar: bool = False,
) -> NDArray[np.int64]:
    """Finds at which rank of the candidates of its source each gold target is.

    Only the sources of gold pairs are compared with all targets, so this is cheap.

    Args:
        source_vectors: float32 (sources, dim).
        target_vectors: float32 (targets, dim).
        gold: The places of the gold pairs (gold, 2).
        deepest: To which rank to look.
        show_progress_bar: Show the progress, in sentences, on standard error.

    Returns:
        The rank of each (gold,), int64, from 1; `deepest` + 1 where it is lower. A sentence without a vector has no
        candidates and is none.
    """
    rows, place = np.unique(gold[:, 0], return_inverse=True)
    sources = _take(source_vectors, rows)
    found, _ = best_candidates(sources, target_vectors, deepest, show_progress_bar=show_progress_bar)
    ranks = np.full(len(gold), deepest + 1, np.int64)
    hits = found[place.reshape(-1)] == gold[:, 1:]
    pair, rank = np.nonzero(hits)
    known = _take(target_vectors, gold[pair, 1]).any(axis=1) & sources[place.reshape(-1)[pair]].any(axis=1)
    ranks[pair[known]] = rank[known] + 1
    return ranks


def recall_table(
    ranks: NDArray[np.int64], sources: int, targets: int, sizes: Sequence[int] = SIZES
) -> list[RecallRow]:
    """Makes table 1 of the paper.

    Args:
        ranks: What :func:`gold_ranks` gave (gold,), for the greatest of the sizes at least.
        sources: How many source sentences there are.
        targets: How many target sentences there are.
        sizes: The numbers of candidates, rising.
    """
    table: list[RecallRow] = []
    for size in sizes:
        found = int((ranks <= size).sum())
        pairs = sources * min(size, targets)
        before = table[-1] if table else None
        table.append(
            RecallRow(
                size,
                found,
                100 * found / max(1, len(ranks)),
                _growth(before.found, found) if before else None,
                pairs,
                _growth(before.pairs, pairs) if before else None,
            )
        )
    return table


def _growth(before: int, now: int) -> float | None:
    return 100 * (now - before) / before if before else None


def _take(vectors: Vectors, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    return np.asarray(vectors[rows] if isinstance(vectors, np.ndarray) else vectors.take(rows), np.float32)
