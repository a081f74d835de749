"""The STS protocol of the paraphrastic sentence embedding papers.

A set's result is the correlation between the cosine of the two embeddings and the human score; a group's result is the
plain, unweighted mean over its sets (Wieting et al. 2016; Wieting, Mallinson and Gimpel 2017, section 4). No
regression is trained on top, no pairs are pooled across sets, and sets are not weighted by size; other protocols give
other numbers, and live in modules of their own (:mod:`.protocols` lists them).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from ..artefacts.card_heads import Measurement
from .baselines import Encode
from .correlation import correlations
from .graded_set import GradedSet, ScoredSet, score_with_encoder
from .sts_files import STS_TASKS

_TWENTY = tuple(f"{family} {name}" for family in ("STS12", "STS13", "STS14", "STS15") for name in STS_TASKS[family])

MEAN_GROUPS: dict[str, tuple[str, ...]] = {
    "22 sets": (*_TWENTY, "SICK test", "Twitter test"),
    "21 sets": (*_TWENTY, "SICK test"),
    "20 sets": _TWENTY,
    "19 sets": tuple(key for key in _TWENTY if key != "STS13 SMT"),
    **{
        f"{family} mean": tuple(f"{family} {name}" for name in STS_TASKS[family])
        for family in ("STS12", "STS13", "STS14", "STS15", "STS16")
    },
}
"""Which sets each mean is over.

* `22 sets`: the headline of the papers: the 20 sets of SemEval STS 2012–2015, the SICK test and the Twitter test.
* `21 sets`: those without Twitter.
* `20 sets`: SemEval STS 2012–2015 only.
* `19 sets`: those 20 without 2013 SMT, whose sentences are licensed; what most later work can evaluate.
* `STS12 mean` … `STS16 mean`: the sets of one year. STS16 is the development mean, in none of the groups above.
"""

DEV_MEAN = "STS16 mean"


@dataclass(frozen=True)
class SetResult:
    """Correlations of one set.

    Attributes:
        pearson: Pearson's r × 100.
        spearman: Spearman's rho × 100.
        note: Why a value is not what it seems, e.g. constant similarities; empty as a rule.
    """

    name: str
    family: str
    n: int
    pearson: float
    spearman: float
    note: str = ""

    @property
    def key(self) -> str:
        """The name that is unique over all families."""
        return f"{self.family} {self.name}"


@dataclass(frozen=True)
class MeanResult:
    """An unweighted mean over the sets of a group that are present.

    Attributes:
        name: The group, a key of :data:`MEAN_GROUPS`.
        pearson: Mean Pearson × 100 over the sets present; None if there is none.
        spearman: Mean Spearman × 100 over the sets present; None if there is none.
    """

    name: str
    expected: int
    present: int
    missing: tuple[str, ...]
    pearson: float | None
    spearman: float | None

    @property
    def found(self) -> tuple[str, ...]:
        """The keys of the sets that were evaluated."""
        return tuple(key for key in MEAN_GROUPS[self.name] if key not in self.missing)

    @property
    def complete(self) -> bool:
        """Whether the mean is over the whole group, and so comparable with published figures."""
        return self.present == self.expected

    @property
    def label(self) -> str:
        """The name, with the number of sets present where the group is incomplete: `19 sets (8 present)`."""
        return self.name if self.complete else f"{self.name} ({self.present} present)"


@dataclass(frozen=True)
class StsResult:
    """Everything that an evaluation found.

    Attributes:
        sets: One result a set, in the order given.
        means: One mean a group of :data:`MEAN_GROUPS`.
    """

    sets: tuple[SetResult, ...]
    means: tuple[MeanResult, ...]

    def mean(self, name: str) -> MeanResult:
        """Returns the mean of the group `name`."""
        return next(mean for mean in self.means if mean.name == name)

    @property
    def dev_mean(self) -> float | None:
        """Mean Pearson × 100 over the STS 2016 sets present, the tuning criterion; None without any."""
        return self.mean(DEV_MEAN).pearson

    def as_dict(self) -> dict[str, Any]:
        """Returns everything as plain values for JSON."""
        return {
            "sets": [asdict(item) for item in self.sets],
            "means": {
                mean.name: {
                    **asdict(mean),
                    "missing": list(mean.missing),
                    "complete": mean.complete,
                    "label": mean.label,
                }
                for mean in self.means
            },
            "dev_mean": self.dev_mean,
        }

    def measurements(self) -> list[Measurement]:
        """Lists the correlations of every set and of the means over whole groups.

        A mean over some of the sets would stand beside others' over all of them; the text of a card has it.
        """
        measurements = []
        for key, name in (("pearson", "Pearson × 100 of the cosine"), ("spearman", "Spearman × 100 of the cosine")):
            measured = partial(
                Measurement, "sentence-similarity", metric=f"{key}r", task_name="Semantic textual similarity"
            )
            for item in self.sets:
                folder, _, split = item.name.rpartition("/")
                place = (
                    {"dataset": folder, "split": split}
                    if item.family == "graded"
                    else {"dataset": item.family, "config": item.name}
                )
                measurements.append(measured(value=getattr(item, key), name=name, **place))
            for mean in self.means:
                if mean.complete:
                    measurements.append(
                        measured(dataset=mean.label, value=getattr(mean, key), name=f"{name}, mean over sets")
                    )
        return measurements


def evaluate_sts(encode: Encode, sets: Sequence[GradedSet]) -> StsResult:
    """Evaluates an encoder: per set, the correlation of the embeddings' cosine with the human scores.

    Each distinct sentence is encoded once, all sets in one call, so the encoder can batch freely. A zero vector has
    similarity 0 with everything.

    Args:
        encode: Maps n sentences to an array (n, dim).
        sets: The graded sets.
    """
    return evaluate_scored(score_with_encoder(encode, sets))


def evaluate_scored(scored: Sequence[ScoredSet]) -> StsResult:
    """Applies the protocol of the papers to pairs whose similarities are known already."""
    results = tuple(_evaluate_set(item) for item in scored)
    results_by_key = {result.key: result for result in results}
    return StsResult(
        sets=results, means=tuple(_mean(name, keys, results_by_key) for name, keys in MEAN_GROUPS.items())
    )


def _evaluate_set(scored: ScoredSet) -> SetResult:
    pearson, spearman, note = correlations(scored.similarities, scored.graded.scores)
    return SetResult(
        name=scored.graded.name,
        family=scored.graded.family,
        n=len(scored.graded),
        pearson=pearson,
        spearman=spearman,
        note=note,
    )


def _mean(name: str, keys: tuple[str, ...], results_by_key: dict[str, SetResult]) -> MeanResult:
    present = [results_by_key[key] for key in keys if key in results_by_key]
    return MeanResult(
        name=name,
        expected=len(keys),
        present=len(present),
        missing=tuple(key for key in keys if key not in results_by_key),
        pearson=float(np.mean([item.pearson for item in present])) if present else None,
        spearman=float(np.mean([item.spearman for item in present])) if present else None,
    )
