"""Sentence pairs of English and Simple English Wikipedia (Coster and Kauchak 2011).

Two layouts are read: that of version 2.0 (article title, paragraph number, sentence, tab-separated) and plain
sentences, one a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import UsageError
from ...settings import setting
from ..schema import with_column
from ..text_files import Field, LineErrors, first_line_of, read_aligned, read_aligned_tables
from .source import Part, Source, TrainingSettings

PLAIN = pa.schema([("id", pa.string()), ("sentence1", pa.string()), ("sentence2", pa.string())])
ALIGNED = pa.schema([*PLAIN, ("title", pa.string()), ("paragraph1", pa.int64()), ("paragraph2", pa.int64())])
SIDES = ("sentence1", "sentence2")


@dataclass(kw_only=True)
class SimpwikiSource(Source, TrainingSettings):
    """Makes a data folder of SimpWiki 2.0 (Coster and Kauchak 2011), or of plain aligned sentences."""

    SUMMARY: ClassVar[str] = "sentences of English Wikipedia beside those of Simple English Wikipedia"
    TITLE: ClassVar[str] = "SimpWiki: English and Simple English Wikipedia"
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
    plain = ((lines, pa.table(sides)) for lines, sides in read_aligned(files, SIDES, errors))
    for lines, table in _articles(files, errors) if aligned else plain:
        number = pc.utf8_lpad(pa.array(lines).cast(pa.string()), width=6, padding="0")
        yield with_column(table, "id", pc.binary_join_element_wise("simpwiki", number, "-"))


def _articles(files: list[Path], errors: LineErrors) -> Iterator[tuple[np.ndarray, pa.Table]]:
    """Streams titles, paragraphs and sentences; the titles of the two sides must be the same."""
    sides = [("title", "paragraph1", "sentence1"), ("title2", "paragraph2", "sentence2")]
    fields = [[Field(title), Field(number, pa.int64()), Field(text)] for title, number, text in sides]
    for lines, table in read_aligned_tables(files, fields, errors, "fix the line in both files"):
        titles = [table.column(name).to_pylist() for name in ("title", "title2")]
        for line, one, other in zip(lines.tolist(), *titles, strict=True):
            if one != other:
                errors.handle(f"title `{other}`, but `{one}` on the other side", files[1], line, "fix both files")
        same = pc.equal(table.column("title"), table.column("title2"))
        yield lines[same.to_numpy()], table.filter(same)
