"""Paraphrase pairs from a TSV, CSV, JSON lines or Parquet file, or from anything that `load_dataset` opens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from ...errors import UsageError
from ...settings import is_given, setting
from ..decontamination import DecontaminationSettings
from ..folder import check_split_name
from ..records import numbered_texts, read_records, require_once
from ..rows import Rows, open_rows
from ..schema import PAIRS, is_text, require_columns, usual_pair_columns
from ..text_blocks import LineErrors
from ..text_files import Field, HeaderSettings, read_tsv, typed
from .preparation import recipe_of
from .source import LineErrorSettings, OriginSettings, Part, SampleSettings, Source

_NAME = re.compile(r"[A-Za-z]\w*")
_TYPES = {"score": pa.float64(), "label": pa.int64()}
_KINDS = ("tsv", "csv", "jsonl", "parquet", "dataset")
_NAME_IT = "name it with --columns, e.g. --columns sentence1=…,sentence2=…"


@dataclass(kw_only=True)
class PairsSource(Source, SampleSettings, LineErrorSettings, DecontaminationSettings, OriginSettings, HeaderSettings):
    """Make a paraphrase data folder from a TSV, CSV, JSON lines or Parquet file, or a dataset on the Hub.

    Text is UTF-8, plain or .gz, .bz2, .xz, .zst.
    """

    SUMMARY: ClassVar[str] = (
        "paraphrase pairs from a TSV, CSV, JSON lines or Parquet file or from the Hub, optionally with scores or "
        "labels"
    )
    TEMPLATE: ClassVar[str] = "pairs"

    tsv: str = setting("the file: tab-separated fields, without quoting, one pair per line", "", path=True)
    csv: str = setting(
        "or a file with commas, semicolons or tabs, a header, and doubled quotes inside quoted fields", "", path=True
    )
    jsonl: str = setting("or a file with one JSON object per line", "", path=True)
    parquet: str = setting("or a Parquet file", "", path=True)
    dataset: str = setting(
        "or a dataset on the Hub, such as sentence-transformers/all-nli, or a folder of Parquet, JSON or CSV files "
        "that load_dataset opens; --split chooses its split",
        "",
        path=True,
    )
    subset: str | None = setting("the configuration of --dataset, such as pair", None, only_with="dataset")
    columns: str = setting(
        "output columns, separated by commas or spaces: sentence1, sentence2, score (a number), label (a whole "
        "number, 1 = paraphrase); any other name becomes a column of strings. For --tsv, list the fields in their "
        "order, with _ for a field to skip (at the end of a line it may be absent); for other formats, write "
        "name=theirs if the file has another name. If not given, the usual names are recognised (anchor and "
        "positive, text1 and text2, question1 and question2, premise and hypothesis), and with --dataset all "
        "columns of texts and numbers are kept",
        "sentence1,sentence2",
        separator=",",
    )
    split: str = setting("the name of the split", "train")
    lang: str = setting("language code of the sentences", "en", names=["--lang", "--language"])

    @property
    def kind(self) -> str:
        """The layout: `tsv`, `csv`, `jsonl`, `parquet` or `dataset`."""
        given = [name for name in _KINDS if getattr(self, name)]
        if len(given) != 1:
            flags = " and ".join([", ".join(f"--{name}" for name in _KINDS[:-1]), f"--{_KINDS[-1]}"])
            raise UsageError(f"give one of {flags}", remedy="name one file")
        return given[0]

    @property
    def path(self) -> Path:
        """The raw file, or the name of the data set."""
        return Path(getattr(self, self.kind))

    @property
    def title(self) -> str:
        """The name of the file."""
        return f"Paraphrase pairs ({self.path.name})"

    def _names(self) -> list[tuple[str, str]]:
        """Returns the names in `columns`, each with its name in a file whose columns have names."""
        names = [(entry.strip(), entry.strip()) for entry in self.columns.split(",")]
        if self.kind != "tsv":
            parts = [name.partition("=") for name, _ in names]
            names = [(name.strip(), theirs.strip() if sign else name.strip()) for name, sign, theirs in parts]
        kept = [name for name, _ in names if name != "_" or self.kind != "tsv"]
        sides = {"sentence1", "sentence2"} <= set(kept) and len(set(kept)) == len(kept)
        if not sides or not all(_NAME.fullmatch(name) for name in kept) or not all(theirs for _, theirs in names):
            problem = f"--columns `{self.columns}` must name sentence1 and sentence2, each name once"
            how = "e.g. --columns sentence1,sentence2,_ for the fields of --tsv, elsewhere names or name=theirs"
            raise UsageError(problem, remedy=how)
        return names

    def parts(self) -> list[Part]:
        """Returns the one part; its schema has `sentence1`, `sentence2`, then the other columns in their order."""
        files = [] if self.kind == "dataset" else [self.path]
        schema = pa.schema([(field.name, field.kind) for field in self._columns[1]])
        return [Part(self.split, schema, files, self._read, training=True)]

    def check(self) -> None:
        """Checks everything that can be checked before reading."""
        self._names()
        check_split_name(self.split)
        super().check()

    @cached_property
    def _rows(self) -> Rows:
        if self.kind == "dataset":
            return open_rows(self.dataset, self.split, subset=self.subset, roles=())
        return open_rows(self.path, roles=())

    @cached_property
    def _columns(self) -> tuple[dict[str, str], list[Field]]:
        """The names of the columns in the file, and the fields to make."""
        names = dict(self._names())
        if self.kind == "dataset":
            if not is_given(self, "columns"):
                return _all_columns(self._rows.schema, self.dataset)
            self._rows.require(*names.values())
        elif self.kind != "tsv" and not is_given(self, "columns"):
            names |= usual_pair_columns(self._rows.columns)
        others = [name for name in names if name not in {"_", *PAIRS.names}]
        return names, [Field(name, _TYPES.get(name, pa.string())) for name in (*PAIRS.names, *others)]

    def _read(self, errors: LineErrors) -> Iterator[pa.Table]:
        names, fields = self._columns
        if self.kind == "parquet":
            for theirs in names.values():
                require_once(self._rows.columns, theirs, self.path, _NAME_IT)
        if self.kind == "tsv":
            blocks = read_tsv(self.path, [name for name, _ in self._names()], errors, header=self.header)
        elif self.kind in ("dataset", "parquet"):
            blocks = numbered_texts(self._rows.batches(list(names.values())), names, self.dataset, _NAME_IT)
        else:
            blocks = read_records(self.path, self.kind, names, errors, remedy=_NAME_IT)
        remedy = "fix it, name the fields with --columns, or leave a header out with --header yes"
        return (table for _, table in typed(blocks, fields, self.path, errors, remedy))


prepare_pairs = recipe_of("pairs", PairsSource)


def _all_columns(schema: pa.Schema, dataset: str) -> tuple[dict[str, str], list[Field]]:
    """Chooses the sides of pairs by their usual names, and all other columns of texts and numbers."""
    names = usual_pair_columns(schema.names)
    require_columns({**names, **dict.fromkeys(schema.names)}, PAIRS.names, dataset)
    fields = [Field(name) for name in names]
    taken = set(names.values())
    for column in schema:
        integer = pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)
        kind = pa.int64() if integer else pa.float64() if pa.types.is_floating(column.type) else pa.string()
        if column.name not in taken and _NAME.fullmatch(column.name) and (is_text(column.type) or kind != pa.string()):
            names[column.name] = column.name
            fields.append(Field(column.name, kind, may_be_null=True))
    return names, fields
