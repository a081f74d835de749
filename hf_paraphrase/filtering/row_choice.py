"""Which rows a filter keeps: two passes over the pairs, the first to choose rows, the second to copy them.

Only a small number a row, and for the steps that compare rows a few numbers a surviving row, are held in memory; the
pairs themselves stream through as record batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from ..data.batch_function import Progress, Report, no_progress
from ..data.cleaning import count_words
from ..data.folder import DataFolder
from ..errors import InputError
from .best_rows import WAYS, choose_one_per_reference, draw_shared, take_best_first
from .filter_steps import Choice, FilterSteps, check_steps, with_columns
from .measuring import measures_of, required_columns
from .pair_batch import numeric_column, sides_of

_POSITION = "__position__"


@dataclass
class _Passed:
    """The rows that passed the steps of single rows, and what the steps that compare rows look at."""

    rows: list[np.ndarray] = field(default_factory=lambda: [np.empty(0, dtype=np.int64)])
    references: list[int] = field(default_factory=list)
    values: list[np.ndarray] = field(default_factory=lambda: [np.empty(0)])
    ranking: list[np.ndarray] = field(default_factory=lambda: [np.empty(0)])
    lengths: list[np.ndarray] = field(default_factory=lambda: [np.empty(0, dtype=np.int64)])

    def add(self, table: pa.Table, steps: FilterSteps) -> None:
        self.rows.append(table.column(_POSITION).to_numpy())
        if steps.one_per_reference is not None:
            self.references += reference_keys(table)
            self.values += [numeric_column(table, column) for column in WAYS[steps.one_per_reference]]
        if steps.by is not None:
            self.ranking.append(numeric_column(table, steps.by))
        if steps.max_tokens is not None:
            self.lengths.append(tokens_of(table))


def choose_rows(folder: DataFolder, split: str, steps: FilterSteps, progress: Progress = no_progress) -> Choice:
    """Takes the steps of a filter and returns which rows are left."""
    schema = folder.schema(split)
    check_steps(steps, schema, str(folder.path))
    keeps = steps.pair_filter(sides_of(schema.names))
    if keeps.decontaminator is not None:
        # Read last, which may take a while, and read even where there are no pairs.
        _ = keeps.decontaminator.fingerprints
    total = folder.count(split)
    choice = Choice(np.zeros(total, dtype=bool), np.zeros(total, dtype=np.uint16))
    passed = _Passed()
    start = 0
    for record_batch in folder.batches(split, _read_columns(steps, schema)):
        positions = pa.array(np.arange(start, start + record_batch.num_rows))
        start += record_batch.num_rows
        table = pa.Table.from_batches([record_batch]).append_column(_POSITION, positions)
        report: Report = {"funnel": {}, "contamination": {}}
        left = table
        for step, left in keeps.passing(table, report):
            report["funnel"][step] = left.num_rows
            choice.passed[left.column(_POSITION).to_numpy()] += 1
        choice.add(report)
        passed.add(left, steps)
        progress(record_batch.num_rows)
    every = np.concatenate(passed.rows)
    rows = every
    for step, places in _compared(passed, steps, choice):
        rows = every[places]
        choice.take(step, rows)
    if steps.sample is not None:
        choice.note_shortfall("sample", len(rows), steps.sample)
        if len(rows) > steps.sample:
            rows = draw_shared(rows, steps.sample, total, steps.seed)
        choice.take(f"sample {steps.sample}", rows)
    check_any_left(choice, split, folder)
    choice.kept[rows] = True
    return choice


def check_any_left(choice: Choice, split: str, folder: DataFolder) -> None:
    """Refuses a filter that leaves nothing."""
    counts = choice.funnel.counts or {"read": 0}
    step = next((name for name, count in counts.items() if count == 0), None)
    if step is not None:
        reason, remedy = f"nothing is left after `{step}`", "loosen that step; nothing was written"
        if step == "read":
            reason, remedy = "there are no pairs", "give a folder or a --split that has some"
        raise InputError(f"split `{split}`: {reason}", path=folder.path, remedy=remedy)


def _compared(passed: _Passed, steps: FilterSteps, choice: Choice) -> Iterator[tuple[str, np.ndarray]]:
    """Takes the steps that compare rows, all but the sample: yields each and the places that are left, ascending."""
    taken = np.arange(sum(map(len, passed.rows)))
    if steps.one_per_reference is not None:
        way = steps.one_per_reference
        values = np.concatenate(passed.values) if WAYS[way] else None
        taken = choose_one_per_reference(passed.references, way, values, steps.seed)
        yield f"one per reference ({way})", taken
    ranked = "" if steps.by is None else f" by {steps.by}"
    by = None if steps.by is None else np.concatenate(passed.ranking)
    if steps.first is not None:
        choice.note_shortfall("first", len(taken), steps.first)
        taken = taken[take_best_first(len(taken), ranking=None if by is None else by[taken], first=steps.first)]
        yield f"first {steps.first}{ranked}", taken
    if steps.max_tokens is not None:
        lengths = np.concatenate(passed.lengths)[taken]
        choice.note_shortfall("max_tokens", int(lengths.sum()), steps.max_tokens)
        ranking = None if by is None else by[taken]
        taken = taken[take_best_first(len(taken), ranking=ranking, lengths=lengths, max_tokens=steps.max_tokens)]
        yield f"first {steps.max_tokens} tokens{ranked}", taken


def _read_columns(steps: FilterSteps, schema: pa.Schema) -> list[str]:
    """The columns to read: those the steps look at where they exist, else what their measures need."""
    wanted = {*sides_of(schema.names), "id", *steps.columns}
    wanted |= required_columns(measures_of(column for column in steps.columns if column not in schema.names))
    return [name for name in schema.names if name in wanted]


def tokens_of(table: pa.Table) -> np.ndarray:
    """Counts the words between white space of each pair, both sides together: (rows,), int64."""
    sides = sides_of(table.schema.names)
    first, second = (table.column(name).cast(pa.string()).combine_chunks() for name in sides)
    return count_words(first) + count_words(second)


def reference_keys(table: pa.Table) -> list[int]:
    """Identifies the reference of each row: by its id and text, or by its text alone where there are no ids."""
    texts = table.column(sides_of(table.schema.names)[0]).to_pylist()
    ids = table.column("id").to_pylist() if "id" in table.schema.names else [None] * len(texts)
    # Hashes of 64 bits: the strings of a large corpus would not stay within memory.
    return [hash(pair) for pair in zip(ids, texts, strict=True)]


def kept_schema(schema: pa.Schema, steps: FilterSteps) -> pa.Schema:
    """Returns the schema of the kept pairs: all columns, and those that were computed for the steps."""
    return with_columns(schema.empty_table(), steps.columns).schema


def kept_batches(
    folder: DataFolder, split: str, kept: np.ndarray, steps: FilterSteps, progress: Progress = no_progress
) -> Iterator[pa.Table]:
    """Streams the rows that :func:`choose_rows` keeps, in their order, with the columns computed for the steps."""
    start = 0
    for record_batch in folder.batches(split):
        stop = start + record_batch.num_rows
        table = pa.Table.from_batches([record_batch]).filter(pa.array(kept[start:stop]))
        start = stop
        if table.num_rows:
            yield with_columns(table, steps.columns)
        progress(record_batch.num_rows)
