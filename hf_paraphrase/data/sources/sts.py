"""SemEval STS 2012–2016 as a `datasets` builder.

    builder = StsBuilder(data_dir="sts")
    builder.download_and_prepare()
    sets = builder.as_dataset(split="STS16")

A split for each year, `STS12` … `STS16`, the column `subset` telling the set; parts for training and trial have splits
of their own, `STS12_train`. A pair with a blank gold line is unscored and left out. Under datasets 3 this file runs as
a loading script, see `builder`. `prepare sts` makes a data folder of the same rows,
which `evaluate` reads as it does the raw files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from hf_paraphrase.data.sources.builder import SourceBuilder
from hf_paraphrase.data.sources.graded_files import SET_NAMES, STS, GradedFile
from hf_paraphrase.data.sources.graded_source import GradedSource
from hf_paraphrase.data.sources.source import Part
from hf_paraphrase.data.text_files import LineErrors
from hf_paraphrase.errors import InputError
from hf_paraphrase.settings import setting


@dataclass(kw_only=True)
class StsSource(GradedSource):
    """Makes a data folder of SemEval STS 2012–2016, one split a year; `evaluate` reads it as it does the raw files."""

    SUMMARY: ClassVar[str] = "SemEval STS 2012-2016: graded pairs, one split a year"
    TITLE: ClassVar[str] = "SemEval STS"
    DESCRIPTION: ClassVar[str] = "SemEval semantic textual similarity: sentence pairs scored from 0 to 5."
    CITATION: ClassVar[str] = (
        "Eneko Agirre, Daniel Cer, Mona Diab and Aitor Gonzalez-Agirre. 2012. SemEval-2012 Task 6: A Pilot on "
        "Semantic Textual Similarity; and the reports of the tasks of 2013 to 2016."
    )
    URL: ClassVar[str] = "http://ixa2.si.ehu.eus/stswiki/"
    TAGS: ClassVar[tuple[str, ...]] = ("semantic-textual-similarity",)
    TEMPLATE: ClassVar[str] = "sts"
    FAMILY: ClassVar[str] = "STS1"

    data_dir: str = setting(
        "the folder below which files such as STS12-en-test/STS.input.MSRpar.txt and STS.gs.MSRpar.txt are",
        path=True,
    )

    def parts(self) -> list[Part]:
        """Lists the years that are there, each with its sets in the order of the papers."""
        years: dict[str, dict[str, GradedFile]] = {}
        for graded in self.graded_files():
            if graded.read is None:
                continue
            sets = years.setdefault(graded.family, {})
            if graded.name in sets:
                raise InputError(
                    f"{graded.family} {graded.name} occurs twice, also as {sets[graded.name].path}",
                    path=graded.path,
                    remedy="give a folder that holds each set once",
                )
            sets[graded.name] = graded
        self._require(bool(years))
        parts = []
        for family in sorted(years):
            order = SET_NAMES.get(family, ())
            names = sorted(years[family], key=lambda name: (order.index(name) if name in order else len(order), name))
            readers = tuple(_SetReader(years[family][name]) for name in names)
            files = tuple(path for name in names for path in years[family][name].files)
            parts.append(Part(family.replace(" ", "_"), STS, readers, files))
        return parts

    def missing(self) -> list[str]:
        """Names the sets of these years that are not there, those with scores only among them."""
        present = {f"{graded.family} {graded.name}" for graded in self.graded_files() if graded.read is not None}
        return [
            f"{family} {name}"
            for family, names in SET_NAMES.items()
            for name in names
            if f"{family} {name}" not in present
        ]


class StsBuilder(SourceBuilder, source=StsSource):
    """Builds the scored pairs of SemEval STS, one split a year."""


class _SetReader:
    """Reads one set as a part does; a set without any scored pair is an error."""

    def __init__(self, graded: GradedFile) -> None:
        self.graded = graded

    def __call__(self, errors: LineErrors, left_out: Counter[str]) -> Iterator[pa.Table]:
        assert self.graded.read is not None
        table = self.graded.read(errors, left_out)
        if not table.num_rows:
            raise InputError(
                "the file contains no scored pair",
                path=self.graded.path,
                remedy="remove the file, or replace it with a complete copy",
            )
        yield table
