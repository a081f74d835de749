"""What candidates, scores and decisions are worth on a task with known pairs (paper 002, tables 1 to 3).

Ways to score and decide are compared: thresholds are chosen on one part of the task and measured on another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...encoders.search.nearest_neighbours import Vectors, nearest_neighbours
from ...errors import InputError
from .collections import Collection, read_collection, read_gold
from .embedding import EncoderFolders
from .matching import matching
from .measures import Curve, Measures, are_gold
from .run import FilterOptions, MiningRun
from .scoring import ClassifiedSides, combined_scores

SIZES = (1, 10, 20, 30, 40, 50, 100, 1000)
"""The numbers of candidates of the table."""
PAPERS_NEGATIVES = 5503
"""Random pairs for every gold pair in the paper: 50 million for 9,086."""
_PAIRS_AT_A_TIME = 1 << 20


@dataclass(frozen=True)
class TaskPart:
    """One part of a task in the layout of BUCC 2017."""

    source: Collection
    target: Collection
    gold: NDArray[np.int64]

    @classmethod
    def read(cls, prefix: str, part: str) -> TaskPart:
        """Reads `PREFIX.PART.fr`, `PREFIX.PART.en` and `PREFIX.PART.gold` for a prefix that ends in `fr-en`."""
        languages = Path(prefix).name.split("-")
        if len(languages) != 2 or not all(languages):
            raise InputError(
                f"`{Path(prefix).name}` is not a pair of languages",
                path=prefix,
                remedy="give what the files of the task begin with, e.g. task/fr-en",
            )
        paths = [Path(f"{prefix}.{part}.{ending}") for ending in (*languages, "gold")]
        for path in paths:
            if not path.is_file():
                raise InputError("no such file of the task", path=path, remedy="see prepare comparable")
        source, target = (read_collection(path, "bucc") for path in paths[:2])
        return cls(source, target, read_gold(paths[2], source, target))

    @staticmethod
    def files(prefix: str, part: str) -> list[Path]:
        """Lists the files of a part."""
        return [Path(f"{prefix}.{part}.{ending}") for ending in (*Path(prefix).name.split("-"), "gold")]


@dataclass(frozen=True)
class Way:
    """A way to score the candidates and to decide."""

    name: str
    parts: tuple[str, ...]
    one_to_one: str | None = None
    threshold: float | None = None

    @property
    def label(self) -> str:
        """Names the way with its decision."""
        return self.name + (", one-to-one" if self.one_to_one else "")


@dataclass(frozen=True)
class Outcome:
    """What came of a way."""

    way: Way
    threshold: float
    tuned: Measures
    tested: Measures
    curve: Curve

    def as_dict(self) -> dict[str, Any]:
        """Returns it as JSON values, without the curve."""
        return {
            "score": self.way.name,
            "one_to_one": self.way.one_to_one,
            "threshold": self.threshold,
            "threshold_is": "fixed" if self.way.threshold is not None else "tuned",
            "tuning": self.tuned.as_dict(),
            "test": self.tested.as_dict(),
        }


class ScoreBank:
    """The candidates of one part of a task and their scores by name."""

    def __init__(
        self,
        part: TaskPart,
        encoders: EncoderFolders,
        scorers: dict[str, EncoderFolders],
        classifiers: dict[str, str],
        *,
        margin: str,
        neighbours: int,
        filtering: FilterOptions,
        folder: Path,
    ) -> None:
        self.part = part
        self.run = MiningRun((part.source, part.target), encoders, filtering, folder, show_progress_bar=True)
        pairs = self.run.pairs
        self.right = are_gold(pairs.source, pairs.target, part.gold, len(part.target))
        self._encoders = {"filter": encoders, **scorers}
        self._classifiers = classifiers
        self._margin = margin
        self._neighbours = neighbours
        self._scores: dict[str, NDArray[np.float64]] = {}

    def scores(self, key: str) -> NDArray[np.float64]:
        """Computes the scores of all pairs (pairs,) for `cosine:NAME`, `margin:NAME` or `classifier:NAME`."""
        if key not in self._scores:
            kind, _, name = key.partition(":")
            if kind == "classifier":
                self._scores[key] = self.run.probabilities(self._classifiers[name])
            elif kind == "margin":
                self._scores[key] = self.run.margins(self._margin, self._neighbours, self._encoders[name])
            else:
                self._scores[key] = self.run.cosines(self._encoders[name]).astype(np.float64)
        return self._scores[key]

    def curve(self, way: Way) -> Curve:
        """Computes precision and recall of a way at every threshold."""
        scores = combined_scores([self.scores(key) for key in way.parts], "product")
        kept = matching(way.one_to_one, self.run.pairs.source, self.run.pairs.target, scores)
        return Curve.of(scores[kept], self.right[kept], len(self.part.gold))


def outcome(way: Way, tuning: Curve, test: Curve) -> Outcome:
    """Measures a way by its curve on the test part, with the best threshold of the tuning part unless it has one."""
    threshold = tuning.best_threshold() if way.threshold is None else way.threshold
    return Outcome(way, threshold, tuning.at(threshold), test.at(threshold), test)


def classifier_way(name: str, threshold: float | None = None) -> Way:
    """The way of a classifier alone."""
    return Way(name, (f"classifier:{name}",), threshold=threshold)


def ways(
    scorers: Sequence[str], classifiers: Sequence[str], margin: str, one_to_one: str, fixed_threshold: float
) -> list[Way]:
    """Lists the ways of the study: the set-up of paper 002 first, then the parts of the repair, alone and together."""
    listed: list[Way] = []
    for name in classifiers:
        listed.append(classifier_way(name, fixed_threshold))
    single = [classifier_way(name) for name in classifiers]
    for name in ("filter", *scorers):
        single.append(Way(f"{name} cosine", (f"cosine:{name}",)))
        single.append(Way(f"{name} {margin} margin", (f"margin:{name}",)))
    listed += single
    listed += [Way(way.name, way.parts, one_to_one) for way in single]
    for name in classifiers:
        for other in ("filter", *scorers):
            parts = (f"classifier:{name}", f"margin:{other}")
            listed.append(Way(f"{name} × {other} {margin} margin", parts, one_to_one))
    return listed


@dataclass(frozen=True)
class RecallRow:
    """One row of table 1.

    Attributes:
        n: The number of candidates of a source sentence.
        share: Their share of all gold pairs, in per cent.
        found_growth: How many more than in the row before, in per cent of that; None in the first row, and where the
            row before has none.
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
) -> NDArray[np.int64]:
    """Finds at which rank of the candidates of its source each gold target is.

    Only the sources of gold pairs are compared with all targets, so this is cheap.

    Args:
        source_vectors: float32 (sources, dim).
        target_vectors: float32 (targets, dim).
        gold: The places of the gold pairs (gold, 2).
        deepest: To which rank to look.

    Returns:
        The rank of each (gold,), int64, from 1; `deepest` + 1 where it is lower. A sentence without a vector has no
        candidates and is none.
    """
    rows, place = np.unique(gold[:, 0], return_inverse=True)
    sources = _take(source_vectors, rows)
    target_rows, _ = nearest_neighbours(sources, target_vectors, deepest, skip_zero=True)
    ranks = np.full(len(gold), deepest + 1, np.int64)
    hits = target_rows[place.reshape(-1)] == gold[:, 1:]
    pair, rank = np.nonzero(hits)
    ranks[pair] = rank + 1
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
        num_found = int((ranks <= size).sum())
        pairs = sources * min(size, targets)
        before = table[-1] if table else None
        table.append(
            RecallRow(
                size,
                num_found,
                100 * num_found / max(1, len(ranks)),
                _growth(before.found, num_found) if before else None,
                pairs,
                _growth(before.pairs, pairs) if before else None,
            )
        )
    return table


def _growth(before: int, now: int) -> float | None:
    return 100 * (now - before) / before if before else None


def _take(vectors: Vectors, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    return np.asarray(vectors[rows] if isinstance(vectors, np.ndarray) else vectors.take(rows), np.float32)


def random_pair_curve(
    sides: ClassifiedSides, gold: NDArray[np.int64], sources: int, targets: int, negatives: int, seed: int
) -> Curve:
    """Scores the gold pairs and random pairs of the two collections."""
    random = np.random.default_rng(seed)
    scores = [sides.probabilities(gold[:, 0], gold[:, 1])]
    right = [np.ones(len(gold), bool)]
    left = negatives * len(gold)
    while left:
        number = min(left, _PAIRS_AT_A_TIME)
        source, target = random.integers(sources, size=number), random.integers(targets, size=number)
        wrong = ~are_gold(source, target, gold, targets)
        scores.append(sides.probabilities(source[wrong], target[wrong]))
        right.append(np.zeros(len(scores[-1]), bool))
        left -= number
    return Curve.of(np.concatenate(scores), np.concatenate(right), len(gold))
