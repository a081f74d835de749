"""The Microsoft Research Paraphrase Corpus (Dolan, Quirk and Brockett 2004) as a `datasets` builder.

    builder = MsrpBuilder(data_dir="MSRParaphraseCorpus")
    builder.download_and_prepare()
    pairs = builder.as_dataset(split="test")

The files have a header, no quoting, and quotes that open and never close. Under datasets 3 this file runs as a loading
script, see :mod:`hf_paraphrase.data.sources.builder`. `prepare msrp` makes a data folder of the same rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from hf_paraphrase.data.sources.builder import SourceBuilder
from hf_paraphrase.data.sources.source import LineErrorSettings, Part, Source
from hf_paraphrase.data.sources.source_files import find_files
from hf_paraphrase.data.text_files import LineErrors
from hf_paraphrase.data.typed_fields import Field, read_typed_fields
from hf_paraphrase.settings import setting

FIELDS = (
    Field("label", pa.int64(), low=0, high=1),
    Field("id1", pattern="[0-9]+", example="702876"),
    Field("id2", pattern="[0-9]+", example="702977"),
    Field("sentence1"),
    Field("sentence2"),
)
SCHEMA = pa.schema(
    [
        ("sentence1", pa.string()),
        ("sentence2", pa.string()),
        ("label", pa.int64()),
        ("id1", pa.string()),
        ("id2", pa.string()),
    ]
)
_FILES = {"train": "msr_paraphrase_train.txt", "test": "msr_paraphrase_test.txt"}


@dataclass(kw_only=True)
class MsrpSource(Source, LineErrorSettings):
    """Makes a data folder of the Microsoft Research Paraphrase Corpus."""

    SUMMARY: ClassVar[str] = "Microsoft Research Paraphrase Corpus: labelled pairs"
    TITLE: ClassVar[str] = "Microsoft Research Paraphrase Corpus"
    DESCRIPTION: ClassVar[str] = "Microsoft Research Paraphrase Corpus: news sentences labelled as paraphrases or not."
    CITATION: ClassVar[str] = (
        "Bill Dolan, Chris Quirk and Chris Brockett. 2004. Unsupervised Construction of Large Paraphrase Corpora: "
        "Exploiting Massively Parallel News Sources. In Proceedings of COLING 2004, 350-356."
    )
    URL: ClassVar[str] = "https://www.microsoft.com/en-us/download/details.aspx?id=52398"
    TASKS: ClassVar[tuple[str, ...]] = ("text-classification",)
    TEMPLATE: ClassVar[str] = "msrp"

    data_dir: str = setting(
        "the folder below which msr_paraphrase_train.txt and msr_paraphrase_test.txt are", path=True
    )

    def parts(self) -> list[Part]:
        """Lists the splits that are there."""
        paths = find_files(self.data_dir, _FILES)
        return [Part(split, SCHEMA, (partial(_read, path),), (path,)) for split, path in paths.items()]

    def missing(self) -> list[str]:
        """Names the files that are not there."""
        return [name for split, name in _FILES.items() if split not in find_files(self.data_dir, _FILES)]


class MsrpBuilder(SourceBuilder, source=MsrpSource):
    """Builds the labelled pairs of the Microsoft Research Paraphrase Corpus."""


def _read(path: Path, errors: LineErrors, left_out: Counter[str]) -> Iterator[pa.Table]:
    for _, table in read_typed_fields(path, FIELDS, errors, header_lines=1):
        yield table
