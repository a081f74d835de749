"""Reads the semantic textual similarity (STS) sets below a folder, raw or prepared.

Raw layouts: SemEval STS 2012–2016 (`STS.input.<set>.txt` and `STS.gs.<set>.txt`), SICK 2014 (`SICK_*.txt`),
PIT-2015 (`*.data`, `test.label`) and the STS benchmark (`sts-*.csv`), read by `graded`.
Prepared: the Parquet files of `prepare sts`, `sick`, `pit2015` and `stsbenchmark`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...data.folder import DataFolder
from ...data.sources.graded import SET_NAMES, recognise_graded_file
from ...data.text_blocks import files_below
from ...data.text_files import StrictLines
from ...errors import InputError, no_folder
from ...text.normalization import is_blank
from .pair_sets import GradedSet, check_scores, list_columns

STS_TASKS: dict[str, tuple[str, ...]] = {
    **{family: SET_NAMES[family] for family in ("STS12", "STS13", "STS14", "STS15")},
    "SICK": ("test",),
    "Twitter": ("test",),
    "STS16": SET_NAMES["STS16"],
}
"""The 22 test sets of Wieting, Mallinson and Gimpel (2017), and STS16 for tuning."""
TEST_KEYS = tuple(f"{family} {name}" for family, names in STS_TASKS.items() if family != "STS16" for name in names)
"""The keys of the 22 test sets."""

_PREPARED = ("sentence1", "sentence2", "score", "benchmark", "subset")
_Source = tuple[str, str, str, Callable[[], pa.Table] | None]
"""Family, name, the missing part (`sentences`, `scores` or an empty text), and the function that reads the set."""


@dataclass(frozen=True)
class FoundSets:
    """The graded sets in the order of `STS_TASKS`, the keys of incomplete sets, and the files read."""

    sets: tuple[GradedSet, ...]
    without_input: tuple[str, ...]
    without_scores: tuple[str, ...]
    paths: tuple[Path, ...]


def has_sts_sets(path: Path) -> bool:
    """Return whether a file has an STS set, or a folder has such a file at any depth."""
    if path.is_file() and "sentence1" in list_columns(path):
        return False
    return any(True for file in _files(path) for _ in _sets_in(file))


def _files(path: Path) -> Iterable[Path]:
    return [path] if path.is_file() else files_below(path)


def find_sts_sets(*folders: str | os.PathLike[str], families: tuple[str, ...] | None = None) -> FoundSets:
    """Read every STS set of some `families` (default: all) at any depth below some folders.

    The year of a SemEval set comes from the name of its folder (`STS12-en-test`, `sts2012`, …); sets in a folder for
    training or trial have another family (`STS12 train`), so that they never enter a test mean. A copy with the same
    content is read once. The result names the sets without any score or without sentences.
    """
    for folder in folders:
        if not Path(folder).exists():
            raise no_folder(Path(folder), "give the folder that holds the STS sets")
    by_key: dict[str, tuple[GradedSet, Path]] = {}
    lacking: dict[str, list[str]] = {"sentences": [], "scores": []}
    for path in (file for folder in folders for file in _files(Path(folder))):
        for family, name, lacks, read in _sets_in(path):
            if families is not None and family not in families:
                continue
            graded = None if lacks or read is None else _graded_set(family, name, read(), path)
            if graded is None:
                lacking[lacks or "scores"].append(f"{family} {name}")
                continue
            earlier, other = by_key.setdefault(graded.key, (graded, path))
            sides = (earlier.sentences1, earlier.sentences2) == (graded.sentences1, graded.sentences2)
            if not sides or not np.array_equal(earlier.scores, graded.scores):
                problem = f"{graded.key} was already read from {other}, with other content"
                raise InputError(problem, path=path, remedy="give a folder that holds each set once")
    order = [f"{family} {name}" for family, names in STS_TASKS.items() for name in names]
    keys = [key for key in order if key in by_key] + [key for key in by_key if key not in order]
    without_input, without_scores = (
        tuple(dict.fromkeys(key for key in names if key not in by_key)) for names in lacking.values()
    )
    paths = dict.fromkeys(path for _, path in by_key.values())
    return FoundSets(tuple(by_key[key][0] for key in keys), without_input, without_scores, tuple(paths))


def _graded_set(family: str, name: str, table: pa.Table, path: Path) -> GradedSet | None:
    """Make a set of the scored pairs of two texts, as `prepare` does; return None without any."""
    rows = zip(*(table.column(name).to_pylist() for name in ("sentence1", "sentence2", "score")), strict=True)
    scored = [row for row in rows if row[2] is not None and not is_blank(row[0]) and not is_blank(row[1])]
    if not scored:
        return None
    first, second, scores = zip(*scored, strict=True)
    return GradedSet(name, family, [*first], [*second], check_scores(scores, path, f"{family} {name}"))


def _sets_in(path: Path) -> Iterator[_Source]:
    """Return the sets of a file: one for a raw file, any number for a prepared Parquet file, else none."""
    if path.suffix == ".parquet":
        yield from _prepared_sets(path)
        return
    graded = recognise_graded_file(path)
    if graded is None:
        return
    # A skipped line would make scores incomparable.
    read = None if graded.rows is None else partial(graded.read, StrictLines())
    yield graded.family, graded.name, graded.lacks, read


def _prepared_sets(path: Path) -> Iterator[_Source]:
    """Return the sets of a data folder made by `prepare sts`, `sick`, `pit2015` or `stsbenchmark`."""
    folder = DataFolder(path)
    if not set(_PREPARED) <= set(folder.schema().names):
        return
    table = folder.table(columns=_PREPARED)
    keys = zip(table.column("benchmark").to_pylist(), table.column("subset").to_pylist(), strict=True)
    for family, name in dict.fromkeys(keys):
        own = pc.and_(pc.equal(table.column("benchmark"), family), pc.equal(table.column("subset"), name))
        yield family, name, "", partial(table.filter, own)
