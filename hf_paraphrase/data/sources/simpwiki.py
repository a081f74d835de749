"""Sentence pairs of English and Simple English Wikipedia (Coster and Kauchak 2011).

Two layouts are read: that of version 2.0 (article title, paragraph number, sentence, tab-separated) and plain
sentences, one a line.
"""

from __future__ import annotations

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
from ..cleaning import without_identical
from ..text_files import Fields, LineErrors, count_fields, first_line_of, read_readable
from ..typed_fields import INTEGER
from .source import Part, Source, TrainingSettings

PLAIN = pa.schema([("id", pa.string()), ("sentence1", pa.string()), ("sentence2", pa.string())])
ALIGNED = pa.schema([*PLAIN, ("title", pa.string()), ("paragraph1", pa.int64()), ("paragraph2", pa.int64())])
_REMEDY = "fix the line in both files"


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
    drop_identical: bool = setting("leave out pairs of which both sides are the same", False)

    def parts(self) -> list[Part]:
        """Returns the one part, `train`."""
        files = (Path(self.normal), Path(self.simple))
        if files[0].resolve() == files[1].resolve():
            raise UsageError("--normal and --simple are the same file", path=files[0], remedy="give both sides")
        aligned = "\t" in first_line_of(files[0])
        read = partial(_read, files, aligned, self.drop_identical)
        return [Part("train", ALIGNED if aligned else PLAIN, files, read, training=True)]


def _read(files: tuple[Path, Path], aligned: bool, drop_identical: bool, errors: LineErrors) -> Iterator[pa.Table]:
    for lines, columns in read_readable(files, ("sentence1", "sentence2"), errors):
        if aligned:
            lines, columns = _split(files, lines, list(columns.values()), errors)
        number = pc.utf8_lpad(pa.array(lines).cast(pa.string()), width=6, padding="0")
        table = pa.table({"id": pc.binary_join_element_wise("simpwiki", number, "-"), **columns})
        yield without_identical(table, errors) if drop_identical else table


def _split(
    files: tuple[Path, Path], lines: np.ndarray, sides: list[pa.Array], errors: LineErrors
) -> tuple[np.ndarray, dict[str, pa.Array]]:
    """Splits title, paragraph and sentence; the titles of the two sides must be the same."""
    good = np.ones(len(lines), dtype=bool)

    def check(path: Path, fits: np.ndarray, problem: str, *values: Any) -> None:
        for row in map(int, np.flatnonzero(~fits & good)):
            text = problem.format(*(value[row] for value in values))
            errors.handle(text, path, int(lines[row]), "fix the line in both files")
        np.logical_and(good, fits, out=good)

    for path, side in zip(files, sides, strict=True):
        counts = count_fields(side, "\t")
        wanted = "{} tab-separated fields where 3 are expected (title, paragraph, sentence)"
        check(path, counts == 3, wanted, counts)
    lines, sides = lines[good], [side.filter(pa.array(good)) for side in sides]
    good = np.ones(len(lines), dtype=bool)
    (title1, paragraph1, sentence1), (title2, paragraph2, sentence2) = (
        [Fields(side, "\t").column(index) for index in range(3)] for side in sides
    )
    for path, texts in zip(files, (paragraph1, paragraph2), strict=True):
        fits = pc.match_substring_regex(texts, INTEGER).to_numpy(zero_copy_only=False)
        check(path, fits, "paragraph `{}` is not a whole number", texts)
    same = pc.equal(title1, title2).to_numpy(zero_copy_only=False)
    check(files[1], same, "title `{}`, but `{}` on the other side", title2, title1)
    columns = {
        "sentence1": sentence1,
        "sentence2": sentence2,
        "title": title1,
        "paragraph1": paragraph1,
        "paragraph2": paragraph2,
    }
    kept = {name: column.filter(pa.array(good)) for name, column in columns.items()}
    return lines[good], kept | {name: kept[name].cast(pa.int64()) for name in ("paragraph1", "paragraph2")}
