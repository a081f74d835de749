"""From the files of a source to the rows of its parts: reading, cleaning, parting, decontamination, order.

Every source runs through this, by `prepare` and by its `datasets` builder. Raw files are read once; the rows that pass
the rules wait in temporary Arrow files, and which of them go where is decided on arrays of 8 bytes a row, so memory
stays flat as the corpus grows. One thread reads, several clean, in blocks of a few megabytes.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from ...errors import InputError
from ..cleaning import has_words
from ..decontamination import DecontaminationSettings, Decontaminator
from ..fingerprints import normalise_all
from ..parallel import available_cores, mapped_in_order, prefetched
from ..random_negatives import random_negatives
from ..row_selection import also_among, first_occurrences, hold_out, repeat_keys, sample, shuffled, text_keys
from ..row_store import RowStore, TemporaryRows
from ..schema import PAIRS, with_column
from ..text_files import LineErrors, SkippedLines
from .source import Part, Parting, Source

# Blocks wait for the workers, so more of them would take more memory; the one reading thread keeps no more than these
# busy.
_MOST_WORKERS = 4
_ORDER = {"train": 0, "validation": 1, "test": 2}

Keys = dict[str, np.ndarray]
"""64-bit keys of the rows (rows,), uint64, by what they are for: `repeats`, `drawn` or `disjoint`."""


class Corpus(TemporaryRows):
    """The rows of a source, and what became of every line. Use it as a context manager.

    Attributes:
        parts: The parts by the names of their shards, those that are drawn among them.
        counts: For each part that was read from files: `lines`, then how many of them each rule left out or moved
            (`malformed`, those of the source and of its cleaning, `empty_side`, `duplicate`, `to_test`,
            `to_validation`, `held_out_source`, `contaminated`, `not_sampled`), and `rows`; `lines` is the sum of the
            others. For a drawn part: `rows`.
        negatives: For each part, the number of negatives drawn; only where they were asked for.
        contamination: For each evaluation set, how many training rows it matched.
        malformed: The first lines left out under `on_error="skip"`.
        checked: The evaluation sets that the training rows were checked against.
    """

    def __init__(
        self,
        source: Source,
        *,
        configuration: str | None = None,
        work: Path | None = None,
        progress: Callable[[int], object] | None = None,
        listing: Path | None = None,
    ) -> None:
        source.check()
        self.source = source
        parts = [part for part in source.parts() if configuration in {None, part.configuration}]
        if not parts:
            place = next((getattr(source, name) for name in source.PATHS if getattr(source, name, None)), None)
            raise InputError(f"nothing is there for the configuration `{configuration}`", path=place)
        self.counts: dict[str, dict[str, int]] = {}
        self.negatives: dict[str, int] = {}
        self.contamination: dict[str, int] = {}
        self.malformed: list[str] = []
        self._decontaminator: Decontaminator | None = None
        if isinstance(source, DecontaminationSettings):
            self._decontaminator = source.decontaminator()
        self.checked = [] if self._decontaminator is None else self._decontaminator.fingerprints.names
        self._progress = progress or (lambda rows: None)
        super().__init__("rows-", work)
        self._stores: dict[str, RowStore] = {}
        # The numbers of the rows in the store; None for all in their order.
        self._rows: dict[str, np.ndarray | None] = {}
        self._schemas: dict[str, pa.Schema] = {}
        self._finished: dict[str, Callable[[pa.Table], pa.Table]] = {}
        self._pairing: dict[str, np.ndarray] = {}
        self._given: list[np.ndarray] = []
        files = Counter(path for part in parts for path in part.files)
        # A line of a file that several parts read shall not be listed several times.
        self._listed: dict[Path, dict[int, str]] = {path: {} for path, number in files.items() if number > 1}
        self.parts = {part.name: part for part in _with_drawn(parts)}
        try:
            with SkippedLines(listing) as skipped:
                for part in sorted(parts, key=lambda part: not part.early):
                    self._read(part, skipped)
        except BaseException:
            self.close()
            raise
        self.counts = {name: self.counts[name] for name in self.parts}

    def schema(self, name: str) -> pa.Schema:
        """Returns the schema of the rows of a part."""
        schema = self._schemas[name]
        if name in self._pairing and "label" not in schema.names:
            schema = schema.append(pa.field("label", pa.int64()))
        return schema

    def num_rows(self, name: str) -> int:
        """Returns the number of rows of a part, negatives included."""
        rows = self._rows[name]
        number = len(self._stores[name]) if rows is None else len(rows)
        return number + self.negatives.get(name, 0)

    def batches(self, name: str) -> Generator[pa.Table, None, None]:
        """Streams the rows of a part in their order, then the negatives."""
        with closing(prefetched(self._batches(name))) as tables:
            yield from tables

    def _batches(self, name: str) -> Iterator[pa.Table]:
        schema = self.schema(name)
        finish = self._finished.get(name, lambda table: table)
        pairing = self._pairing.get(name)
        for stored in self._stored(name):
            table = finish(stored)
            if pairing is not None:
                table = with_column(table, "label", pa.repeat(pa.scalar(1, pa.int64()), table.num_rows))
            yield table.select(schema.names).cast(schema)
        if pairing is not None:
            yield from self._negative_batches(name, schema, pairing)

    def _stored(self, name: str, columns: list[str] | None = None) -> Iterator[pa.Table]:
        store, rows = self._stores[name], self._rows[name]
        if rows is None:
            yield from (table for _, table in store.batches(columns))
        else:
            yield from (table if columns is None else table.select(columns) for table in store.gather(rows))

    def _read(self, part: Part, skipped: SkippedLines) -> None:
        """Reads a part into a store of its own, and decides which of its rows go where."""
        store = self._stores[part.name] = self._new_store(f"{len(self._stores)}.arrow", part.schema)
        rules = dict.fromkeys(part.rules, 0)
        removed: Counter[str] = Counter({"empty_side": 0} if rules.pop("empty_side", None) is not None else {})
        left_out: Counter[str] = Counter()
        malformed = 0
        parted: dict[str, list[np.ndarray]] = {}
        work = _BlockWork(part)
        for reader in part.readers:
            errors = LineErrors(getattr(self.source, "on_error", "raise"), partial(self._record, part, skipped))
            # One thread reads and parses, several clean, and this one stores.
            with (
                closing(prefetched(reader(errors, left_out))) as tables,
                closing(mapped_in_order(work, tables, min(available_cores(), _MOST_WORKERS))) as cleaned,
            ):
                for block in cleaned:
                    # `update` keeps the order of the rules and their zeros.
                    removed.update(block.removed)
                    store.append(block.kept)
                    for name, keys in block.keys.items():
                        parted.setdefault(name, []).append(keys)
                    self._progress(block.lines)
            malformed += errors.count
            left_out.update(errors.left_out)
            self.malformed += [text for text in errors.first if text not in self.malformed]
        counts = self.counts[part.name] = {"lines": 0, **rules}
        if "malformed" in counts:
            counts["malformed"] = malformed
        # What a reader counts under a rule of the list stands in its place there.
        counts |= left_out
        counts |= removed
        self._select(part, {name: np.concatenate(parted.pop(name)) for name in list(parted)})
        rows = self._rows[part.name]
        counts["rows"] = len(store) if rows is None else len(rows)
        counts["lines"] = sum(count for rule, count in counts.items() if rule != "lines")
        if not counts["rows"] and not part.may_be_empty:
            gone = ", ".join(f"{name} {count}" for name, count in counts.items() if count and name != "lines")
            raise InputError(
                f"no row of {part.name} is left ({gone or 'none was there'})",
                path=next(iter(part.files), None),
                remedy=part.remedy,
            )
        self._finish(part)
        seed = getattr(self.source, "negatives", None)
        if part.training and seed is not None:
            self._draw_negatives(part, seed)

    def _record(self, part: Part, skipped: SkippedLines, path: Path, line: int, reason: str) -> None:
        first = self._listed[path].setdefault(line, part.name) if path in self._listed else part.name
        if first == part.name:
            skipped.record(path, line, reason)

    def _finish(self, part: Part) -> None:
        """Notes the schema of a part, and of those that are drawn from it."""
        schema, finish = (part.schema, None) if part.finish is None else part.finish()
        for name in (part.name, *(part.parting.sizes if part.parting is not None else ())):
            self._schemas[name] = schema
            if finish is not None:
                self._finished[name] = finish

    def _select(self, part: Part, keys: Keys) -> None:
        """Decides which rows of a part stay, which are moved to drawn parts, and in which order they come."""
        store = self._stores[part.name]
        stay = np.ones(len(store), dtype=bool)
        if part.parting is not None:
            # What the blocks took is of use again, now for these arrays.
            pa.default_memory_pool().release_unused()
            stay = self._part(part, part.parting, keys)
        if part.training and self._decontaminator is not None:
            contaminated = self._contaminated(part, stay, self._decontaminator)
            self.counts[part.name]["contaminated"] = int(contaminated.sum())
            stay &= ~contaminated
        most = getattr(self.source, "max_pairs", None)
        if part.training and most is not None:
            drawn = sample(stay, most, getattr(self.source, "seed", 0))
            self.counts[part.name]["not_sampled"] = int((stay & ~drawn).sum())
            stay = drawn
        rows = np.flatnonzero(stay)
        if part.parting is not None and part.parting.shuffle:
            rows = shuffled(rows, part.parting.seed)
        self._rows[part.name] = None if part.parting is None and stay.all() else rows

    def _part(self, part: Part, parting: Parting, keys: Keys) -> np.ndarray:
        """Marks the rows that stay after repeats and held-out parts are taken away (rows,), bool."""
        counts = self.counts[part.name]
        store = self._stores[part.name]
        none = np.empty(0, np.uint64)
        stay = np.ones(len(store), dtype=bool)
        if parting.repeats:
            stay = first_occurrences(keys.pop("repeats", none))
            counts["duplicate"] = int((~stay).sum())
        wanted = sum(parting.sizes.values())
        if wanted and wanted >= stay.sum():
            raise InputError(
                f"{wanted} rows are to be held out, but there are only {stay.sum()}",
                path=next(iter(part.files), None),
                remedy="lower " + " and ".join(f"--{name}-size" for name in reversed(list(parting.sizes))),
            )
        before = stay
        drawn_by = keys.pop("drawn", none)
        for name, size in parting.sizes.items():
            chosen = hold_out(drawn_by, size, parting.seed, stay)
            # Repeats that stayed under another rule go with their sentence, so that it is in one part only.
            stay = stay & ~chosen
            self._stores[name], self._rows[name] = store, np.flatnonzero(chosen)
            counts[f"to_{name}"] = int(chosen.sum())
            self.counts[name] = {"rows": int(chosen.sum())}
        del drawn_by
        if parting.disjoint is not None:
            disjoint = keys.pop("disjoint", none)
            if part.training:
                shared = stay & also_among(disjoint, np.concatenate([*self._given, disjoint[before & ~stay]]))
                counts["held_out_source"] = int(shared.sum())
                stay = stay & ~shared
            else:
                self._given.append(disjoint)
        return stay

    def _contaminated(self, part: Part, stay: np.ndarray, decontaminator: Decontaminator) -> np.ndarray:
        """Finds the rows that stay so far and that an evaluation set matches: (rows,), bool."""
        columns = list(part.texts if part.compared is None else part.compared)

        def match(batch: tuple[int, pa.Table]) -> tuple[np.ndarray, dict[str, int]]:
            begin, table = batch
            own = np.flatnonzero(stay[begin : begin + table.num_rows])
            contaminated, counts = decontaminator.matched(table.take(pa.array(own)), columns)
            return begin + own[contaminated], counts

        matched = np.zeros(len(stay), dtype=bool)
        batches = self._stores[part.name].batches(columns)
        for contaminated, counts in mapped_in_order(match, batches, min(available_cores(), _MOST_WORKERS)):
            matched[contaminated] = True
            for name, count in counts.items():
                self.contamination[name] = self.contamination.get(name, 0) + count
        return matched

    def _draw_negatives(self, part: Part, seed: int) -> None:
        keys: list[list[np.ndarray]] = [[], []]
        for table in self._stored(part.name, PAIRS.names):
            for side, name in zip(keys, PAIRS.names, strict=True):
                side.append(text_keys(table.column(name).combine_chunks()))
        try:
            pairing = random_negatives(np.concatenate(keys[0]), np.concatenate(keys[1]), seed)
        except ValueError as error:
            raise InputError(f"--negatives: {error}", path=part.files[0], remedy="give more pairs") from error
        self._pairing[part.name] = pairing
        self.negatives[part.name] = len(pairing)

    def _negative_batches(self, name: str, schema: pa.Schema, pairing: np.ndarray) -> Iterator[pa.Table]:
        store, rows = self._stores[name], self._rows[name]
        rows = np.arange(len(pairing)) if rows is None else rows
        finish = self._finished.get(name, lambda table: table)
        for own, other in zip(store.gather(rows), store.gather(rows[pairing]), strict=True):
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


@dataclass(frozen=True)
class _CleanedBlock:
    """What became of a block of rows."""

    lines: int
    kept: pa.Table
    removed: dict[str, int]
    keys: Keys


@dataclass(frozen=True)
class _BlockWork:
    """The work on a block of parsed rows, which needs nothing but the block and so runs in any thread."""

    part: Part

    def __call__(self, table: pa.Table) -> _CleanedBlock:
        part, parting = self.part, self.part.parting
        kept, removed = self._without_empty(table) if part.clean is None else part.clean(table)
        keys: Keys = {}
        if parting is not None:
            if parting.repeats:
                keys["repeats"] = repeat_keys(*(kept.column(name).combine_chunks() for name in parting.repeats))
            if parting.sizes:
                keys["drawn"] = text_keys(normalise_all(kept.column(parting.drawn_by).combine_chunks()))
            if parting.disjoint is not None:
                keys["disjoint"] = text_keys(normalise_all(kept.column(parting.disjoint).combine_chunks()))
        return _CleanedBlock(table.num_rows, kept, removed, keys)

    def _without_empty(self, table: pa.Table) -> tuple[pa.Table, dict[str, int]]:
        table = _fitted(table, self.part.schema)
        if not self.part.texts:
            return table, {}
        filled = np.ones(table.num_rows, dtype=bool)
        for name in self.part.texts:
            filled &= has_words(table.column(name).combine_chunks())
        return table if filled.all() else table.filter(pa.array(filled)), {"empty_side": int((~filled).sum())}


def _with_drawn(parts: list[Part]) -> list[Part]:
    """Adds the parts that are drawn from others, in the order train, validation, test."""
    drawn = [
        dataclasses.replace(part, split=name, readers=(), files=(), training=False, parting=None)
        for part in parts
        if part.parting is not None
        for name in part.parting.sizes
    ]
    return sorted([*parts, *drawn], key=lambda part: _ORDER.get(part.split, 3)) if drawn else parts


def _fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Orders and casts columns; one that a file does not have is null."""
    columns = [
        table.column(name) if name in table.column_names else pa.nulls(table.num_rows, schema.field(name).type)
        for name in schema.names
    ]
    return pa.table(columns, names=schema.names).cast(schema)
