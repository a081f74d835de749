"""Sentence pairs of English and Simple English Wikipedia (Coster and Kauchak 2011) as a `datasets` builder.

    builder = SimpwikiBuilder(normal="normal.aligned", simple="simple.aligned")
    builder.download_and_prepare()
    pairs = builder.as_dataset(split="train")

Two layouts are read: that of version 2.0 (article title, paragraph number, sentence, tab-separated) and plain
sentences, one a line. Under datasets 3 this file runs as a loading script, see
:mod:`hf_paraphrase.data.sources.builder`. `prepare simpwiki` makes a data folder of the same rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_paraphrase.data.sources.builder import SourceBuilder
from hf_paraphrase.data.sources.source import Part, Source, TrainingSettings
from hf_paraphrase.data.text_files import LineErrors, read_aligned, read_lines
from hf_paraphrase.data.typed_fields import INTEGER
from hf_paraphrase.errors import UsageError
from hf_paraphrase.settings import setting

PLAIN = pa.schema([("id", pa.string()), ("sentence1", pa.string()), ("sentence2", pa.string())])
ALIGNED = pa.schema([*PLAIN, ("title", pa.string()), ("paragraph1", pa.int64()), ("paragraph2", pa.int64())])
_REMEDY = "fix the line in both files"


@dataclass(kw_only=True)
class SimpwikiSource(Source, TrainingSettings):
    """Makes a data folder of SimpWiki 2.0 (Coster and Kauchak 2011), or of plain aligned sentences."""

    SUMMARY: ClassVar[str] = "sentences of English Wikipedia beside those of Simple English Wikipedia"
    TITLE: ClassVar[str] = "SimpWiki: English and Simple English Wikipedia"
    DESCRIPTION: ClassVar[str] = "Aligned sentences of English Wikipedia and Simple English Wikipedia."
    CITATION: ClassVar[str] = (
        "William Coster and David Kauchak. 2011. Simple English Wikipedia: A New Text Simplification Task. In "
        "Proceedings of ACL-HLT 2011 (Short Papers), 665-669."
    )
    LICENSE: ClassVar[str] = "cc-by-sa-3.0"
    URL: ClassVar[str] = "https://cs.pomona.edu/~dkauchak/simplification/"
    TEMPLATE: ClassVar[str] = "simpwiki"
    PATHS: ClassVar[tuple[str, ...]] = ("normal", "simple")

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
        first = next((block[0].as_py() or "" for block in read_lines(files[0], LineErrors("skip"))), "")
        aligned = "\t" in first
        reader = partial(_read, files, aligned, self.drop_identical)
        return [Part("train", ALIGNED if aligned else PLAIN, (reader,), files, training=True)]


class SimpwikiBuilder(SourceBuilder, source=SimpwikiSource):
    """Builds pairs of a Wikipedia sentence and its simple counterpart."""


def _read(
    files: tuple[Path, Path], aligned: bool, drop_identical: bool, errors: LineErrors, left_out: Counter[str]
) -> Iterator[pa.Table]:
    for first_line, sides in read_aligned(files, errors):
        lines = np.arange(first_line, first_line + len(sides[0]))
        readable = pc.and_(sides[0].is_valid(), sides[1].is_valid())
        lines = lines[readable.to_numpy(zero_copy_only=False)]
        columns: dict[str, pa.Array] = {}
        if aligned:
            lines, columns = _split(files, lines, [side.filter(readable) for side in sides], errors)
        else:
            columns = {f"sentence{number}": side.filter(readable) for number, side in enumerate(sides, start=1)}
        number = pc.utf8_lpad(pa.array(lines).cast(pa.string()), width=6, padding="0")
        table = pa.table({"id": pc.binary_join_element_wise("simpwiki", number, "-"), **columns})
        if drop_identical:
            same = pc.equal(table.column("sentence1"), table.column("sentence2"))
            left_out["identical"] += int(pc.sum(same).as_py() or 0)
            table = table.filter(pc.invert(same))
        yield table


def _split(
    files: tuple[Path, Path], lines: np.ndarray, sides: list[pa.Array], errors: LineErrors
) -> tuple[np.ndarray, dict[str, pa.Array]]:
    """Splits title, paragraph and sentence; the titles of the two sides must be the same."""
    good = np.ones(len(lines), dtype=bool)
    for path, side in zip(files, sides, strict=True):
        num_fields = pc.count_substring(side, "\t").to_numpy() + 1
        for row in np.flatnonzero((num_fields != 3) & good):
            errors.handle(
                f"{num_fields[row]} tab-separated fields where 3 are expected (title, paragraph, sentence)",
                path,
                int(lines[row]),
                _REMEDY,
            )
        good &= num_fields == 3
    lines, sides = lines[good], [side.filter(pa.array(good)) for side in sides]
    fields = [_take_three(side) for side in sides]
    good = np.ones(len(lines), dtype=bool)
    for path, (_, paragraph, _) in zip(files, fields, strict=True):
        fits = pc.match_substring_regex(paragraph, INTEGER).to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(~fits & good):
            text = paragraph[int(row)].as_py()
            errors.handle(f"paragraph `{text}` is not a whole number", path, int(lines[row]), _REMEDY)
        good &= fits
    same = pc.equal(fields[0][0], fields[1][0]).to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(~same & good):
        titles = [field[0][int(row)].as_py() for field in fields]
        errors.handle(f"title `{titles[1]}`, but `{titles[0]}` on the other side", files[1], int(lines[row]), _REMEDY)
    keep = pa.array(good & same)
    (title, paragraph1, sentence1), (_, paragraph2, sentence2) = ([f.filter(keep) for f in field] for field in fields)
    return lines[good & same], {
        "sentence1": sentence1,
        "sentence2": sentence2,
        "title": title,
        "paragraph1": paragraph1.cast(pa.int64()),
        "paragraph2": paragraph2.cast(pa.int64()),
    }


def _take_three(lines: pa.Array) -> list[pa.Array]:
    fields = pc.split_pattern(lines, "\t")
    starts = fields.offsets.to_numpy()[:-1]
    return [fields.values.take(pa.array(starts + place)) for place in range(3)]
