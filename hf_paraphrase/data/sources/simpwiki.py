"""Sentence pairs of English and Simple English Wikipedia (Coster and Kauchak 2011), in the layout of version 2.0."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from ...errors import UsageError
from ...settings import setting
from ..schema import with_column
from ..text_files import Field, LineErrors, read_aligned_tables
from .source import Part, Source, TrainingSettings

SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("id", "sentence1", "sentence2", "title")]
    + [(name, pa.int64()) for name in ("paragraph1", "paragraph2")]
)


@dataclass(kw_only=True)
class SimpwikiSource(Source, TrainingSettings):
    """Make a data folder of SimpWiki 2.0 (Coster and Kauchak 2011)."""

    SUMMARY: ClassVar[str] = "aligned sentences of English and Simple English Wikipedia"
    TITLE: ClassVar[str] = "SimpWiki: English and Simple English Wikipedia"
    LICENSE: ClassVar[str] = "cc-by-sa-3.0"
    URL: ClassVar[str] = "https://cs.pomona.edu/~dkauchak/simplification/"
    TEMPLATE: ClassVar[str] = "simpwiki"

    normal: str = setting("`normal.aligned`: title, paragraph number and sentence, tab-separated", path=True)
    simple: str = setting("`simple.aligned`, line by line", path=True)

    def parts(self) -> list[Part]:
        """Return the one part, `train`."""
        files = [Path(self.normal), Path(self.simple)]
        if files[0].resolve() == files[1].resolve():
            raise UsageError("--normal and --simple are the same file", path=files[0], remedy="give both sides")
        return [Part("train", SCHEMA, files, partial(_read, files), training=True)]


def _read(files: list[Path], errors: LineErrors) -> Iterator[pa.Table]:
    """Stream titles, paragraphs and sentences; the titles of the two sides must be the same."""
    sides = [("title", "paragraph1", "sentence1"), ("title2", "paragraph2", "sentence2")]
    fields = [[Field(title), Field(number, pa.int64()), Field(text)] for title, number, text in sides]
    for lines, table in read_aligned_tables(files, fields, errors, "fix the line in both files"):
        titles = [table.column(name).to_pylist() for name in ("title", "title2")]
        for line, one, other in zip(lines.tolist(), *titles, strict=True):
            if one != other:
                errors.handle(f"title `{other}`, but `{one}` on the other side", files[1], line, "fix both files")
        same = pc.equal(table.column("title"), table.column("title2"))
        line_number = pc.utf8_lpad(pa.array(lines).cast(pa.string()), width=6, padding="0")
        table = with_column(table, "id", pc.binary_join_element_wise("simpwiki", line_number, "-"))
        yield table.filter(same)
