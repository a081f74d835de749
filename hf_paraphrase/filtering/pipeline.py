"""The filter: two passes over the pairs, the first to choose rows, the second to copy them.

Only one bit a row, and for the steps that compare rows one number a surviving row, are held in memory; the pairs
themselves stream through as record batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ..data.cleaning import count_words
from ..data.parquet import count_rows, iterate_batches, read_schema
from ..data.schema import require_columns
from ..errors import InputError
from .best_first import take_best_first
from .funnel import Funnel
from .measures.registry import MEASURES, add_measures, measures_of
from .one_per_reference import WAYS, choose_one_per_reference
from .pair_batch import PairBatch, numeric_column
from .selections import Selection, apply_selection, check_columns, check_selections

if TYPE_CHECKING:
    from ..data.decontamination import Fingerprints

Progress = Callable[[int], object]

_POSITION = "__position__"


@dataclass(frozen=True)
class FilterOptions:
    """The steps of a filter, in the order in which they are taken.

    Attributes:
        drop_identical: Leave out pairs whose sides are the same tokens, whatever their case.
        selections: Predicates on columns, all of which must hold.
        fingerprints: Sentences that neither side may be.
        one_per_reference: A key of `WAYS`: keep one pair of each reference.
        by: The numeric column by which the pairs are ranked for the next two, the highest first; None for their order.
        first: How many of the remaining pairs to take, the best first.
        max_tokens: How many tokens, both sides together, the pairs that are taken may have, the best first.
        sample: How many of the remaining pairs to draw.
        seed: Seed of the draws.
    """

    drop_identical: bool = False
    selections: tuple[Selection, ...] = ()
    fingerprints: Fingerprints | None = None
    one_per_reference: str | None = None
    by: str | None = None
    first: int | None = None
    max_tokens: int | None = None
    sample: int | None = None
    seed: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the steps look at, besides the sentences and ids."""
        wanted = [selection.column for selection in self.selections]
        if self.one_per_reference is not None:
            wanted += WAYS[self.one_per_reference]
        if self.by is not None:
            wanted.append(self.by)
        return tuple(dict.fromkeys(wanted))


@dataclass
class Choice:
    """Which rows of a split a filter keeps.

    Attributes:
        kept: bool (rows,).
        funnel: The counts after each step.
        contamination: For each evaluation set that met any row, how many it met.
        shortfalls: For each of the options `first`, `max_tokens` and `sample` that asked for more than there was how
            much was left, in pairs or tokens; all of it is kept.
    """

    kept: np.ndarray
    funnel: Funnel
    contamination: dict[str, int] = field(default_factory=dict)
    shortfalls: dict[str, int] = field(default_factory=dict)

    def note_shortfall(self, option: str, left: int, wanted: int) -> None:
        """Notes how much was left if that is less than was wanted."""
        if left < wanted:
            self.shortfalls[option] = left


def check_pairs(schema: pa.Schema, path: str) -> None:
    """Checks that a data set holds pairs of texts.

    Raises:
        InputError: If `sentence1` or `sentence2` is missing or not text.
    """
    require_columns(schema.names, ("sentence1", "sentence2"), path)
    for name in ("sentence1", "sentence2"):
        kind = schema.field(name).type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise InputError(f"the column {name} holds {kind}, not text", path=path)


def check_options(options: FilterOptions, schema: pa.Schema, path: str) -> None:
    """Checks that every step finds the columns it needs.

    Raises:
        UsageError: For a selection on a column that does not exist, cannot be computed, or is not numeric.
        InputError: If the pairs lack a column that a step needs.
    """
    check_pairs(schema, path)
    check_selections(options.selections, schema)
    if options.by is not None:
        check_columns([options.by], schema, "--by")
    if options.one_per_reference == "best":
        require_columns(schema.names, ("rank",), path)


def choose_rows(folder: Path, split: str, options: FilterOptions, progress: Progress = lambda rows: None) -> Choice:
    """Takes the steps of a filter and returns which rows are left.

    Args:
        folder: The data folder of the pairs.
        split: The split to filter.
        options: The steps.
        progress: Called with the number of rows of each batch that is done.

    Raises:
        InputError: If nothing is left, naming the step that removed the last pair; for unreadable input.
        UsageError: As :func:`check_options`.
    """
    schema = read_schema(folder, split)
    check_options(options, schema, str(folder))
    choice = Choice(np.zeros(count_rows(folder, split), dtype=bool), Funnel())
    positions: list[np.ndarray] = [np.empty(0, dtype=np.int64)]
    references: list[int] = []
    values: list[np.ndarray] = [np.empty(0)]
    ranking: list[np.ndarray] = [np.empty(0)]
    lengths: list[np.ndarray] = [np.empty(0, dtype=np.int64)]
    start = 0
    needed = [name for name in schema.names if name in {"sentence1", "sentence2", "id", *_inputs(options, schema)}]
    for record_batch in iterate_batches(folder, split, needed):
        table = pa.Table.from_batches([record_batch]).append_column(
            _POSITION, pa.array(np.arange(start, start + record_batch.num_rows))
        )
        start += record_batch.num_rows
        table = _filter_batch(table, options, choice)
        positions.append(table.column(_POSITION).to_numpy())
        if options.one_per_reference is not None:
            references += _references(table)
            columns = WAYS[options.one_per_reference]
            values += [numeric_column(table, column) for column in columns]
        if options.by is not None:
            ranking.append(numeric_column(table, options.by))
        if options.max_tokens is not None:
            lengths.append(tokens_of(table))
        progress(record_batch.num_rows)
    rows = np.concatenate(positions)
    taken = np.arange(len(rows))
    if options.one_per_reference is not None:
        way = options.one_per_reference
        order = np.concatenate(values) if WAYS[way] else None
        taken = choose_one_per_reference(references, way, order, options.seed)
        choice.funnel.add(f"one per reference ({way})", len(taken))
    ranked = "" if options.by is None else f" by {options.by}"
    by = None if options.by is None else np.concatenate(ranking)
    if options.first is not None:
        choice.note_shortfall("first", len(taken), options.first)
        taken = taken[take_best_first(len(taken), ranking=None if by is None else by[taken], first=options.first)]
        choice.funnel.add(f"first {options.first}{ranked}", len(taken))
    if options.max_tokens is not None:
        left = np.concatenate(lengths)[taken]
        choice.note_shortfall("max_tokens", int(left.sum()), options.max_tokens)
        best = take_best_first(
            len(taken),
            ranking=None if by is None else by[taken],
            lengths=left,
            max_tokens=options.max_tokens,
        )
        taken = taken[best]
        choice.funnel.add(f"first {options.max_tokens} tokens{ranked}", len(taken))
    rows = rows[taken]
    if options.sample is not None:
        choice.note_shortfall("sample", len(rows), options.sample)
        if len(rows) > options.sample:
            rows = np.random.default_rng(options.seed).choice(rows, size=options.sample, replace=False)
        choice.funnel.add(f"sample {options.sample}", len(rows))
    if len(rows) == 0:
        step = next((name for name, count in choice.funnel.counts.items() if count == 0), "read")
        reason = "there are no pairs" if step == "read" else f"nothing is left after `{step}`"
        raise InputError(f"split `{split}`: {reason}", path=folder, remedy="loosen that step; nothing was written")
    choice.kept[rows] = True
    return choice


def tokens_of(table: pa.Table) -> np.ndarray:
    """Counts the words between white space of each pair, both sides together: (rows,), int64."""
    first, second = (table.column(name).cast(pa.string()).combine_chunks() for name in ("sentence1", "sentence2"))
    return count_words(first) + count_words(second)


def _inputs(options: FilterOptions, schema: pa.Schema) -> set[str]:
    """The columns to read: those the steps look at where they exist, else what their measures need."""
    present = {name for name in options.columns if name in schema.names}
    for name in measures_of(column for column in options.columns if column not in present):
        present |= set(MEASURES[name].requires)
    return present


def _filter_batch(table: pa.Table, options: FilterOptions, choice: Choice) -> pa.Table:
    """Takes the steps that look at one row at a time, counting what each leaves."""
    funnel = choice.funnel
    funnel.add("read", table.num_rows)
    if options.drop_identical:
        batch = PairBatch(table)
        same = [first == second for first, second in zip(batch.tokens1, batch.tokens2, strict=True)]
        table = table.filter(pa.array(~np.array(same, dtype=bool)))
        funnel.add("not identical", table.num_rows)
    lacking = [column for column in options.columns if column not in table.schema.names]
    table = add_measures(table, measures_of(lacking), only=lacking)
    for selection in options.selections:
        table = table.filter(pa.array(apply_selection(selection, table)))
        funnel.add(selection.text, table.num_rows)
    if options.fingerprints is not None:
        met, counts = options.fingerprints.match([table.column("sentence1"), table.column("sentence2")])
        table = table.filter(pa.array(~met))
        for name, count in counts.items():
            choice.contamination[name] = choice.contamination.get(name, 0) + count
        funnel.add("decontaminated", table.num_rows)
    return table


def _references(table: pa.Table) -> list[int]:
    """Identifies the reference of each row: by its id and text, or by its text alone where there are no ids."""
    texts = table.column("sentence1").to_pylist()
    ids = table.column("id").to_pylist() if "id" in table.schema.names else [None] * len(texts)
    # Hashes of 64 bits: the strings of a large corpus would not stay within memory.
    return [hash(pair) for pair in zip(ids, texts, strict=True)]


def kept_schema(schema: pa.Schema, options: FilterOptions) -> pa.Schema:
    """Returns the schema of the kept pairs: all columns, and those that were computed for the steps."""
    return _with_measures(schema.empty_table(), options).schema


def kept_batches(
    folder: Path, split: str, kept: np.ndarray, options: FilterOptions, progress: Progress = lambda rows: None
) -> Iterator[pa.Table]:
    """Streams the kept rows in their order, with the columns that were computed for the steps.

    Args:
        folder: The data folder of the pairs.
        split: The split.
        kept: bool (rows,), from :func:`choose_rows`.
        options: The steps.
        progress: Called with the number of rows of each batch that is done.
    """
    start = 0
    for record_batch in iterate_batches(folder, split):
        stop = start + record_batch.num_rows
        table = pa.Table.from_batches([record_batch]).filter(pa.array(kept[start:stop]))
        start = stop
        if table.num_rows:
            yield _with_measures(table, options)
        progress(record_batch.num_rows)


def _with_measures(table: pa.Table, options: FilterOptions) -> pa.Table:
    lacking = [column for column in options.columns if column not in table.schema.names]
    return add_measures(table, measures_of(lacking), only=lacking)
