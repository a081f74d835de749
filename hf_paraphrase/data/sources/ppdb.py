"""The Paraphrase Database, 1.0 and 2.0, every pack and size, and its annotated sample with human scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import InputError, UsageError
from ...settings import setting
from ..languages import check_language
from ..schema import PAIRS
from ..text_files import (
    PLAIN_OR_COMPRESSED,
    Field,
    LineErrors,
    count_fields,
    first_line_of,
    read_lines,
    read_tables,
)
from .source import Part, Source, TrainingSettings

_SEPARATOR = " ||| "
_RULE = pa.schema([*PAIRS, *((name, pa.string()) for name in ("lhs", "features", "alignment", "entailment"))])
_ANNOTATED = pa.schema([*PAIRS, ("score", pa.float64()), ("lhs", pa.string()), ("votes", pa.list_(pa.float64()))])
_REMEDY = "fix the line, or fetch the file again"


@dataclass(kw_only=True)
class PpdbSource(Source, TrainingSettings):
    """Makes a data folder of PPDB 1.0 or 2.0, any pack and size, or of its annotated sample."""

    SUMMARY: ClassVar[str] = "PPDB 1.0 and 2.0: the database, its annotated sample"
    TITLE: ClassVar[str] = "PPDB: The Paraphrase Database"
    LICENSE: ClassVar[str] = "cc-by-3.0"
    URL: ClassVar[str] = "http://paraphrase.org/"
    TEMPLATE: ClassVar[str] = "ppdb"

    file: list[str] = setting(f"one or more files, {PLAIN_OR_COMPRESSED}, read in their order", path=True)
    lang: str = setting("language code of the phrases", "en", names=["--lang", "--language"])

    def check(self) -> None:
        """Checks the language too."""
        check_language(self.lang, "--lang")
        super().check()

    def parts(self) -> list[Part]:
        """Returns the one part: `train`, or `test` for the annotated sample."""
        if not self.file:
            raise UsageError("no --file", remedy="name one or more files of PPDB")
        files = tuple(map(Path, self.file))
        annotated = {_SEPARATOR not in first_line_of(path) for path in files}
        if len(annotated) > 1:
            raise InputError("rules and an annotated sample", path=files[0], remedy="prepare each by itself")
        if annotated == {True}:
            if self.decontaminate:
                raise UsageError("--decontaminate does not apply to the annotated sample", path=files[0])
            return [Part("test", _ANNOTATED, files, partial(_read_annotated, files))]
        return [Part("train", _RULE, files, partial(_read_rules, files), training=True)]


def _read_rules(files: Sequence[Path], errors: LineErrors) -> Iterator[pa.Table]:
    """Reads `[LHS] ||| phrase ||| paraphrase ||| features ||| alignment`, and in 2.0 ` ||| entailment`."""
    for path in files:
        first_line = 1
        for lines in read_lines(path, errors):
            counts = count_fields(lines, _SEPARATOR)
            good = (counts == 5) | (counts == 6)
            for row in np.flatnonzero(~good & (counts > 0)):
                wanted = f"fields where 5 or 6 separated by `{_SEPARATOR.strip()}` are expected"
                errors.handle(f"{counts[row]} {wanted}", path, first_line + int(row), _REMEDY)
            first_line += len(lines)
            fields = pc.split_pattern(lines.filter(pa.array(good)), _SEPARATOR)
            lhs, first, second, features, alignment = (pc.list_element(fields, index) for index in range(5))
            entailment = pc.list_element(pc.list_slice(fields, 5, 6, return_fixed_size_list=True), 0)
            sides = (pc.utf8_trim_whitespace(side) for side in (first, second))
            yield pa.table([*sides, lhs, features, alignment, entailment], schema=_RULE)


def _read_annotated(files: Sequence[Path], errors: LineErrors) -> Iterator[pa.Table]:
    """Reads `mean score, [LHS], phrase, paraphrase, votes`, tab-separated; votes are separated by commas."""
    number = r"([0-9]+\.?[0-9]*|\.[0-9]+)"
    fields = [
        Field("score", pa.float64(), low=1, high=5),
        Field("lhs"),
        Field("sentence1"),
        Field("sentence2"),
        Field("votes", pattern=f"{number}(,{number})*", example="3.0,4.0,5.0"),
    ]
    for path in files:
        for table in read_tables(path, fields, errors, remedy=_REMEDY):
            votes = [list(map(float, text.split(","))) for text in table.column("votes").to_pylist()]
            yield table.set_column(table.column_names.index("votes"), "votes", pa.array(votes, pa.list_(pa.float64())))
