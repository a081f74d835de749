"""The shape that the results of all STS protocols share, and the steps they have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .correlation import correlations
from .scored_set import ScoredSet
from .sts_files import STS_TASKS

YEARS = ("STS12", "STS13", "STS14", "STS15", "STS16")
"""The five SemEval shared tasks."""


def sets_of_year(year: str, *, smt: bool) -> tuple[str, ...]:
    """Lists the keys of a year's sets; without `smt` those of 2013 lack SMT, as in SentEval and what builds on it."""
    return tuple(f"{year} {name}" for name in STS_TASKS[year] if smt or (year, name) != ("STS13", "SMT"))


@dataclass(frozen=True)
class ProtocolRow:
    """One line of a protocol's table.

    Attributes:
        name: What the line is, e.g. `STS12 wmean`; unique within the protocol.
        n: Number of pairs behind it.
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
        title: What it computes, in a line.
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
        """Returns the line called `name`.

        Raises:
            KeyError: If there is none.
        """
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


def by_key(scored: Iterable[ScoredSet]) -> dict[str, ScoredSet]:
    """Returns the scored sets by their keys."""
    return {item.key: item for item in scored}


def split_keys(keys: Iterable[str], found: dict[str, ScoredSet]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Splits keys into those that were found and those that were not, the order kept."""
    keys = tuple(keys)
    return tuple(key for key in keys if key in found), tuple(key for key in keys if key not in found)


def pooled_row(name: str, keys: Sequence[str], found: dict[str, ScoredSet]) -> ProtocolRow | None:
    """Correlates the pairs of all the sets found, in one list; None if not one was found."""
    present, missing = split_keys(keys, found)
    if not present:
        return None
    pearson, spearman, note = correlations(
        np.concatenate([found[key].similarities for key in present]),
        np.concatenate([found[key].graded.scores for key in present]),
    )
    return ProtocolRow(name, sum(len(found[key]) for key in present), present, missing, pearson, spearman, note)


def rows_of_splits(name: str, family: str, splits: Sequence[str], found: dict[str, ScoredSet]) -> list[ProtocolRow]:
    """Correlates each split of a benchmark that was found on its own; the lines are called `<name> <split>`."""
    rows = (pooled_row(f"{name} {split}", [f"{family} {split}"], found) for split in splits)
    return [row for row in rows if row is not None]


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
