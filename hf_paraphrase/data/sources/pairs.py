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

from ...artefacts.fsspec_path import to_path
from ...errors import UsageError
from ...messages import as_given, log
from ...settings import is_given, setting
from ...text.normalization import decode_moses
from ..folder import check_split_name
from ..pair_rows import LABEL, NEGATIVES, SCORE, PairLabels, find_label, find_score
from ..readers import LINE
from ..rows import Rows, open_rows
from ..schema import PAIRS, is_number, require_columns, usual_pair_columns
from ..text_blocks import FormatSettings, LineErrors
from ..text_files import Field, header_of, parse_column, read_tsv, texts_of_column
from .preparation import recipe_of
from .source import Part, Source, UserFileSettings

_NAME = re.compile(r"[A-Za-z]\w*")
_WORDING = {LABEL: "a label of paraphrases or of other pairs, such as 1 and 0", SCORE: "a number"}
_REMEDY = {
    LABEL: "fix it, or name the label of paraphrases with --positive-label",
    SCORE: "fix it, or name the fields with --columns",
}
_KINDS = ("tsv", "csv", "jsonl", "parquet", "dataset")
_NAME_IT = "name it with --columns, e.g. --columns sentence1=…,sentence2=…"


@dataclass(kw_only=True)
class PairsSource(Source, UserFileSettings, FormatSettings):
    """Make a paraphrase data folder from a TSV, CSV, JSON lines or Parquet file, or a dataset on the Hub.

    Text is UTF-8, plain or .gz, .bz2, .xz, .zst.
    """

    SUMMARY: ClassVar[str] = (
        "paraphrase pairs from a TSV, CSV, JSON lines or Parquet file or from the Hub, optionally with scores or "
        "labels"
    )
    TEMPLATE: ClassVar[str] = "pairs"

    tsv: str = setting("a file of tab-separated fields, without quoting, one pair per line", "", path=True)
    csv: str = setting(
        "a file with commas, semicolons or tabs, a header, and doubled quotes inside quoted fields", "", path=True
    )
    jsonl: str = setting("a file with one JSON object per line", "", path=True)
    parquet: str = setting("a Parquet file", "", path=True)
    dataset: str = setting(
        "a folder of Parquet, JSON or CSV files that load_dataset opens; --split chooses its split",
        "",
        path=True,
        dataset=True,
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
        """The format: `tsv`, `csv`, `jsonl`, `parquet` or `dataset`."""
        given = [name for name in _KINDS if getattr(self, name)]
        if len(given) != 1:
            raise UsageError("give one of --tsv, --csv, --jsonl, --parquet and --dataset", remedy="name one file")
        return given[0]

    @property
    def path(self) -> Path:
        """The raw file, or the name of the data set."""
        return to_path(getattr(self, self.kind))

    @property
    def title(self) -> str:
        """The name of the file."""
        return f"Paraphrase pairs ({Path(as_given(str(self.path))).name})"

    def _entries(self) -> list[tuple[str, str]]:
        """Return the names in `columns`, each with its name in the data."""
        entries: list[tuple[str, str]] = []
        for entry in map(str.strip, self.columns.split(",")):
            name, sign, theirs = ("" if self.kind == "tsv" else entry).partition("=")
            entries.append((name.strip(), theirs.strip()) if sign else (entry, entry))
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
        theirs = {} if self.kind == "tsv" else self._rows.class_names
        names = {ours: tuple(theirs[column]) for ours, column in self._names.items() if column in theirs}
        names.pop(LABEL, None)  # its values become 1 and 0
        return [Part(check_split_name(self.split), self._schema, files, self._read, training=True, class_names=names)]

    def check(self) -> None:
        """Check everything that can be checked before reading."""
        self._entries()
        check_split_name(self.split)
        if (self.decimal or self.thousands) and self.kind in ("tsv", "jsonl", "parquet"):
            remedy = "leave them out; a file with tabs and a header may be given as --csv"
            raise UsageError(f"--decimal and --thousands are not for --{self.kind}", remedy=remedy)
        super().check()

    @cached_property
    def _rows(self) -> Rows:
        options = {"roles": (), "errors": LineErrors(self.on_error), **self.format_options()}
        if self.kind == "dataset":
            return open_rows(self.dataset, self.split, subset=self.subset, **options)
        return open_rows(self.path, kind=self.kind, **options)

    @cached_property
    def _header(self) -> list[str] | None:
        """The names in the first line of --tsv, if the usual names of pair columns are among them."""
        names = [name for name, _ in self._entries()]
        if self.kind != "tsv" or self.header == "no":
            return None
        return header_of(self.path, names, self.encoding or "utf-8")

    @cached_property
    def _names(self) -> dict[str, str]:
        """The names of the columns to make, `sentence1` and `sentence2` first, each with its name in the data."""
        entries = {ours: theirs for ours, theirs in self._entries() if ours != "_" or self.kind != "tsv"}
        present = (self._header or []) if self.kind == "tsv" else self._rows.columns
        if not is_given(self, "columns") and (usual := usual_pair_columns(present)):
            entries = usual
            for ours, find in ((LABEL, find_label), (SCORE, find_score)):
                if theirs := find(present, usual.values()):
                    entries[ours] = theirs
            entries |= {name: name for name in present if NEGATIVES.fullmatch(name)}
        if self.kind != "tsv":
            require_columns(present, entries.values(), str(self.path), remedy=_NAME_IT)
        taken = {*entries, *entries.values()}
        others = [name for name in dict.fromkeys(present) if name not in taken]
        if self.keep_columns:
            entries |= {name: name for name in others}
        elif (label := find_label(present, entries.values())) in others:
            consequence = "so that all pairs count as paraphrases"
            log(f"{self.path}: the column {label} is left out, {consequence}", warning=True)
        elif others:
            log(f"{self.path}: columns that are left out: {', '.join(others)} (--keep-columns keeps them)")
        return {name: entries.pop(name) for name in PAIRS.names} | entries

    @cached_property
    def _schema(self) -> pa.Schema:
        kinds = {**dict.fromkeys(PAIRS.names, pa.string()), LABEL: pa.int64(), SCORE: pa.float64()}
        theirs = {} if self.kind == "tsv" else {field.name: field.type for field in self._rows.schema}
        columns = self._names.items()
        return pa.schema([(name, kinds.get(name) or theirs.get(column, pa.string())) for name, column in columns])

    def _read(self, errors: LineErrors) -> Iterator[pa.Table]:
        classes = [] if self.kind == "tsv" else self._rows.class_names.get(self._names.get(LABEL, ""), [])
        labels = PairLabels(LABEL, {LABEL: classes}, positive=self.positive_label, path=str(self.path))
        is_header = ", or say that it is a header with --header yes" if self.kind == "tsv" else ""
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
                    errors.handle(problem, self.path, int(lines[row]), _REMEDY[name] + is_header)
                good &= fits
            table = pa.table(columns).select(self._schema.names).cast(self._schema)
            yield table if good.all() else table.filter(pa.array(good))
        labels.finish()

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
        for batch in reader.batches([*([LINE] if reader.has_lines else []), *self._names.values()]):
            lines = batch.column(0).to_numpy() if reader.has_lines else np.arange(row, row + batch.num_rows)
            row += batch.num_rows
            yield lines, dict(zip(self._names, batch.columns[reader.has_lines :], strict=True))


prepare_pairs = recipe_of("pairs", PairsSource)
