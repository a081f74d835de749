"""Paraphrase pairs from a TSV, CSV, JSON lines or Parquet file.

    builder = PairsBuilder(tsv="graded.tsv", columns="sentence1,sentence2,score")
    builder.download_and_prepare()
    pairs = builder.as_dataset(split="train")

`prepare pairs` makes a data folder of the same rows that opens without this package. Under datasets 3 this file runs
as a loading script, see :mod:`hf_paraphrase.data.sources.builder`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from hf_paraphrase.data.decontamination import DecontaminationSettings
from hf_paraphrase.data.folder import DataFolder, check_split_name
from hf_paraphrase.data.languages import check_language
from hf_paraphrase.data.schema import PAIRS
from hf_paraphrase.data.sources.builder import SourceBuilder
from hf_paraphrase.data.sources.card_values import card_columns
from hf_paraphrase.data.sources.pair_files import Block, read_csv, read_jsonl, read_parquet
from hf_paraphrase.data.sources.preparation import recipe_of
from hf_paraphrase.data.sources.source import LineErrorSettings, OriginSettings, Part, ReadRows, SampleSettings, Source
from hf_paraphrase.data.text_files import LineErrors
from hf_paraphrase.data.tsv_header import HeaderSettings, read_tsv
from hf_paraphrase.data.typed_fields import Field, parse_column
from hf_paraphrase.errors import UsageError
from hf_paraphrase.settings import setting

_NAME = re.compile(r"[A-Za-z]\w*")
_TYPES = {name: Field(name, kind) for name, kind in (("score", pa.float64()), ("label", pa.int64()))}
_READERS = {"csv": read_csv, "jsonl": read_jsonl, "parquet": read_parquet}


@dataclass(kw_only=True)
class PairsSource(Source, SampleSettings, LineErrorSettings, DecontaminationSettings, OriginSettings, HeaderSettings):
    """Makes a paraphrase data folder from a TSV, CSV or JSON lines file or a Parquet file.

    Text is UTF-8, plain or .gz, .bz2, .xz, .zst.
    """

    SUMMARY: ClassVar[str] = (
        "a TSV, CSV, JSON lines or Parquet file of paraphrase pairs, graded or labelled or neither"
    )
    DESCRIPTION: ClassVar[str] = "Paraphrase pairs."
    TEMPLATE: ClassVar[str] = "pairs"
    RECORDED: ClassVar[tuple[str, ...]] = ("counts", "contamination", "malformed")
    PATHS: ClassVar[tuple[str, ...]] = ("tsv", "csv", "jsonl", "parquet")

    tsv: str = setting("the file: tab-separated fields, no quoting, one pair a line", "", path=True)
    csv: str = setting(
        "or: a file with commas, a header, and quotes that are doubled inside quoted fields", "", path=True
    )
    jsonl: str = setting("or: a file with one JSON object a line", "", path=True)
    parquet: str = setting("or: a Parquet file", "", path=True)
    columns: str = setting(
        "the columns to make, separated by commas or spaces: sentence1, sentence2, score (a number), label (a whole "
        "number, 1 = paraphrase); any other name becomes a column of strings. For --tsv the fields in their order, "
        "with _ for one to leave out (at the end it may be absent); elsewhere as name=theirs where the file has "
        "another name",
        "sentence1,sentence2",
        separator=",",
    )
    split: str = setting("the name of the split", "train")
    lang: str = setting("language code of the sentences", "en", names=["--lang", "--language"])
    skip_header: bool = setting("the same as --header yes", False, only_with="tsv", excludes="header")

    @property
    def kind(self) -> str:
        """The layout: `tsv`, `csv`, `jsonl` or `parquet`."""
        given = [name for name in ("tsv", *_READERS) if getattr(self, name)]
        if len(given) != 1:
            raise UsageError("give one of --tsv, --csv, --jsonl and --parquet", remedy="name one file")
        return given[0]

    @property
    def path(self) -> Path:
        """The raw file."""
        return Path(getattr(self, self.kind))

    @property
    def title(self) -> str:
        """The name of the file."""
        return f"Paraphrase pairs ({self.path.name})"

    def their_names(self) -> dict[str, str]:
        """Returns for each column its name in a file whose columns have names."""
        pairs = [entry.partition("=") for entry in self.columns.split(",")]
        names = dict(zip(self.field_names(), (theirs.strip() for _, _, theirs in pairs), strict=True))
        for (_, sign, _), (name, theirs) in zip(pairs, names.items(), strict=True):
            if name == "_" or (sign and not theirs):
                raise UsageError(
                    f"--columns `{self.columns}` must say name=theirs for each column to take",
                    remedy="e.g. --columns sentence1=premise,sentence2=hypothesis",
                )
        return {name: theirs or name for name, theirs in names.items()}

    def field_names(self) -> list[str]:
        """Returns the names in `columns`."""
        names = [entry.strip() for entry in self.columns.split(",")]
        if self.kind != "tsv":
            names = [entry.partition("=")[0].strip() for entry in names]
        named = [name for name in names if name != "_"]
        wrong = [name for name in named if not _NAME.fullmatch(name)]
        if wrong or len(set(named)) < len(named) or not {"sentence1", "sentence2"} <= set(named):
            raise UsageError(
                f"--columns `{self.columns}` must name sentence1 and sentence2, each name once",
                remedy="e.g. --columns sentence1,sentence2,score, with _ for a field to leave out",
            )
        return names

    def schema(self) -> pa.Schema:
        """Returns the schema of the rows: `sentence1`, `sentence2`, then the other columns in their order."""
        others = [name for name in self.field_names() if name != "_" and name not in PAIRS.names]
        fields = [(name, _TYPES[name].kind if name in _TYPES else pa.string()) for name in others]
        return pa.schema([*PAIRS, *(pa.field(name, kind) for name, kind in fields)])

    def known_schema(self) -> pa.Schema:
        """See :meth:`schema`."""
        return self.schema()

    def parts(self) -> list[Part]:
        """Returns the one part."""
        return [
            Part(
                self.split,
                self.schema(),
                (self._read,),
                (self.path,),
                training=True,
                rules=("header", "malformed", "empty_side"),
                remedy="check --columns and the file",
            )
        ]

    def check(self) -> None:
        """Checks everything that can be checked before reading."""
        if self.kind != "tsv":
            self.their_names()
        check_split_name(self.split)
        check_language(self.lang, "--lang")
        super().check()

    def card(self, folder: DataFolder, rows: ReadRows) -> dict[str, Any]:
        """Returns the file, its columns, and what became of its lines."""
        return {
            "lang": self.lang,
            "files": [self.path.name],
            "columns": card_columns(self.schema()),
            "splits": folder.sizes(),
            "rules": rows.counts[self.split],
        }

    @classmethod
    def choose(cls, config_name: str | None, settings: dict[str, Any]) -> tuple[str, str]:
        """Names the configuration `pairs` where it is given no name."""
        return config_name or "pairs", "default"

    def _read(self, errors: LineErrors, left_out: Counter[str]) -> Iterator[pa.Table]:
        for lines, columns in self._blocks(errors):
            yield self._typed(lines, columns, errors)

    def _blocks(self, errors: LineErrors) -> Iterator[Block]:
        if self.kind == "tsv":
            header = "yes" if self.skip_header else self.header
            return read_tsv(self.path, self.field_names(), errors, header=header)
        return _READERS[self.kind](self.path, self.their_names(), errors)

    def _typed(self, lines: np.ndarray, columns: dict[str, pa.Array], errors: LineErrors) -> pa.Table:
        """Turns scores and labels into numbers; rows where that fails are reported as errors and left out."""
        schema = self.schema()
        good = np.ones(len(lines), dtype=bool)
        columns = dict(columns)
        for name, expected in _TYPES.items():
            if name not in columns:
                continue
            numbers, usable = parse_column(columns[name], expected)
            for row in np.flatnonzero(~usable & good):
                errors.handle(
                    f"{name} `{columns[name][int(row)].as_py()}` is not {expected.wording}",
                    self.path,
                    int(lines[row]),
                    "fix it, name the fields with --columns, or leave a header out with --header yes",
                )
            good &= usable
            columns[name] = numbers
        table = pa.table({name: columns[name] for name in schema.names}, schema=schema)
        return table if good.all() else table.filter(pa.array(good))


class PairsBuilder(SourceBuilder, source=PairsSource):
    """Builds a paraphrase set with `sentence1`, `sentence2` and the further columns that are named."""


prepare_pairs = recipe_of("pairs", PairsSource)
