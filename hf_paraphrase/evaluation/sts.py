"""Semantic textual similarity: correlations of cosines with human scores, and the protocols that average them.

A set's result is the correlation of the embeddings' cosines with the human scores; nothing is trained. The protocol of
the paraphrastic embedding papers, `paper`, is the plain mean over the sets of a group (Wieting et al. 2016; Wieting,
Mallinson and Gimpel 2017, section 4). The same cosines give other numbers under the other protocols (2012 from 52.9 to
56.6 for one untrained scorer), so each has a table of its own, and no two are ever averaged.

* `senteval`: Conneau and Kiela 2018, "SentEval". For each year the correlations of the sets are averaged plainly and
  weighted by the sets' numbers of scored pairs. 2013 is without SMT, whose sentences may not be passed on. SentEval
  hands over sentences that Moses has tokenised; here each encoder gets them as they are and tokenises them itself.
* `all`: Reimers and Gurevych 2019, "Sentence-BERT", section 4; settled and named by Gao, Yao and Chen 2021, "SimCSE",
  appendix on evaluation settings; taken over by Muennighoff et al. 2023, "MTEB". The sets of a year are put in one
  list and Spearman's rho (all-S) is taken once; all-P is Pearson's r of the same list. The plain mean of seven tasks
  is the usual headline. MTEB's own SICK-R pools all 9,927 pairs of SICK.
* `stsb`: Cer et al. 2017, "SemEval-2017 Task 1", section 8, and `sick`: Marelli et al. 2014, zero-shot. The cosine is
  correlated with the scores as they are. SentEval's figures, for which a regression is trained on the train part, are
  another thing: the same word vectors gain more than 20 points by it.
* `wieting2021`: what the code of Wieting et al. 2021 prints, "Paraphrastic Representations at Scale". The mean over 25
  sets differs from the 20-set mean of the earlier papers by STS 2016, which those keep for tuning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ..artefacts.card_heads import Measurement
from ..errors import UsageError, choice_of
from .baselines import Encode
from .correlation import correlations
from .graded_set import GradedSet, ScoredSet, score_with_encoder
from .sts_files import STS_TASKS

PAPER = "paper"
"""The protocol of the paraphrastic embedding papers: each set, and the means of :data:`MEAN_GROUPS`."""
YEARS = ("STS12", "STS13", "STS14", "STS15", "STS16")
"""The five SemEval shared tasks."""
DEV_MEAN = "STS16 mean"


def sets_of_year(year: str, *, smt: bool) -> tuple[str, ...]:
    """Lists the keys of a year's sets; without `smt` those of 2013 lack SMT, as in SentEval and what builds on it."""
    return tuple(f"{year} {name}" for name in STS_TASKS[year] if smt or (year, name) != ("STS13", "SMT"))


_TWENTY = tuple(key for year in YEARS[:4] for key in sets_of_year(year, smt=True))

MEAN_GROUPS: dict[str, tuple[str, ...]] = {
    "22 sets": (*_TWENTY, "SICK test", "Twitter test"),
    "21 sets": (*_TWENTY, "SICK test"),
    "20 sets": _TWENTY,
    "19 sets": tuple(key for key in _TWENTY if key != "STS13 SMT"),
    **{f"{year} mean": sets_of_year(year, smt=True) for year in YEARS},
}
"""Which sets each mean of the papers is over.

* `22 sets`: the headline of the papers: the 20 sets of SemEval STS 2012–2015, the SICK test and the Twitter test.
* `21 sets`: those without Twitter.
* `20 sets`: SemEval STS 2012–2015 only.
* `19 sets`: those 20 without 2013 SMT, whose sentences are licensed; what most later work can evaluate.
* `STS12 mean` … `STS16 mean`: the sets of one year. STS16 is the development mean, in none of the groups above.
"""


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
class StsRow:
    """One row of a protocol's results, over some of its sets.

    Attributes:
        name: E.g. `STS12 wmean`; unique within the protocol.
        n: Pairs of the sets that are present.
        sets: Keys of the sets that are present.
        missing: Keys of the sets that belong to it and are missing.
        pearson: Pearson × 100; None without any set.
        spearman: Spearman × 100; None without any set.
        note: Why a value is not what it seems; empty as a rule.
    """

    name: str
    n: int
    sets: tuple[str, ...]
    missing: tuple[str, ...]
    pearson: float | None
    spearman: float | None
    note: str = ""

    @property
    def complete(self) -> bool:
        """Whether nothing is missing, so that the value is comparable with published ones."""
        return not self.missing

    @property
    def label(self) -> str:
        """The name, with the number of sets where some are missing: `STS12 wmean (4 of 5 sets)`."""
        expected = len(self.sets) + len(self.missing)
        return self.name if self.complete else f"{self.name} ({len(self.sets)} of {expected} sets)"

    def as_dict(self) -> dict[str, Any]:
        """Returns everything as plain values for JSON."""
        lists = {"sets": list(self.sets), "missing": list(self.missing)}
        return {**asdict(self), **lists, "complete": self.complete, "label": self.label}


@dataclass(frozen=True)
class ProtocolResult:
    """What one protocol gives for one scorer.

    Attributes:
        rows: Its rows; none where no set of the protocol is present.
        missing: Keys of the sets that belong to the protocol and are missing.
        remarks: What a reader has to know about these rows besides.
    """

    rows: tuple[StsRow, ...]
    missing: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    def row(self, name: str) -> StsRow:
        """Returns the row called `name`."""
        return {row.name: row for row in self.rows}[name]


@dataclass(frozen=True)
class StsResult:
    """The results of one scorer.

    Attributes:
        sets: One result a set, in the order given.
        means: One row a group of :data:`MEAN_GROUPS`.
        protocols: By other protocols on the same similarities, by their names.
    """

    sets: tuple[SetResult, ...]
    means: tuple[StsRow, ...]
    protocols: dict[str, ProtocolResult] = field(default_factory=dict)

    def mean(self, name: str) -> StsRow:
        """Returns the mean of the group `name`."""
        return {row.name: row for row in self.means}[name]

    @property
    def dev_mean(self) -> float | None:
        """Mean Pearson × 100 over the STS 2016 sets present, the tuning criterion; None without any."""
        return self.mean(DEV_MEAN).pearson

    def as_dict(self) -> dict[str, Any]:
        """Returns everything as plain values for JSON."""
        return {
            "sets": [asdict(item) for item in self.sets],
            "means": {row.name: row.as_dict() for row in self.means},
            "dev_mean": self.dev_mean,
            "protocols": {
                name: {
                    "title": PROTOCOLS[name].title,
                    "results": {row.name: row.as_dict() for row in protocol.rows},
                    "missing": list(protocol.missing),
                    "remarks": list(protocol.remarks),
                }
                for name, protocol in self.protocols.items()
            },
        }

    def measurements(self) -> list[Measurement]:
        """Lists the correlations of every set and of the means over whole groups, for the head of a card.

        A mean over some of the sets would stand beside others' over all of them; the text of a card has it.
        """
        measurements = []
        for key, name in (("pearson", "Pearson × 100 of the cosine"), ("spearman", "Spearman × 100 of the cosine")):
            measured = partial(
                Measurement, "sentence-similarity", metric=f"{key}r", task_name="Semantic textual similarity"
            )
            for item in self.sets:
                folder, _, split = item.name.rpartition("/")
                graded = item.family == "graded"
                dataset = (
                    {"dataset": folder, "split": split} if graded else {"dataset": item.family, "config": item.name}
                )
                measurements.append(measured(value=getattr(item, key), name=name, **dataset))
            for mean in self.means:
                if mean.complete:
                    measurements.append(
                        measured(dataset=mean.name, value=getattr(mean, key), name=f"{name}, mean over sets")
                    )
        return measurements


Correlations = Sequence[tuple[ScoredSet, SetResult]]
"""Sets with their results."""
Values = tuple[float, float, str]
"""Pearson × 100, Spearman × 100 and a note."""


def pooled(sets: Correlations) -> Values:
    """Correlates the pairs of all sets in one list."""
    return correlations(
        np.concatenate([scored.similarities for scored, _ in sets]),
        np.concatenate([scored.graded.scores for scored, _ in sets]),
    )


def mean_over_sets(sets: Correlations) -> Values:
    """Averages the correlations of the sets."""
    return _average(sets, [1] * len(sets))


def mean_over_pairs(sets: Correlations) -> Values:
    """Averages the correlations of the sets, each weighted by its number of pairs."""
    return _average(sets, [result.n for _, result in sets])


def mean_over_years(sets: Correlations) -> Values:
    """Averages the plain means of the years."""
    families = [result.family for _, result in sets]
    return _average(sets, [1 / families.count(family) for family in families])


def _average(sets: Correlations, weights: Sequence[float]) -> Values:
    values = [(result.pearson, result.spearman) for _, result in sets]
    pearson, spearman = np.average(values, axis=0, weights=weights)
    note = "; ".join(f"{result.key}: {result.note}" for _, result in sets if result.note)
    return float(pearson), float(spearman), note


@dataclass(frozen=True)
class Line:
    """What a row of a protocol's table is over, and how.

    Attributes:
        sets: Keys of the sets that belong to it; without any of them there is no row.
        in_place_of: A set in whose absence the row replaces another; it is then no part of the protocol.
        whole: Whether it is left out where a set is missing; it is not part of the protocol either.
    """

    name: str
    sets: tuple[str, ...]
    values: Callable[[Correlations], Values] = pooled
    in_place_of: str | None = None
    whole: bool = False
    optional: bool = False

    @property
    def belongs(self) -> bool:
        """Whether the protocol is incomplete where the row's sets are missing."""
        return not (self.in_place_of or self.whole or self.optional)


@dataclass(frozen=True)
class StsProtocol:
    """An entry of the table of protocols.

    Attributes:
        columns: What to call Pearson and Spearman in it.
        mean: The name of a last row, the plain mean of all that belong to the protocol if all are complete.
    """

    title: str
    lines: tuple[Line, ...]
    columns: tuple[str, str] = ("r", "rho")
    mean: str | None = None


def _parts(name: str, family: str, *parts: str, optional: bool = False, **others: Any) -> tuple[Line, ...]:
    return tuple(Line(f"{name} {part}", (f"{family} {part}",), optional=optional, **others) for part in parts)


_EVERY_SET = tuple(key for year in YEARS for key in sets_of_year(year, smt=True))

PROTOCOLS: dict[str, StsProtocol] = {
    "senteval": StsProtocol(
        "plain mean and pair-weighted mean (wmean) of the sets' correlations, year by year; STS13 without SMT",
        tuple(
            Line(f"{year} {name}", sets_of_year(year, smt=False), values)
            for year in YEARS
            for name, values in (("mean", mean_over_sets), ("wmean", mean_over_pairs))
        ),
    ),
    "all": StsProtocol(
        "all pairs of a year in one list (SBERT, SimCSE, MTEB); STS13 without SMT",
        (
            *(Line(year, sets_of_year(year, smt=False)) for year in YEARS),
            Line("STS-B test", ("STS-B test",)),
            Line("SICK-R test", ("SICK test",)),
            *_parts("STS-B", "STS-B", "dev", "train", in_place_of="STS-B test"),
            *_parts("SICK-R", "SICK", "train", "trial", in_place_of="SICK test"),
            Line("SICK-R train+trial+test (MTEB)", ("SICK train", "SICK trial", "SICK test"), whole=True),
        ),
        ("all-P", "all-S"),
        mean="mean of 7",
    ),
    "stsb": StsProtocol(
        "the STS benchmark, cosine without training",
        (*_parts("STS-B", "STS-B", "dev", "test"), *_parts("STS-B", "STS-B", "train", optional=True)),
    ),
    "sick": StsProtocol(
        "SICK relatedness, cosine without training",
        (*_parts("SICK", "SICK", "train", "trial", optional=True), *_parts("SICK", "SICK", "test")),
    ),
    "wieting2021": StsProtocol(
        "mean over the sets of STS 2012-2016, and mean over the five yearly means; STS13 with SMT",
        (
            Line("mean over sets", _EVERY_SET, mean_over_sets),
            Line("mean over years", _EVERY_SET, mean_over_years),
        ),
    ),
}
"""The protocols by the names that `evaluate --protocols` takes."""


def evaluate_sts(encode: Encode, sets: Sequence[GradedSet]) -> StsResult:
    """Evaluates an encoder: per set, the correlation of the embeddings' cosine with the human scores.

    Each distinct sentence is encoded once, all sets in one call, so the encoder can batch freely. A zero vector has
    similarity 0 with everything.

    Args:
        encode: Maps n sentences to an array (n, dim).
        sets: The graded sets.
    """
    return evaluate_scored(score_with_encoder(encode, sets))


def evaluate_scored(scored: Sequence[ScoredSet], protocols: Iterable[str] = ()) -> StsResult:
    """Applies the protocol of the papers, and others by their names, to pairs whose similarities are known already."""
    sets_by_key = {}
    for item in scored:
        graded = item.graded
        result = SetResult(graded.name, graded.family, len(graded), *correlations(item.similarities, graded.scores))
        sets_by_key[graded.key] = (item, result)
    return StsResult(
        sets=tuple(result for _, result in sets_by_key.values()),
        means=tuple(_row(Line(name, keys, mean_over_sets), sets_by_key) for name, keys in MEAN_GROUPS.items()),
        protocols={name: _evaluate_protocol(PROTOCOLS[name], sets_by_key) for name in protocols},
    )


def _evaluate_protocol(
    protocol: StsProtocol, sets_by_key: Mapping[str, tuple[ScoredSet, SetResult]]
) -> ProtocolResult:
    rows = {
        line: _row(line, sets_by_key)
        for line in protocol.lines
        if line.in_place_of not in sets_by_key and not (line.whole and not set(line.sets) <= sets_by_key.keys())
    }
    shown = [row for row in rows.values() if row.sets]
    required = [line for line in protocol.lines if line.belongs]
    missing = dict.fromkeys(key for line in required for key in line.sets if key not in sets_by_key)
    remarks: tuple[str, ...] = ()
    if protocol.mean is not None and shown:
        complete = [rows[line] for line in required if rows[line].complete]
        if len(complete) == len(required):
            keys = tuple(key for row in complete for key in row.sets)
            values = np.array([(row.pearson, row.spearman) for row in complete], dtype=np.float64)
            pearson, spearman = values.mean(axis=0).tolist()
            shown.append(StsRow(protocol.mean, sum(row.n for row in complete), keys, (), pearson, spearman))
        else:
            remarks = (f"no {protocol.mean}: {len(complete)} of the {len(required)} tasks complete",)
    return ProtocolResult(tuple(shown), tuple(missing), remarks)


def _row(line: Line, sets_by_key: Mapping[str, tuple[ScoredSet, SetResult]]) -> StsRow:
    present = tuple(key for key in line.sets if key in sets_by_key)
    missing = tuple(key for key in line.sets if key not in sets_by_key)
    sets = [sets_by_key[key] for key in present]
    values = line.values(sets) if sets else (None, None, "")
    return StsRow(line.name, sum(result.n for _, result in sets), present, missing, *values)


def choose_protocols(requested: Iterable[str]) -> list[str]:
    """Returns the names of the protocols to apply, `paper` included where it is wanted; all of them by default."""
    names = list(dict.fromkeys(requested))
    unknown = [name for name in names if name != PAPER and name not in PROTOCOLS]
    if unknown:
        raise UsageError(f"unknown protocol {', '.join(unknown)}", remedy=choice_of(unknown[0], (PAPER, *PROTOCOLS)))
    return names or [PAPER, *PROTOCOLS]


def shorten(keys: Iterable[str]) -> list[str]:
    """Abbreviates a list of keys for reading: a year of which all sets are listed becomes `STS14 (6 sets)`."""
    keys = list(dict.fromkeys(keys))
    short: dict[str, None] = {}
    for key in keys:
        year = key.partition(" ")[0]
        whole = year in YEARS and set(sets_of_year(year, smt=False)) <= set(keys)
        size = sum(1 for other in keys if other.startswith(f"{year} "))
        short[f"{year} ({size} sets)" if whole else key] = None
    return list(short)
