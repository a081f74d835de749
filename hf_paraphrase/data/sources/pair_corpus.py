"""From a TSV, CSV, JSON lines or Parquet file to the rows of a paraphrase set, for the builder and `prepare pairs`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from ...errors import InputError, UsageError
from ..cleaning import has_words
from ..containment import DEFAULT_SHARE, check_ngrams
from ..decontamination import load_fingerprints
from ..languages import check_language
from ..schema import PAIRS
from ..skipped_lines import SkippedLines
from ..temporary_rows import TemporaryRows
from ..text_files import LineErrors, check_readable, read_fields
from ..typed_fields import Field, parse_column
from .pair_files import read_csv, read_jsonl, read_parquet

_NAME = re.compile(r"[A-Za-z]\w*")
_TYPES = {name: Field(name, kind) for name, kind in (("score", pa.float64()), ("label", pa.int64()))}
_READERS = {"csv": read_csv, "jsonl": read_jsonl, "parquet": read_parquet}


@dataclass
class PairOptions:
    """What to read and what to keep; the flags of `prepare pairs` have the same names and meanings.

    Attributes:
        tsv: The file: tab-separated fields without header and quoting (plain or compressed).
        csv: Or: a file with commas, a header and quotes.
        jsonl: Or: a file with one JSON object a line.
        parquet: Or: a Parquet file.
        columns: The columns to make: `sentence1` and `sentence2`; `score` (a number) for a graded set and `label` (a
            whole number, 1 = paraphrase) for a labelled one; any other name becomes a column of strings. For `tsv`
            these are the fields in their order, with `_` for one to leave out; elsewhere `name=theirs` says what a
            column is called in the file, and columns that are not named are left out.
        lang: Language code of the sentences.
        skip_header: Leave the first line of `tsv` out.
        decontaminate: Evaluation files or folders, or fingerprint lists: pairs of which a sentence is in one of them
            are left out.
        decontaminate_ngrams: Words in an n-gram, to compare by n-grams as well; 0 for whole sentences only.
        decontaminate_share: The least share of the n-grams of a side that must occur in one evaluation set.
        on_error: `raise` at a malformed line, or `skip` it.
    """

    tsv: str = ""
    csv: str = ""
    jsonl: str = ""
    parquet: str = ""
    columns: str = "sentence1,sentence2"
    lang: str = "en"
    skip_header: bool = False
    decontaminate: list[str] = field(default_factory=list)
    decontaminate_ngrams: int = 0
    decontaminate_share: float = DEFAULT_SHARE
    on_error: str = "raise"

    @property
    def kind(self) -> str:
        """The layout: `tsv`, `csv`, `jsonl` or `parquet`.

        Raises:
            UsageError: If none or several were given.
        """
        given = [name for name in ("tsv", *_READERS) if getattr(self, name)]
        if len(given) != 1:
            raise UsageError("give one of --tsv, --csv, --jsonl and --parquet", remedy="name one file")
        return given[0]

    @property
    def path(self) -> Path:
        """The raw file."""
        return Path(getattr(self, self.kind))

    def their_names(self) -> dict[str, str]:
        """Returns for each column its name in a file whose columns have names.

        Raises:
            UsageError: As :meth:`field_names`, and for a name without its counterpart.
        """
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
        """Returns the names in `columns`.

        Raises:
            UsageError: If a name is missing, repeated or not a word.
        """
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

    def check(self) -> None:
        """Checks everything that can be checked before reading.

        Raises:
            UsageError: For settings that do not fit together.
            InputError: For a missing or empty file, or a language code that is none.
        """
        if self.kind != "tsv":
            if self.skip_header:
                raise UsageError(
                    "--skip-header is for --tsv", remedy=f"leave it out: --{self.kind} has names by itself"
                )
            self.their_names()
        self.field_names()
        LineErrors(self.on_error)
        check_ngrams(self.decontaminate, self.decontaminate_ngrams, self.decontaminate_share)
        check_language(self.lang, "--lang")
        check_readable(self.path)


class PairCorpus(TemporaryRows):
    """A parsed paraphrase set and what became of every line. Use it as a context manager.

    Args:
        options: What to read and what to keep.
        work: A folder for temporary rows, as large as the raw text; the system's by default.
        progress: Called with the number of lines after each block.
        listing: A file for the list of all lines left out under `on_error="skip"`; none by default.

    Attributes:
        counts: `lines`, then how many of them each rule left out (`header`, `malformed`, `empty_side`,
            `contaminated`), and `rows`; `lines` is the sum of the others.
        contamination: For each evaluation set, how many pairs it met.
        malformed: The first lines left out under `on_error="skip"`.
        checked: The evaluation sets that the pairs were checked against.

    Raises:
        UsageError: For settings that do not fit together.
        InputError: For a file that is missing or malformed, and if no pair is left.
    """

    def __init__(
        self,
        options: PairOptions,
        *,
        work: Path | None = None,
        progress: Callable[[int], object] | None = None,
        listing: Path | None = None,
    ) -> None:
        options.check()
        self.options = options
        self.schema = options.schema()
        self.counts = {"lines": 0, "header": int(options.skip_header), "malformed": 0, "empty_side": 0}
        self.contamination: dict[str, int] = {}
        self.malformed: list[str] = []
        self._fingerprints = (
            load_fingerprints(
                options.decontaminate, ngrams=options.decontaminate_ngrams, share=options.decontaminate_share
            )
            if options.decontaminate
            else None
        )
        self.checked = [] if self._fingerprints is None else list(self._fingerprints.sets)
        super().__init__("pairs-", work)
        self._store = self._new_store("rows.arrow", self.schema)
        try:
            with SkippedLines(listing) as skipped:
                self._read(progress or (lambda lines: None), skipped)
        except BaseException:
            self.close()
            raise

    @property
    def num_rows(self) -> int:
        """The number of pairs."""
        return len(self._store)

    def batches(self) -> Iterator[pa.Table]:
        """Streams the pairs in the order of the file."""
        for _, table in self._store.batches():
            yield table

    def _read(self, progress: Callable[[int], object], skipped: SkippedLines) -> None:
        errors = LineErrors(self.options.on_error, record=skipped.record)
        path = self.options.path
        if self._fingerprints is not None:
            self.counts["contaminated"] = 0
        parsed = 0
        for lines, columns in self._blocks(path, errors):
            parsed += len(lines)
            table = self._typed(lines, columns, path, errors)
            sides = [has_words(table.column(name).combine_chunks()) for name in PAIRS.names]
            filled = np.logical_and(*sides)
            self.counts["empty_side"] += int((~filled).sum())
            table = table.filter(pa.array(filled))
            if self._fingerprints is not None:
                met, met_by = self._fingerprints.match([table.column(name) for name in PAIRS.names])
                self.counts["contaminated"] += int(met.sum())
                for name, count in met_by.items():
                    self.contamination[name] = self.contamination.get(name, 0) + count
                table = table.filter(pa.array(~met))
            self._store.append(table)
            progress(len(lines))
        # A line with a malformed number was split into fields all right: it is among both.
        self.counts["malformed"] = errors.count
        self.counts["rows"] = len(self._store)
        self.counts["lines"] = sum(count for rule, count in self.counts.items() if rule != "lines")
        self.malformed = errors.first
        if not len(self._store):
            left_out = ", ".join(f"{name} {count}" for name, count in self.counts.items() if count)
            raise InputError(f"no pair is left ({left_out})", path=path, remedy="check --columns and the file")

    def _blocks(self, path: Path, errors: LineErrors) -> Iterator[tuple[np.ndarray, dict[str, pa.Array]]]:
        options = self.options
        if options.kind == "tsv":
            return read_fields(path, options.field_names(), errors, header_lines=self.counts["header"])
        return _READERS[options.kind](path, options.their_names(), errors)

    def _typed(self, lines: np.ndarray, columns: dict[str, pa.Array], path: Path, errors: LineErrors) -> pa.Table:
        """Turns scores and labels into numbers; rows where that fails are met as errors and left out."""
        good = np.ones(len(lines), dtype=bool)
        columns = dict(columns)
        for name, expected in _TYPES.items():
            if name not in columns:
                continue
            numbers, usable = parse_column(columns[name], expected)
            for row in np.flatnonzero(~usable & good):
                errors.meet(
                    f"{name} `{columns[name][int(row)].as_py()}` is not {expected.wording}",
                    path,
                    int(lines[row]),
                    "mend it, name the fields with --columns, or leave a header out with --skip-header",
                )
            good &= usable
            columns[name] = numbers
        table = pa.table({name: columns[name] for name in self.schema.names}, schema=self.schema)
        return table if good.all() else table.filter(pa.array(good))
