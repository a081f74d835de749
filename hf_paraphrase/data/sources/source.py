"""What all sources of raw data have in common: parts that are read, checked, and given out as Arrow tables.

A source says which parts it has (a configuration, a split, a schema, the files and how to read them). The rest is the
same for all: rows with an empty side go, training pairs that occur in evaluation sets go, negatives are drawn, and it
is counted what became of every line. The `datasets` builders and the `prepare` commands both run this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa

from ...errors import InputError, UsageError
from ..cleaning import has_words
from ..containment import DEFAULT_SHARE, check_ngrams
from ..decontamination import Fingerprints, load_fingerprints
from ..parallel import prefetched
from ..random_negatives import random_negatives
from ..row_selection import text_keys
from ..row_store import RowStore
from ..schema import PAIRS
from ..skipped_lines import SkippedLines
from ..temporary_rows import TemporaryRows
from ..text_files import LineErrors, check_readable

Reader = Callable[[LineErrors, Counter[str]], Iterator[pa.Table]]
"""Reads one file, or files that belong line to line, into tables; counts what it leaves out by design under a name."""

Finish = Callable[[], tuple[pa.Schema, Callable[[pa.Table], pa.Table]]]
"""Called after reading: the schema that only the whole file tells, and how stored tables are brought to it."""


@dataclass(frozen=True)
class Part:
    """One split of one configuration of a source.

    Attributes:
        split: Its name, e.g. `train`.
        schema: Of the rows that the readers give.
        readers: One for each file, or for files that belong line to line; read in their order.
        files: The raw files.
        configuration: The configuration it belongs to.
        training: Whether pairs that occur in evaluation sets are to be left out, and negatives to be drawn.
        texts: The columns that must not be empty.
        class_names: For a column of class numbers, the names of the classes.
        finish: For a schema that only the whole file tells.
        may_be_empty: Whether a part without rows is no sign of a wrong file.
    """

    split: str
    schema: pa.Schema
    readers: tuple[Reader, ...]
    files: tuple[Path, ...]
    configuration: str = "default"
    training: bool = False
    texts: tuple[str, ...] = ("sentence1", "sentence2")
    class_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    finish: Finish | None = None
    may_be_empty: bool = False

    @property
    def name(self) -> str:
        """The name of its shards: the split, after the configuration where that is not the default one."""
        return self.split if self.configuration == "default" else f"{self.configuration}.{self.split}"


@dataclass
class SourceOptions:
    """What to read; each source adds its own.

    Attributes:
        on_error: `raise` at a malformed line, or `skip` it.
    """

    CONFIGURATIONS: ClassVar[tuple[str, ...]] = ("default",)
    PATHS: ClassVar[tuple[str, ...]] = ("data_dir",)

    on_error: str = "raise"

    def parts(self) -> list[Part]:
        """Lists the parts that are there.

        Raises:
            UsageError: For settings that do not fit together.
            InputError: If there is none.
        """
        raise NotImplementedError

    def missing(self) -> list[str]:
        """Names what belongs to the source and is not there."""
        return []

    def inputs(self) -> list[Path]:
        """Lists everything that is read, for `provenance.json`."""
        files = [path for part in self.parts() for path in part.files]
        return list(dict.fromkeys([*files, *map(Path, getattr(self, "decontaminate", []))]))

    def check(self) -> None:
        """Checks everything that can be checked before reading.

        Raises:
            UsageError: For settings that do not fit together.
            InputError: For a file that is missing or empty.
        """
        LineErrors(self.on_error)
        if (getattr(self, "negatives", None) or 0) < 0:
            raise UsageError("--negatives is a seed, 0 or more", remedy="e.g. --negatives 1")
        for path in dict.fromkeys(path for part in self.parts() for path in part.files):
            check_readable(path)


@dataclass
class TrainingSourceOptions(SourceOptions):
    """What sources of training pairs add.

    Attributes:
        decontaminate: Evaluation files or folders, or fingerprint lists: training pairs of which a sentence is in one
            of them are left out.
        decontaminate_ngrams: Words in an n-gram, to compare by n-grams as well; 0 for whole sentences only.
        decontaminate_share: The least share of the n-grams of a side that must occur in one evaluation set.
        negatives: A seed: as many pairs of sentences that do not belong together are added, with `label` 0, and the
            others get `label` 1 (Sjöblom, Creutz and Aulamo 2018, section 3.2). None: no negatives.
    """

    decontaminate: list[str] = field(default_factory=list)
    decontaminate_ngrams: int = 0
    decontaminate_share: float = DEFAULT_SHARE
    negatives: int | None = None

    def check(self) -> None:
        """Checks the rules of decontamination too."""
        check_ngrams(self.decontaminate, self.decontaminate_ngrams, self.decontaminate_share)
        super().check()


class SourceCorpus(TemporaryRows):
    """The rows of a source, and what became of every line. Use it as a context manager.

    Args:
        options: What to read.
        configuration: Only the parts of this configuration; all by default.
        work: A folder for temporary rows, as large as the raw text; the system's by default.
        progress: Called with the number of rows after each block.
        listing: A file for the list of all lines left out under `on_error="skip"`; none by default.

    Attributes:
        parts: The parts.
        counts: For each part by name: `lines`, then how many of them each rule left out (`malformed`, those of the
            source, `empty_side`, `contaminated`), and `rows`; `lines` is the sum of the others.
        negatives: For each part by name, the number of negatives drawn; only where they were asked for.
        contamination: For each evaluation set, how many pairs it met.
        malformed: The first lines left out under `on_error="skip"`.
        checked: The evaluation sets that the pairs were checked against.

    Raises:
        UsageError: For settings that do not fit together.
        InputError: For files that are missing or malformed, and if no row of a part is left.
    """

    def __init__(
        self,
        options: SourceOptions,
        *,
        configuration: str | None = None,
        work: Path | None = None,
        progress: Callable[[int], object] | None = None,
        listing: Path | None = None,
    ) -> None:
        options.check()
        self.options = options
        self.parts = [part for part in options.parts() if configuration in {None, part.configuration}]
        if not self.parts:
            raise InputError(f"nothing is there for the configuration `{configuration}`", path=_place(options))
        self.counts: dict[str, dict[str, int]] = {}
        self.negatives: dict[str, int] = {}
        self.contamination: dict[str, int] = {}
        self.malformed: list[str] = []
        self._fingerprints: Fingerprints | None = None
        if isinstance(options, TrainingSourceOptions) and options.decontaminate:
            self._fingerprints = load_fingerprints(
                options.decontaminate, ngrams=options.decontaminate_ngrams, share=options.decontaminate_share
            )
        self.checked = [] if self._fingerprints is None else list(self._fingerprints.sets)
        self._progress = progress or (lambda rows: None)
        super().__init__("source-", work)
        self._stores: dict[str, RowStore] = {}
        self._schemas: dict[str, pa.Schema] = {}
        self._finished: dict[str, Callable[[pa.Table], pa.Table]] = {}
        self._pairing: dict[str, np.ndarray] = {}
        self._skipped = SkippedLines(listing)
        # A file that several parts read shall not be listed several times.
        self._listed: set[tuple[Path, int]] = set()
        try:
            with self._skipped:
                for part in self.parts:
                    self._read(part)
        except BaseException:
            self.close()
            raise

    def part(self, name: str) -> Part:
        """Returns the part whose shards have this name."""
        return next(part for part in self.parts if part.name == name)

    def schema(self, part: Part) -> pa.Schema:
        """Returns the schema of the rows of a part."""
        schema = self._schemas[part.name]
        if part.name in self._pairing and "label" not in schema.names:
            schema = schema.append(pa.field("label", pa.int64()))
        return schema

    def num_rows(self, part: Part) -> int:
        """Returns the number of rows of a part, negatives included."""
        return len(self._stores[part.name]) + self.negatives.get(part.name, 0)

    def batches(self, part: Part) -> Generator[pa.Table, None, None]:
        """Streams the rows of a part in the order of the file, then the negatives."""
        with closing(prefetched(self._batches(part))) as tables:
            yield from tables

    def _batches(self, part: Part) -> Iterator[pa.Table]:
        schema = self.schema(part)
        finish = self._finished.get(part.name, lambda table: table)
        pairing = self._pairing.get(part.name)
        for _, stored in self._stores[part.name].batches():
            table = finish(stored)
            if pairing is not None:
                table = _with_column(table, "label", pa.repeat(pa.scalar(1, pa.int64()), table.num_rows))
            yield table.select(schema.names).cast(schema)
        if pairing is not None:
            yield from self._negative_batches(part, schema, pairing)

    def _read(self, part: Part) -> None:
        store = self._stores[part.name] = self._new_store(f"{len(self._stores)}.arrow", part.schema)
        counts = self.counts[part.name] = {"lines": 0, "malformed": 0}
        left_out: Counter[str] = Counter()
        empty = contaminated = 0
        for reader in part.readers:
            errors = LineErrors(self.options.on_error, record=self._record)
            # One thread reads and parses, this one checks and stores.
            with closing(prefetched(reader(errors, left_out))) as tables:
                for table in tables:
                    self._progress(table.num_rows)
                    table = _fitted(table, part.schema)
                    filled = np.logical_and.reduce(
                        [has_words(table.column(name).combine_chunks()) for name in part.texts]
                    )
                    empty += int((~filled).sum())
                    table = table if filled.all() else table.filter(pa.array(filled))
                    if part.training and self._fingerprints is not None:
                        met, met_by = self._fingerprints.match([table.column(name) for name in part.texts])
                        contaminated += int(met.sum())
                        for name, count in met_by.items():
                            self.contamination[name] = self.contamination.get(name, 0) + count
                        table = table if not met.any() else table.filter(pa.array(~met))
                    store.append(table)
            counts["malformed"] += errors.count
            self.malformed += [text for text in errors.first if text not in self.malformed]
        counts |= left_out
        counts["empty_side"] = empty
        if part.training and self._fingerprints is not None:
            counts["contaminated"] = contaminated
        counts["rows"] = len(store)
        counts["lines"] = sum(count for rule, count in counts.items() if rule != "lines")
        if not len(store) and not part.may_be_empty:
            rules = ", ".join(f"{name} {count}" for name, count in counts.items() if count and name != "lines")
            raise InputError(f"no row of {part.name} is left ({rules or 'none was there'})", path=part.files[0])
        self._schemas[part.name] = part.schema
        if part.finish is not None:
            self._schemas[part.name], self._finished[part.name] = part.finish()
        seed = getattr(self.options, "negatives", None)
        if part.training and seed is not None:
            self._draw_negatives(part, seed)

    def _record(self, path: Path, line: int, reason: str) -> None:
        if (path, line) not in self._listed:
            self._listed.add((path, line))
            self._skipped.record(path, line, reason)

    def _draw_negatives(self, part: Part, seed: int) -> None:
        store = self._stores[part.name]
        keys: list[list[np.ndarray]] = [[], []]
        for _, table in store.batches(PAIRS.names):
            for side, name in zip(keys, PAIRS.names, strict=True):
                side.append(text_keys(table.column(name).combine_chunks()))
        try:
            pairing = random_negatives(np.concatenate(keys[0]), np.concatenate(keys[1]), seed)
        except ValueError as error:
            raise InputError(f"--negatives: {error}", path=part.files[0], remedy="give more pairs") from error
        self._pairing[part.name] = pairing
        self.negatives[part.name] = len(pairing)

    def _negative_batches(self, part: Part, schema: pa.Schema, pairing: np.ndarray) -> Iterator[pa.Table]:
        store = self._stores[part.name]
        others = store.gather(pairing)
        finish = self._finished.get(part.name, lambda table: table)
        for own, other in zip(store.gather(np.arange(len(pairing))), others, strict=True):
            own = finish(own)
            # What describes a pair as a whole does not hold for the new one; what is the same in all pairs does.
            columns = {"sentence1": own.column("sentence1"), "sentence2": other.column("sentence2")}
            columns["label"] = pa.repeat(pa.scalar(0, pa.int64()), own.num_rows)
            if "lang" in schema.names:
                columns["lang"] = own.column("lang")
            yield pa.table(
                [columns.get(name, pa.nulls(own.num_rows, schema.field(name).type)) for name in schema.names],
                schema=schema,
            )


def _fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Orders and casts columns; one that a file does not have is null."""
    columns = [
        table.column(name) if name in table.column_names else pa.nulls(table.num_rows, schema.field(name).type)
        for name in schema.names
    ]
    return pa.table(columns, names=schema.names).cast(schema)


def _with_column(table: pa.Table, name: str, column: pa.Array) -> pa.Table:
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, column)
    return table.append_column(name, column)


def _place(options: SourceOptions) -> str | None:
    return next((str(getattr(options, name)) for name in options.PATHS if getattr(options, name, None)), None)
