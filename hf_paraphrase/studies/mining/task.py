"""A task with known pairs, and what candidates, scores and decisions are worth on it (paper 002, tables 1 to 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...encoders.search.nearest_neighbours import nearest_neighbours
from ...encoders.search.vector_file import VectorFile
from ...errors import InputError
from .collections import Collection, read_collection, read_gold
from .measures import Curve, are_gold
from .run import MiningRun
from .scoring import one_to_one_pairs

_PAIRS_AT_A_TIME = 1 << 20


@dataclass(frozen=True)
class TaskPart:
    """One part of a task in the layout of BUCC 2017."""

    files: list[Path]
    source: Collection
    target: Collection
    gold: NDArray[np.int64]

    @classmethod
    def read(cls, prefix: str, part: str) -> TaskPart:
        """Reads `PREFIX.PART.fr`, `PREFIX.PART.en` and `PREFIX.PART.gold` for a prefix that ends in `fr-en`."""
        codes = Path(prefix).name.split("-")
        # The code of a language may have a hyphen itself: pt-BR-en.
        splits = [("-".join(codes[:place]), "-".join(codes[place:])) for place in range(1, len(codes))]
        if not splits or not all(codes):
            raise InputError(
                f"`{Path(prefix).name}` is not a pair of languages",
                path=prefix,
                remedy="give what the files of the task begin with, e.g. task/fr-en",
            )
        readings = [[Path(f"{prefix}.{part}.{ending}") for ending in (*split, "gold")] for split in splits]
        files = next((paths for paths in readings if paths[0].is_file() and paths[1].is_file()), readings[0])
        for path in files:
            if not path.is_file():
                raise InputError("no such file of the task", path=path, remedy="see prepare comparable")
        source, target = (read_collection(path, "bucc") for path in files[:2])
        return cls(files, source, target, read_gold(files[2], source, target))


def kept_pairs(run: MiningRun, scores: NDArray[np.float64], one_to_one: bool) -> NDArray[np.bool_]:
    """Returns which candidates are left by a one-to-one matching; all without it."""
    if one_to_one:
        return one_to_one_pairs(run.pairs.source, run.pairs.target, scores)
    return np.ones(len(scores), bool)


def curve_of(run: MiningRun, gold: NDArray[np.int64], scores: NDArray[np.float64], one_to_one: bool) -> Curve:
    """Computes precision and recall of the candidates at every threshold."""
    kept = kept_pairs(run, scores, one_to_one)
    right = are_gold(run.pairs.source[kept], run.pairs.target[kept], gold, len(run.target))
    return Curve.of(scores[kept], right, len(gold))


def gold_ranks(source: VectorFile, target: VectorFile, gold: NDArray[np.int64], deepest: int) -> NDArray[np.int64]:
    """Finds at which rank of the candidates of its source each gold target is.

    Only the sources of gold pairs are compared with all targets, so this is cheap.

    Returns:
        The rank of each (gold,), int64, from 1; `deepest` + 1 where it is lower. A sentence without a vector has no
        candidates and is none.
    """
    rows, place = np.unique(gold[:, 0], return_inverse=True)
    target_rows, _ = nearest_neighbours(source.take(rows), target, deepest, skip_zero=True)
    ranks = np.full(len(gold), deepest + 1, np.int64)
    pair, rank = np.nonzero(target_rows[place.reshape(-1)] == gold[:, 1:])
    ranks[pair] = rank + 1
    return ranks


def recall_rows(
    ranks: NDArray[np.int64], sources: int, targets: int, sizes: Sequence[int]
) -> list[dict[str, int | float | None]]:
    """Computes the rows of table 1 of the paper from the ranks of the gold pairs (gold,).

    Returns:
        For each number of candidates `n` the gold pairs that are `found`, their `share` in per cent, the number of
        `pairs`, and by how much both have grown since the row before, in per cent of that.
    """
    found = [int((ranks <= size).sum()) for size in sizes]
    pairs = [sources * min(size, targets) for size in sizes]
    return [
        {
            "n": size,
            "found": found[row],
            "share": 100 * found[row] / max(1, len(ranks)),
            "found_growth": _growth(found, row),
            "pairs": pairs[row],
            "pairs_growth": _growth(pairs, row),
        }
        for row, size in enumerate(sizes)
    ]


def _growth(counts: Sequence[int], row: int) -> float | None:
    return 100 * (counts[row] - counts[row - 1]) / counts[row - 1] if row and counts[row - 1] else None


def random_pair_curve(part: TaskPart, run: MiningRun, classifier: str, negatives: int, seed: int) -> Curve:
    """Scores the gold pairs, and for each of them so many random pairs of the two collections."""
    random = np.random.default_rng(seed)
    gold = part.gold
    scores = [run.probabilities(classifier, gold[:, 0], gold[:, 1])]
    left = negatives * len(gold)
    while left:
        number = min(left, _PAIRS_AT_A_TIME)
        source = random.integers(len(part.source), size=number)
        target = random.integers(len(part.target), size=number)
        wrong = ~are_gold(source, target, gold, len(part.target))
        scores.append(run.probabilities(classifier, source[wrong], target[wrong]))
        left -= number
    right = np.arange(sum(map(len, scores))) < len(gold)
    return Curve.of(np.concatenate(scores), right, len(gold))
