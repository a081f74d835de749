"""The protocols of semantic textual similarity beside that of the papers, as a table of what each line is over.

The same cosines give other numbers under each protocol (2012 from 52.9 to 56.6 for one untrained scorer), so each has
a table and a section of the results of its own, and no two are ever averaged. The protocol of the papers, `paper`, is
:func:`.sts.evaluate_scored`.

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
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import UsageError, choice_of
from .correlation import correlations
from .graded_set import ScoredSet
from .sts_files import STS_TASKS

PAPER = "paper"
"""The protocol of the paraphrastic embedding papers, whose result has a shape of its own."""
YEARS = ("STS12", "STS13", "STS14", "STS15", "STS16")
"""The five SemEval shared tasks."""


def sets_of_year(year: str, *, smt: bool) -> tuple[str, ...]:
    """Lists the keys of a year's sets; without `smt` those of 2013 lack SMT, as in SentEval and what builds on it."""
    return tuple(f"{year} {name}" for name in STS_TASKS[year] if smt or (year, name) != ("STS13", "SMT"))


@dataclass(frozen=True)
class ProtocolRow:
    """One line of a protocol's results.

    Attributes:
        name: What the line is, e.g. `STS12 wmean`; unique within the protocol.
        sets: Keys of the sets it is over.
        missing: Keys of the sets that belong to it and were not found.
        pearson: Pearson × 100.
        spearman: Spearman × 100.
        note: Why a value is not what it seems; empty as a rule.
    """

    name: str
    n: int
    sets: tuple[str, ...]
    missing: tuple[str, ...]
    pearson: float
    spearman: float
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


@dataclass(frozen=True)
class ProtocolResult:
    """What one protocol found for one scorer.

    Attributes:
        name: The protocol's name, e.g. `senteval`.
        columns: What to call Pearson and Spearman in its table.
        rows: Its lines; none where no set of the protocol is at hand.
        missing: Keys of the sets that belong to the protocol and were not found.
        remarks: What a reader has to know about these rows besides.
    """

    name: str
    title: str
    columns: tuple[str, str]
    rows: tuple[ProtocolRow, ...]
    missing: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    def row(self, name: str) -> ProtocolRow:
        """Returns the line called `name`."""
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(name)

    def as_dict(self) -> dict[str, Any]:
        """Returns everything as plain values for JSON; the lines by their names."""
        return {
            "title": self.title,
            "results": {
                row.name: {
                    "n": row.n,
                    "sets": list(row.sets),
                    "missing": list(row.missing),
                    "complete": row.complete,
                    "pearson": row.pearson,
                    "spearman": row.spearman,
                    "note": row.note,
                }
                for row in self.rows
            },
            "missing": list(self.missing),
            "remarks": list(self.remarks),
        }


Values = tuple[float, float, str]
"""Pearson × 100, Spearman × 100 and a note."""


def pooled(sets: Sequence[ScoredSet]) -> Values:
    """Correlates the pairs of all sets in one list."""
    return correlations(
        np.concatenate([item.similarities for item in sets]), np.concatenate([item.graded.scores for item in sets])
    )


def mean_over_sets(sets: Sequence[ScoredSet]) -> Values:
    """Averages the correlations of the sets."""
    return _average(sets, np.ones(len(sets), dtype=np.int64))


def mean_over_pairs(sets: Sequence[ScoredSet]) -> Values:
    """Averages the correlations of the sets, each weighted by its number of pairs."""
    return _average(sets, np.array([len(item) for item in sets]))


def mean_over_years(sets: Sequence[ScoredSet]) -> Values:
    """Averages the plain means of the years."""
    values, note = _of_each(sets)
    of_years = [[values[place] for place, item in enumerate(sets) if item.graded.family == year] for year in YEARS]
    pearson, spearman = np.mean([np.mean(year, axis=0) for year in of_years if year], axis=0)
    return float(pearson), float(spearman), note


def _average(sets: Sequence[ScoredSet], weights: np.ndarray) -> Values:
    values, note = _of_each(sets)
    pearson, spearman = np.average(values, axis=0, weights=weights)
    return float(pearson), float(spearman), note


def _of_each(sets: Sequence[ScoredSet]) -> tuple[np.ndarray, str]:
    """Correlates each set; returns the values (sets, 2) and a note."""
    measured = [correlations(item.similarities, item.graded.scores) for item in sets]
    note = "; ".join(f"{item.key}: {found[2]}" for item, found in zip(sets, measured, strict=True) if found[2])
    return np.array([(pearson, spearman) for pearson, spearman, _ in measured]), note


@dataclass(frozen=True)
class Line:
    """What a line of a protocol's table is over, and how.

    Attributes:
        sets: Keys of the sets that belong to it; those that are at hand count, and without one there is no line.
        in_place_of: A set in whose absence the line stands in for another; it is then no part of the protocol.
        whole: Whether it is left out where a set is missing; it is not part of the protocol either.
    """

    name: str
    sets: tuple[str, ...]
    values: Callable[[Sequence[ScoredSet]], Values] = pooled
    in_place_of: str | None = None
    whole: bool = False
    optional: bool = False

    @property
    def belongs(self) -> bool:
        """Whether the protocol misses the line's sets where they are not at hand."""
        return not (self.in_place_of or self.whole or self.optional)


@dataclass(frozen=True)
class StsProtocol:
    """A row of the table of protocols.

    Attributes:
        columns: What to call Pearson and Spearman in it.
        mean: The name of a last line, the plain mean of all that belong to the protocol if all are complete.
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


def evaluate_protocol(name: str, scored: Iterable[ScoredSet]) -> ProtocolResult:
    """Applies a protocol to pairs whose similarities are known."""
    protocol = PROTOCOLS[name]
    sets_by_key = {item.key: item for item in scored}
    rows = {line: _row(line, sets_by_key) for line in protocol.lines}
    shown = [row for row in rows.values() if row is not None]
    missing = dict.fromkeys(
        key for line in protocol.lines if line.belongs for key in line.sets if key not in sets_by_key
    )
    remarks: tuple[str, ...] = ()
    if protocol.mean is not None and shown:
        parts = [row for line, row in rows.items() if line.belongs]
        complete = [row for row in parts if row is not None and row.complete]
        if len(complete) == len(parts):
            shown.append(_mean(protocol.mean, complete))
        else:
            remarks = (f"no {protocol.mean}: {len(complete)} of the {len(parts)} tasks complete",)
    return ProtocolResult(name, protocol.title, protocol.columns, tuple(shown), tuple(missing), remarks)


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


def _row(line: Line, sets_by_key: Mapping[str, ScoredSet]) -> ProtocolRow | None:
    present = tuple(key for key in line.sets if key in sets_by_key)
    missing = tuple(key for key in line.sets if key not in sets_by_key)
    if not present or (line.whole and missing) or line.in_place_of in sets_by_key:
        return None
    sets = [sets_by_key[key] for key in present]
    return ProtocolRow(line.name, sum(map(len, sets)), present, missing, *line.values(sets))


def _mean(name: str, rows: Sequence[ProtocolRow]) -> ProtocolRow:
    return ProtocolRow(
        name=name,
        n=sum(row.n for row in rows),
        sets=tuple(key for row in rows for key in row.sets),
        missing=(),
        pearson=float(np.mean([row.pearson for row in rows])),
        spearman=float(np.mean([row.spearman for row in rows])),
    )
