"""Paraphrase pairs from a TSV, CSV, JSON lines or Parquet file, or from anything that `load_dataset` opens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import UsageError
from ...messages import log
from ...settings import is_given, setting
from ...text.normalization import decode_moses
from ..decontamination import DecontaminationSettings
from ..folder import check_split_name
from ..labels import LABEL, SCORE, PairLabels, find_label, find_score
from ..pair_rows import NEGATIVES
from ..readers import LINE
from ..records import require_once, texts_of_column
from ..rows import Rows, open_rows
from ..schema import PAIRS, is_number, require_columns, usual_pair_columns
from ..text_blocks import FormatSettings, LineErrors
from ..text_files import Field, HeaderSettings, header_of, parse_column, read_tsv
from .preparation import recipe_of
from .source import LineErrorSettings, MosesSettings, OriginSettings, Part, SampleSettings, Source

_NAME = re.compile(r"[A-Za-z]\w*")
_WORDING = {LABEL: "a label of paraphrases or of other pairs, such as 1 and 0", SCORE: "a number"}
_REMEDY = {
    LABEL: "fix it, name the label of paraphrases with --positive-label, or leave a header out with --header yes",
    SCORE: "fix it, name the fields with --columns, or leave a header out with --header yes",
}
_KINDS = ("tsv", "csv", "jsonl", "parquet", "dataset")
_NAME_IT = "name it with --columns, e.g. --columns sentence1=…,sentence2=…"


@dataclass(kw_only=True)
class PairsSource(
    Source,
    SampleSettings,
    LineErrorSettings,
    MosesSettings,
    DecontaminationSettings,
    OriginSettings,
    HeaderSettings,
    FormatSettings,
):
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
        "output columns, separated by commas or spaces: sentence1, sentence2, score (a number), label (1 = "
        "paraphrase), and others. For a --tsv file without header, list the fields in their order, with _ for a "
        "field to skip (at the end of a line it may be absent); for other formats, write name=theirs if the file has "
        "another name. By default the usual names are recognised: anchor and positive, text1 and text2, question1 and "
        "question2, premise and hypothesis, and columns of labels, scores and negatives",
        "sentence1,sentence2",
        separator=",",
    )
    keep_columns: bool = setting("keep all other columns too", False)
    positive_label: str | None = setting(
        "the label, or the name of the class, that means paraphrase, where it is not 1, true, paraphrase, duplicate "
        "or entailment; other labels become 0",
        None,
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

    def _entries(self) -> list[tuple[str, str]]:
        """Return the names in `columns`, each with its name in a file whose columns have names."""
        entries = [(entry.strip(), entry.strip()) for entry in self.columns.split(",")]
        if self.kind != "tsv":
            parts = [name.partition("=") for name, _ in entries]
            entries = [(name.strip(), theirs.strip() if sign else name.strip()) for name, sign, theirs in parts]
        kept = [name for name, _ in entries if name != "_" or self.kind != "tsv"]
        sides = {*PAIRS.names} <= set(kept) and len(set(kept)) == len(kept)
        if not sides or not all(_NAME.fullmatch(name) for name in kept) or not all(theirs for _, theirs in entries):
            problem = f"--columns `{self.columns}` must name sentence1 and sentence2, each name once"
            how = "e.g. --columns sentence1,sentence2,_ for the fields of --tsv, elsewhere names or name=theirs"
            raise UsageError(problem, remedy=how)
        return entries

    def parts(self) -> list[Part]:
        """Return the only part; `sentence1` and `sentence2` are its first columns."""
        files = [] if self.kind == "dataset" else [self.path]
        return [Part(self.split, self._schema, files, self._read, training=True)]

    def check(self) -> None:
        """Check everything that can be checked before reading."""
        self._entries()
        check_split_name(self.split)
        super().check()

    @cached_property
    def _rows(self) -> Rows:
        if self.kind == "dataset":
            return open_rows(self.dataset, self.split, subset=self.subset, roles=(), **self.format_options())
        errors = LineErrors(self.on_error)
        return open_rows(self.path, roles=(), kind=self.kind, errors=errors, **self.format_options())

    @cached_property
    def _header(self) -> list[str] | None:
        """The names in the first line of --tsv, if it names the sides of pairs."""
        names = [name for name, _ in self._entries()]
        if self.kind != "tsv" or self.header == "no":
            return None
        return header_of(self.path, names, self.encoding or "utf-8")

    @cached_property
    def _names(self) -> dict[str, str]:
        """The names of the columns to make, the sides first, each with its name in the data."""
        entries = {ours: theirs for ours, theirs in self._entries() if ours != "_" or self.kind != "tsv"}
        present = (self._header or []) if self.kind == "tsv" else self._rows.columns
        if not is_given(self, "columns") and (usual := usual_pair_columns(present)):
            entries = usual
            for ours, theirs in (
                (LABEL, find_label(present, usual.values())),
                (SCORE, find_score(present, usual.values())),
            ):
                entries |= {ours: theirs} if theirs else {}
            entries |= {name: name for name in present if NEGATIVES.fullmatch(name)}
        if self.kind != "tsv":
            require_columns(present, entries.values(), str(self.path), remedy=_NAME_IT)
            for theirs in entries.values():
                require_once(present, theirs, self.path, _NAME_IT)
        taken = {*entries, *entries.values()}
        others = [name for name in present if name not in taken and _NAME.fullmatch(name)]
        if self.keep_columns:
            entries |= {name: name for name in others}
        elif (label := find_label(present, entries.values())) in others:
            log(
                f"{self.path}: the column {label} is left out, so that all pairs are taken for paraphrases",
                warning=True,
            )
        elif others:
            log(f"{self.path}: columns that are left out: {', '.join(others)} (--keep-columns keeps them)")
        return {name: entries.pop(name) for name in PAIRS.names} | entries

    @cached_property
    def _schema(self) -> pa.Schema:
        kinds = {**dict.fromkeys(PAIRS.names, pa.string()), LABEL: pa.int64(), SCORE: pa.float64()}
        theirs = pa.schema([]) if self.kind == "tsv" else self._rows.schema
        return pa.schema(
            [
                (name, kinds.get(name) or (pa.string() if self.kind == "tsv" else theirs.field(column).type))
                for name, column in self._names.items()
            ]
        )

    def _read(self, errors: LineErrors) -> Iterator[pa.Table]:
        labels = PairLabels(LABEL, self._class_names(), positive=self.positive_label, path=str(self.path))
        for lines, columns in self._blocks(errors):
            good = np.ones(len(lines), bool)
            for name in PAIRS.names:
                columns[name] = texts_of_column(name, columns[name], self.path, _NAME_IT)
                if self.moses_escapes:
                    columns[name] = decode_moses(columns[name])
            for name in (LABEL, SCORE):
                if name not in columns:
                    continue
                values = columns[name]
                if name == LABEL:
                    columns[name], fits = labels.try_read(values)
                elif is_number(values.type):
                    fits = pc.fill_null(pc.is_finite(values), True).to_numpy(zero_copy_only=False)
                else:
                    columns[name], fits = parse_column(values, Field(SCORE, pa.float64(), may_be_null=True))
                for row in np.flatnonzero(good & ~fits):
                    problem = f"{name} `{values[int(row)]}` is not {_WORDING[name]}"
                    errors.handle(problem, self.path, int(lines[row]), _REMEDY[name])
                good &= fits
            table = pa.table(columns).select(self._schema.names).cast(self._schema)
            yield table if good.all() else table.filter(pa.array(good))
        labels.require_positive()

    def _class_names(self) -> dict[str, list[str]]:
        names = {} if self.kind == "tsv" else self._rows.class_names
        return {LABEL: names.get(self._names.get(LABEL, ""), [])}

    def _blocks(self, errors: LineErrors) -> Iterator[tuple[np.ndarray, dict[str, Any]]]:
        """Stream the columns of the data under our names, with the numbers of their lines or rows."""
        if self.kind == "tsv":
            ours = {theirs: name for name, theirs in self._names.items()}
            fields = [ours.get(name, "_") for name in self._header or ()]
            if self._header is None or is_given(self, "columns"):
                fields = [name for name, _ in self._entries()]
            tsv = read_tsv(self.path, fields, errors, header=self.header, encoding=self.encoding or "utf-8")
            for lines, columns in tsv:
                for name in {*columns} - {*PAIRS.names}:
                    columns[name] = pc.if_else(pc.equal(columns[name], ""), None, columns[name])
                yield lines, columns
            return
        reader = self._rows.reader
        reader.errors = errors
        row = 1
        for batch in reader.batches([LINE, *self._names.values()] if reader.has_lines else [*self._names.values()]):
            lines = np.arange(row, row + batch.num_rows)
            row += batch.num_rows
            columns = dict(zip(self._names, batch.columns[reader.has_lines :], strict=True))
            yield batch.column(0).to_numpy() if reader.has_lines else lines, columns


prepare_pairs = recipe_of("pairs", PairsSource)
