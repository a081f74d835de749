"""The Microsoft Research Paraphrase Corpus (Dolan, Quirk and Brockett 2004).

The files have a header, no quoting, and quotes that open and never close.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import pyarrow as pa

from ..text_files import Field, read_tables
from .source import LineErrorSettings, Part, Source, find_files, folder_setting

FIELDS = (
    Field("label", pa.int64(), low=0, high=1),
    Field("id1", pattern="[0-9]+", example="702876"),
    Field("id2", pattern="[0-9]+", example="702977"),
    Field("sentence1"),
    Field("sentence2"),
)
_COLUMNS = ("sentence1", "sentence2", "label", "id1", "id2")
SCHEMA = pa.schema([(name, pa.int64() if name == "label" else pa.string()) for name in _COLUMNS])
_FILES = {"train": "msr_paraphrase_train.txt", "test": "msr_paraphrase_test.txt"}


@dataclass(kw_only=True)
class MsrpSource(Source, LineErrorSettings):
    """Make a data folder of the Microsoft Research Paraphrase Corpus."""

    SUMMARY: ClassVar[str] = "Microsoft Research Paraphrase Corpus: labelled pairs"
    TITLE: ClassVar[str] = "Microsoft Research Paraphrase Corpus"
    URL: ClassVar[str] = "https://www.microsoft.com/en-us/download/details.aspx?id=52398"
    TASKS: ClassVar[tuple[str, ...]] = ("text-classification",)
    TEMPLATE: ClassVar[str] = "msrp"

    data_dir: str = folder_setting("msr_paraphrase_train.txt and msr_paraphrase_test.txt")

    def parts(self) -> list[Part]:
        """List the splits whose files exist."""
        return [
            Part(split, SCHEMA, [path], partial(read_tables, path, FIELDS, header_lines=1))
            for split, path in find_files(self.data_dir, _FILES).items()
        ]
