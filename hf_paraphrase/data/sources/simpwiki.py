"""Sentence pairs of English and Simple English Wikipedia (Coster and Kauchak 2011).

Two layouts are read: that of version 2.0 (article title, paragraph number, sentence, tab-separated) and plain
sentences, one a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import UsageError
from ...settings import setting
from ..text_files import INTEGER, LineErrors, first_line_of, read_aligned
from .source import Part, Source, TrainingSettings

PLAIN = pa.schema([("id", pa.string()), ("sentence1", pa.string()), ("sentence2", pa.string())])
ALIGNED = pa.schema([*PLAIN, ("title", pa.string()), ("paragraph1", pa.int64()), ("paragraph2", pa.int64())])
_PLACE = ("title", "paragraph1", "paragraph2")


@dataclass(kw_only=True)
class SimpwikiSource(Source, TrainingSettings):
    """Makes a data folder of SimpWiki 2.0 (Coster and Kauchak 2011), or of plain aligned sentences."""

    SUMMARY: ClassVar[str] = "sentences of English Wikipedia beside those of Simple English Wikipedia"
    TITLE: ClassVar[str] = "SimpWiki: English and Simple English Wikipedia"
    DESCRIPTION: ClassVar[str] = "Aligned sentences of English Wikipedia and Simple English Wikipedia."
    LICENSE: ClassVar[str] = "cc-by-sa-3.0"
    URL: ClassVar[str] = "https://cs.pomona.edu/~dkauchak/simplification/"
    TEMPLATE: ClassVar[str] = "simpwiki"

    normal: str = setting(
        "`normal.aligned`: title, paragraph number, sentence, tab-separated; or plain sentences", path=True
    )
    simple: str = setting("`simple.aligned`, line by line", path=True)

    def parts(self) -> list[Part]:
        """Returns the one part, `train`."""
        files = [Path(self.normal), Path(self.simple)]
        if files[0].resolve() == files[1].resolve():
            raise UsageError("--normal and --simple are the same file", path=files[0], remedy="give both sides")
        aligned = "\t" in first_line_of(files[0])
        read = partial(_read, files, aligned)
        return [Part("train", ALIGNED if aligned else PLAIN, files, read, training=True)]


def _read(files: list[Path], aligned: bool, errors: LineErrors) -> Iterator[pa.Table]:
    for lines, columns in read_aligned(files, ("sentence1", "sentence2"), errors):
        if aligned:
            lines, columns = _split(files, lines, columns, errors)
        number = pc.utf8_lpad(pa.array(lines).cast(pa.string()), width=6, padding="0")
        yield pa.table({"id": pc.binary_join_element_wise("simpwiki", number, "-"), **columns})


def _split(
    files: list[Path], lines: np.ndarray, sides: dict[str, pa.Array], errors: LineErrors
) -> tuple[np.ndarray, dict[str, pa.Array]]:
    """Splits title, paragraph and sentence; the titles of the two sides must be the same."""
    rows: dict[str, list[Any]] = {name: [] for name in ("line", "sentence1", "sentence2", *_PLACE)}
    for line, *texts in zip(lines.tolist(), *(side.to_pylist() for side in sides.values()), strict=True):
        fields = [text.split("\t") for text in texts]
        problems = [(path, problem) for path, side in zip(files, fields, strict=True) if (problem := _problem(side))]
        if not problems and fields[0][0] != fields[1][0]:
            problems = [(files[1], f"title `{fields[1][0]}`, but `{fields[0][0]}` on the other side")]
        if problems:
            path, problem = problems[0]
            errors.handle(problem, path, line, "fix the line in both files")
            continue
        (title, paragraph1, sentence1), (_, paragraph2, sentence2) = fields
        values = (line, sentence1, sentence2, title, int(paragraph1), int(paragraph2))
        for column, value in zip(rows.values(), values, strict=True):
            column.append(value)
    numbers = np.array(rows.pop("line"), np.int64)
    return numbers, {name: pa.array(values, ALIGNED.field(name).type) for name, values in rows.items()}


def _problem(fields: list[str]) -> str | None:
    if len(fields) != 3:
        return f"{len(fields)} tab-separated fields where 3 are expected (title, paragraph, sentence)"
    return None if re.match(INTEGER, fields[1]) else f"paragraph `{fields[1]}` is not a whole number"
