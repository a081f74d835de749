"""Ways to score and decide, compared on one task: thresholds are chosen on one part and measured on another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from .collection import Collection, read_collection, read_gold
from .embedding import EncoderFolders
from .matching import matching
from .measures import Curve, Measures, are_gold
from .run import FilterOptions, MiningRun
from .scoring import combined_scores


@dataclass(frozen=True)
class TaskPart:
    """One part of a task in the layout of BUCC 2017.

    Attributes:
        source: The source side.
        target: The target side.
        gold: The places of the true pairs (pairs, 2).
    """

    source: Collection
    target: Collection
    gold: NDArray[np.int64]

    @classmethod
    def read(cls, prefix: str, part: str) -> TaskPart:
        """Reads `PREFIX.PART.fr`, `PREFIX.PART.en` and `PREFIX.PART.gold` for a prefix that ends in `fr-en`.

        Raises:
            InputError: If the prefix does not end in two languages, or a file is missing or malformed.
        """
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
    """A way to score the candidates and to decide.

    Attributes:
        name: What it is called in the tables.
        parts: The scores whose product counts, as keys of :class:`ScoreBank`.
        one_to_one: The matching; None for none.
        threshold: A fixed threshold; None for the one with the best F1 on the tuning part.
    """

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
    """What came of a way.

    Attributes:
        way: The way.
        threshold: The threshold that was used.
        tuned: The measures on the tuning part.
        tested: The measures on the test part.
        curve: Precision and recall on the test part at every threshold.
    """

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
    """The candidates of one part of a task and their scores by name.

    Args:
        part: The part.
        encoders: The encoders of the filter.
        scorers: Other encoders, by name.
        classifiers: Folders of classifiers, by name.
        margin: The kind of margin score.
        neighbours: The size of its neighbourhoods.
        filtering: How candidates are found.
        folder: Where vectors and candidates are kept.
    """

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


def outcome(way: Way, tuning: ScoreBank, test: ScoreBank) -> Outcome:
    """Measures a way on the test part, with the threshold that is best on the tuning part unless it has one."""
    on_tuning, on_test = tuning.curve(way), test.curve(way)
    threshold = on_tuning.best_threshold() if way.threshold is None else way.threshold
    return Outcome(way, threshold, on_tuning.at(threshold), on_test.at(threshold), on_test)


def ways(
    scorers: Sequence[str], classifiers: Sequence[str], margin: str, one_to_one: str, fixed_threshold: float
) -> list[Way]:
    """Lists the ways of the study: the set-up of paper 002 first, then the parts of the repair, alone and together.

    Args:
        scorers: The names of other encoders than the filter's.
        classifiers: The names of the classifiers.
        margin: The kind of margin score, for the names.
        one_to_one: The matching of the ways that have one.
        fixed_threshold: The paper's λ, for the ways that are the paper's.
    """
    found: list[Way] = []
    for name in classifiers:
        found.append(Way(name, (f"classifier:{name}",), threshold=fixed_threshold))
    single = [Way(name, (f"classifier:{name}",)) for name in classifiers]
    for name in ("filter", *scorers):
        single.append(Way(f"{name} cosine", (f"cosine:{name}",)))
        single.append(Way(f"{name} {margin} margin", (f"margin:{name}",)))
    found += single
    found += [Way(way.name, way.parts, one_to_one) for way in single]
    for name in classifiers:
        for other in ("filter", *scorers):
            parts = (f"classifier:{name}", f"margin:{other}")
            found.append(Way(f"{name} × {other} {margin} margin", parts, one_to_one))
    return found
