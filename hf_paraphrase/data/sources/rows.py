"""Turns the files of a source into the rows of its splits: reads, applies rules, then samples and shuffles rows.

Tables stream from the files through the rules of their part in several threads. Parts with repeats to drop, or rows to
draw, sample or shuffle, are stored in a temporary Arrow file; the decision needs arrays of 8 bytes per row, so memory
stays flat as the corpus grows.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ...errors import InputError
from ...text.fingerprints import Fingerprints
from ...text.hashing import draw_keys, hash_rows
from ...text.normalization import are_visible, normalize_words_all
from ...threads import available_cores, mapped_in_order
from ..batch_function import no_progress
from ..decontamination import DecontaminationSettings
from ..folder import ORDER
from ..row_selection import RowStore, first_occurrences, hold_out, sample, shuffled
from ..text_blocks import LineErrors
from .source import Part, Source

# Blocks wait for the workers, so more workers need more memory, and one reader supplies no more than these.
_MOST_WORKERS = 4
_NO_KEYS = np.empty(0, np.uint64)


class _Block(NamedTuple):
    """The remaining rows of a table, the counts of dropped rows by rule, row keys, and matches of evaluation sets."""

    lines: int
    rows: pa.Table
    removed: dict[str, int]
    repeats: np.ndarray
    drawn: np.ndarray
    contaminated: dict[str, np.ndarray]


class SourceRows(AbstractContextManager["SourceRows"]):
    """The rows of a source, and counts of all lines. Use it as a context manager.

    Attributes:
        parts: The parts by the names of their shards, drawn parts included.
        counts: For each part that was read to its end, `lines` and what became of them, which adds up: the lines that
            each rule left out or moved, and `rows`. For a drawn part, `rows`.
        contamination: For each evaluation set, the number of training rows that it matched.
        checked: The evaluation sets that the training rows were compared with.
        skipped: File, line and reason of each malformed line that was skipped.
    """

    def __init__(
        self,
        source: Source,
        *,
        configuration: str | None = None,
        work: Path | None = None,
        progress: Callable[[int], object] = no_progress,
    ) -> None:
        source.check()
        self.source = source
        parts = [part for part in source.parts() if configuration in {None, part.configuration}]
        if not parts:
            problem = f"no data for the configuration `{configuration}`"
            raise InputError(problem, path=source.data_dir, remedy="add its files")
        self.parts = {part.name: part for part in parts}
        self._drawn_from: dict[str, Part] = {}
        for part in parts:
            for split in part.sizes:
                drawn = dataclasses.replace(part, split=split, files=(), training=False)
                self.parts[drawn.name], self._drawn_from[drawn.name] = drawn, part
        if self._drawn_from:
            self.parts = dict(sorted(self.parts.items(), key=lambda entry: ORDER.get(entry[1].split, 3)))
        self.counts: dict[str, dict[str, int]] = {}
        self.contamination: dict[str, int] = {}
        self.skipped: dict[tuple[Path, int, str], None] = {}
        decontaminator = source.decontaminator() if isinstance(source, DecontaminationSettings) else None
        self._evaluation_sets = None if decontaminator is None else decontaminator.fingerprints
        self.checked = [] if self._evaluation_sets is None else list(self._evaluation_sets.sets)
        self._most, self._on_error, self._seed = source.max_pairs, source.on_error, source.seed
        self._work, self._progress = work, progress
        self._stack = ExitStack()
        self._stores: dict[str, RowStore] = {}
        self._rows: dict[str, np.ndarray] = {}

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def names(self) -> list[str]:
        """List the parts in the order of reading: small files come first, to report their faults early."""
        return sorted(self.parts, key=lambda name: self.parts[name].training or name in self._drawn_from)

    def tables(self, name: str) -> Iterator[pa.Table]:
        """Stream the rows of a part in their order."""
        part = self._drawn_from.get(name, self.parts[name])
        if part.repeats or part.sizes or part.shuffle or (part.training and self._most is not None):
            if part.name not in self._stores:
                self._select(part)
            yield from self._stores[part.name].gather(self._rows[name])
            return
        errors, counts, rows = LineErrors(self._on_error), Counter[str](), 0
        for block in self._blocks(part, errors, counts):
            stay = self._uncontaminated(part, block.contaminated, np.ones(block.rows.num_rows, dtype=bool), counts)
            table = block.rows if stay.all() else block.rows.filter(pa.array(stay))
            rows += table.num_rows
            yield table
        self._close(part, errors, counts, rows)

    def _blocks(self, part: Part, errors: LineErrors, counts: Counter[str]) -> Iterator[_Block]:
        """Read a part, and apply the rules for single rows."""
        work = partial(_block_of, part, self._evaluation_sets if part.training else None)
        workers = min(available_cores(), _MOST_WORKERS)
        with closing(mapped_in_order(work, part.read(errors), workers)) as blocks:
            for block in blocks:
                # `update` keeps the order of the rules and their zeros.
                counts.update(block.removed)
                yield block
                self._progress(block.lines)

    def _close(self, part: Part, errors: LineErrors, removed: Counter[str], rows: int) -> None:
        """Count the lines of a part by rule, and refuse a part without rows."""
        counts = {"lines": 0, "malformed": errors.count, **errors.left_out, **removed, "rows": rows}
        counts["lines"] = sum(counts.values())
        self.counts[part.name] = counts
        self.skipped |= errors.skipped
        if not rows and not part.may_be_empty:
            gone = [f"{name} {count}" for name, count in counts.items() if count and name not in {"lines", "rows"}]
            problem = f"no row of {part.name} is left ({', '.join(gone) or 'none was there'})"
            path = next(iter(part.files), None)
            raise InputError(problem, path=path, remedy="check the file and the flags, or loosen the rules")

    def _uncontaminated(
        self, part: Part, matches: dict[str, np.ndarray], stay: np.ndarray, counts: Counter[str]
    ) -> np.ndarray:
        """Return which rows match no evaluation set (rows,), bool; count the matches of each set."""
        if self._evaluation_sets is None or not part.training:
            return stay
        clean = stay.copy()
        for name, rows in matches.items():
            clean &= ~rows
            if num_matched := int((rows & stay).sum()):
                self.contamination[name] = self.contamination.get(name, 0) + num_matched
        counts["contaminated"] += int(stay.sum() - clean.sum())
        return clean

    def _select(self, part: Part) -> None:
        """Store the rows of a part, and choose the remaining and drawn rows and their order."""
        store = self._stores[part.name] = self._stack.enter_context(RowStore(part.schema, self._work))
        errors, counts, blocks = LineErrors(self._on_error), Counter[str](), list[_Block]()
        for block in self._blocks(part, errors, counts):
            store.append(block.rows)
            blocks.append(block._replace(rows=part.schema.empty_table(), lines=block.rows.num_rows))
        stay = np.ones(len(store), dtype=bool)
        if part.repeats:
            stay = first_occurrences(np.concatenate([_NO_KEYS, *(block.repeats for block in blocks)]))
            counts["duplicate"] = int((~stay).sum())
        if part.sizes:
            keys = np.concatenate([_NO_KEYS, *(block.drawn for block in blocks)])
            stay = self._draw(part, keys, stay, counts)
        matches = {
            name: np.concatenate([block.contaminated.get(name, np.zeros(block.lines, bool)) for block in blocks])
            for name in dict.fromkeys(name for block in blocks for name in block.contaminated)
        }
        stay = self._uncontaminated(part, matches, stay, counts)
        if part.training and self._most is not None:
            chosen = sample(stay, self._most, self._seed)
            counts["not_sampled"] = int((stay & ~chosen).sum())
            stay = chosen
        rows = np.flatnonzero(stay)
        self._rows[part.name] = shuffled(rows, self._seed) if part.shuffle else rows
        self._close(part, errors, counts, len(rows))

    def _draw(self, part: Part, keys: np.ndarray, stay: np.ndarray, counts: Counter[str]) -> np.ndarray:
        """Draw the held-out parts by the keys of all rows; return which rows stay (rows,), bool."""
        wanted = sum(part.sizes.values())
        if wanted >= stay.sum():
            remedy = "lower " + " and ".join(f"--{name}-size" for name in reversed(list(part.sizes)))
            problem = f"{wanted} rows are to be held out, but there are only {stay.sum()}"
            raise InputError(problem, path=next(iter(part.files), None), remedy=remedy)
        for name, size in part.sizes.items():
            chosen = hold_out(keys, size, self._seed, stay)
            # All repeats of a sentence move with it, so that it is in one part only.
            stay = stay & ~chosen
            shards = dataclasses.replace(part, split=name).name
            self._rows[shards] = np.flatnonzero(chosen)
            counts[f"to_{name}"] = int(chosen.sum())
            self.counts[shards] = {"rows": int(chosen.sum())}
        return stay


def _block_of(part: Part, evaluation_sets: Fingerprints | None, table: pa.Table) -> _Block:
    """Apply the rules of a part to a table; by default, drop rows with an empty text."""
    if part.clean is not None:
        rows, removed = part.clean(table)
    else:
        rows = fitted(table, part.schema)
        filled = np.logical_and.reduce([are_visible(rows.column(name)) for name in part.texts], dtype=bool)
        removed = {"empty_side": int((~filled).sum())} if part.texts else {}
        rows = rows.filter(pa.array(filled)) if part.texts and not filled.all() else rows
    repeats = drawn = _NO_KEYS
    if part.repeats:
        repeats = hash_rows(*rows.select(part.repeats).columns)
    if part.sizes:
        drawn = draw_keys(normalize_words_all(rows.column("target").combine_chunks()))
    contaminated: dict[str, np.ndarray] = {}
    if evaluation_sets is not None:
        contaminated = evaluation_sets.matches([rows.column(name) for name in part.texts])
    return _Block(table.num_rows, rows, removed, repeats, drawn, contaminated)


def fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Order and cast columns; a missing column is null."""
    columns = [
        table.column(name) if name in table.column_names else pa.nulls(table.num_rows, schema.field(name).type)
        for name in schema.names
    ]
    return pa.table(columns, names=schema.names).cast(schema)
