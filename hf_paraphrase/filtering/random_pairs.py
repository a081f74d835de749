"""Random pairs among true ones: a known share of noise in the positives, and as many negatives.

Paper 003 (Sjöblom, Creutz and Aulamo 2018) trains on pairs of which an estimated share is wrong (section 4.2, Table 3)
and on as many random pairs as negatives (section 3.2). Here the share of wrong pairs is known, because they are made.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..data.row_selection import RowStore, text_keys
from ..errors import InputError
from .random_negatives import random_negatives

LABEL, NOISE = "label", "noise"
_SIDES = ("sentence1", "sentence2")
_KEPT = (_SIDES[0], "lang", LABEL, NOISE)
_DRAWING = 4


class RandomPairs(AbstractContextManager["RandomPairs"]):
    """Pairs of which some are made random, with as many negatives behind them. Use it as a context manager.

    A random pair is a first sentence with the second sentence of another pair; each second sentence is used once
    among the positives, and once more among the negatives. None is a pair of the data, in either order, and no
    sentence is paired with itself. What described a pair as a whole (scores, ids, the pivot) is null in a random one.

    Rows get the column `noise`, 1 for a random pair among the positives and else 0, where a share of noise is asked
    for, and `label`, 1 for positives and 0 for negatives, where negatives are.

    Args:
        batches: The pairs; they are stored on disk, and 16 bytes a pair are kept in memory.
        schema: Of the pairs.
        noise: The share of the pairs that are to be random, 0 to 1; the number is rounded.
        seed: Of the noise.
        negatives: A seed: add as many negatives as there are pairs; None for none.
        path: The data folder that the pairs come from, for messages.
        work: A folder for temporary rows; the system's by default.

    Attributes:
        schema: Of the rows that are given out.
    """

    def __init__(
        self,
        batches: Iterable[pa.Table],
        schema: pa.Schema,
        *,
        noise: float = 0.0,
        seed: int = 0,
        negatives: int | None = None,
        path: Path | str | None = None,
        work: Path | None = None,
    ) -> None:
        self._store = RowStore(schema, work)
        self._path = path
        self._marks_noise = noise > 0
        try:
            keys = self._read(batches)
            rows = len(self._store)
            self._second = np.arange(rows)
            self._is_noise = np.zeros(rows, bool)
            if noise > 0:
                self._add_noise(*keys, noise, seed)
            self._negatives: np.ndarray | None = None
            if negatives is not None:
                paired = self._paired(keys[0], keys[1][self._second], keys, negatives, "--negatives")
                self._negatives = self._second[paired]
        except BaseException:
            self._store.__exit__()
            raise
        names = ([NOISE] if noise > 0 else []) + ([LABEL] if negatives is not None else [])
        for name in names:
            field = pa.field(name, pa.int64())
            place = schema.get_field_index(name)
            schema = schema.append(field) if place < 0 else schema.set(place, field)
        self.schema = schema

    def __exit__(self, *_: object) -> None:
        self._store.__exit__()

    @property
    def noisy(self) -> int:
        """How many positives are random."""
        return int(self._is_noise.sum())

    @property
    def negatives(self) -> int:
        """How many negatives there are."""
        return 0 if self._negatives is None else len(self._negatives)

    def batches(self) -> Generator[pa.Table, None, None]:
        """Streams the positives in the order of the pairs, then the negatives."""
        yield from self._joined(self._second, self._is_noise, label=1)
        if self._negatives is not None:
            yield from self._joined(self._negatives, np.ones(len(self._negatives), bool), label=0)

    def _joined(self, seconds: np.ndarray, random: np.ndarray, *, label: int) -> Iterator[pa.Table]:
        """Returns all rows with the second sentences of other rows; both are gathered, so that they are cut alike."""
        start = 0
        others = self._store.gather(seconds)
        for own, other in zip(self._store.gather(np.arange(len(seconds))), others, strict=True):
            yield self._with_second(own, other, random[start : start + own.num_rows], label=label)
            start += own.num_rows

    def _with_second(self, table: pa.Table, other: pa.Table, random: np.ndarray, *, label: int) -> pa.Table:
        columns = []
        mask = pa.array(random)
        for field in self.schema:
            if field.name == _SIDES[1]:
                column = other.column(field.name)
            elif field.name == NOISE and self._marks_noise:
                column = pa.array((random & bool(label)).astype(np.int64))
            elif field.name == LABEL and self._negatives is not None:
                column = pa.repeat(pa.scalar(label, pa.int64()), len(random))
            else:
                column = table.column(field.name)
                if field.name not in _KEPT and random.any():
                    nulls = pa.nulls(len(random), field.type)
                    column = nulls if random.all() else pc.if_else(mask, nulls, column)
            columns.append(column)
        return pa.table(columns, schema=self.schema)

    def _read(self, batches: Iterable[pa.Table]) -> tuple[np.ndarray, np.ndarray]:
        keys: tuple[list[np.ndarray], list[np.ndarray]] = ([np.empty(0, np.uint64)], [np.empty(0, np.uint64)])
        for table in batches:
            # Without any label, as in the training part of Opusparcus, a pair is taken for a paraphrase.
            if LABEL in table.column_names and pc.any(pc.not_equal(table.column(LABEL), 1)).as_py():
                raise InputError(
                    "some pairs are not labelled 1: random pairs are made from paraphrases only",
                    path=self._path,
                    remedy="add --keep 'label==1'",
                )
            for side, name in zip(keys, _SIDES, strict=True):
                side.append(text_keys(pc.fill_null(table.column(name).combine_chunks(), "")))
            self._store.append(table.select(self._store.schema.names).cast(self._store.schema))
        return np.concatenate(keys[0]), np.concatenate(keys[1])

    def _add_noise(self, first: np.ndarray, second: np.ndarray, noise: float, seed: int) -> None:
        number = round(noise * len(first))
        generator = np.random.default_rng([seed, _DRAWING])
        chosen = np.sort(generator.choice(len(first), number, replace=False))
        if not number:
            return
        paired = self._paired(first[chosen], second[chosen], (first, second), seed, "--noise")
        self._second[chosen] = chosen[paired]
        self._is_noise[chosen] = True

    def _paired(
        self,
        first: np.ndarray,
        second: np.ndarray,
        known: tuple[np.ndarray, np.ndarray],
        seed: int,
        flag: str,
    ) -> np.ndarray:
        try:
            return random_negatives(first, second, seed, known=known)
        except ValueError as error:
            raise InputError(f"{flag}: {error}", path=self._path, remedy="give more pairs") from error
