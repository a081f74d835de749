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
from ..data.schema import with_column
from ..errors import InputError
from .pair_batch import SIDES

LABEL, NOISE = "label", "noise"
_KEPT = (*SIDES, "lang", LABEL, NOISE)
_DRAWING_NEGATIVES, _DRAWING_NOISE = 3, 4
_ROUNDS = 100


class RandomPairs(AbstractContextManager["RandomPairs"]):
    """Pairs of which some are made random, with as many negatives behind them. Use it as a context manager.

    A random pair is a first sentence with the second sentence of another pair; each second sentence is used once
    among the positives, and once more among the negatives. None is a pair of the data, in either order, and no
    sentence is paired with itself. What described a pair as a whole (scores, ids, the pivot) is null in a random one.

    Rows get the column `noise`, 1 for a random pair among the positives, where there is noise, and `label`, 1 for
    positives and 0 for negatives, where there are some. `noise` is the share of the pairs that are to be random, drawn
    with `seed`; `negatives` is the seed of as many negatives. The pairs are stored on disk, in `work`.
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
        self._columns = [NOISE] * (noise > 0) + [LABEL] * (negatives is not None)
        try:
            first, second = self._read(batches)
            self._second = np.arange(len(self._store))
            self._is_noise = np.zeros(len(self._store), bool)
            generator = np.random.default_rng([seed, _DRAWING_NOISE])
            chosen = np.sort(generator.choice(len(first), round(noise * len(first)), replace=False))
            if len(chosen):
                paired = self._paired(first[chosen], second[chosen], (first, second), seed, "--noise")
                self._second[chosen] = chosen[paired]
                self._is_noise[chosen] = True
            self._negatives: np.ndarray | None = None
            if negatives is not None:
                paired = self._paired(first, second[self._second], (first, second), negatives, "--negatives")
                self._negatives = self._second[paired]
        except BaseException:
            self._store.__exit__()
            raise
        self.schema = self._with_columns(schema.empty_table(), np.zeros(0, bool), 1).schema

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

    def _read(self, batches: Iterable[pa.Table]) -> tuple[np.ndarray, np.ndarray]:
        """Stores the pairs and returns the keys of their first and second sentences, uint64 (pairs,) each."""
        keys: tuple[list[np.ndarray], list[np.ndarray]] = ([np.empty(0, np.uint64)], [np.empty(0, np.uint64)])
        for table in batches:
            # Without any label, as in the training part of Opusparcus, a pair is taken for a paraphrase.
            if LABEL in table.column_names and pc.any(pc.not_equal(table.column(LABEL), 1)).as_py():
                raise InputError(
                    "some pairs are not labelled 1: random pairs are made from paraphrases only",
                    path=self._path,
                    remedy="add --keep 'label==1'",
                )
            for side, name in zip(keys, SIDES, strict=True):
                side.append(text_keys(pc.fill_null(table.column(name).combine_chunks(), "")))
            self._store.append(table.select(self._store.schema.names).cast(self._store.schema))
        return np.concatenate(keys[0]), np.concatenate(keys[1])

    def _paired(
        self, first: np.ndarray, second: np.ndarray, known: tuple[np.ndarray, np.ndarray], seed: int, flag: str
    ) -> np.ndarray:
        try:
            return random_negatives(first, second, seed, known=known)
        except ValueError as error:
            raise InputError(f"{flag}: {error}", path=self._path, remedy="give more pairs") from error

    def _joined(self, seconds: np.ndarray, is_random: np.ndarray, *, label: int) -> Iterator[pa.Table]:
        """Returns all rows with the second sentences of other rows; both are gathered, so that they are cut alike."""
        start = 0
        others = self._store.gather(seconds)
        for own, other in zip(self._store.gather(np.arange(len(seconds))), others, strict=True):
            random = is_random[start : start + own.num_rows]
            start += own.num_rows
            table = with_column(own, SIDES[1], other.column(SIDES[1]))
            for field in own.schema if random.any() else ():
                if field.name not in _KEPT:
                    nulls = pa.nulls(len(random), field.type)
                    column = nulls if random.all() else pc.if_else(pa.array(random), nulls, own.column(field.name))
                    table = with_column(table, field.name, column)
            yield self._with_columns(table, random, label).cast(self.schema)

    def _with_columns(self, table: pa.Table, random: np.ndarray, label: int) -> pa.Table:
        """Adds the columns of noise and labels, or replaces those that are there."""
        values = {NOISE: random & bool(label), LABEL: np.full(len(random), label)}
        for name in self._columns:
            table = with_column(table, name, pa.array(values[name].astype(np.int64)))
        return table


def random_negatives(
    first: np.ndarray,
    second: np.ndarray,
    seed: int,
    *,
    known: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """Draws for every pair another second sentence, so that each sentence is used exactly once more.

    Sjöblom, Creutz and Aulamo (2018, section 3.2) pair sentences of the training data at random and accept that some
    of these pairs are paraphrases by accident. Here pairs that are known to be paraphrases (those of the data
    themselves and of `known`, in either order, and identical sentences) are drawn again. Sentences are given as keys,
    uint64 (pairs,). Returns for each pair the row of the second sentence it gets, a permutation.
    """
    generator = np.random.default_rng([seed, _DRAWING_NEGATIVES])
    rows = generator.permutation(len(first))
    pairs = [(first, second)] if known is None else [(first, second), known]
    positives = np.concatenate([_combined(*order) for one, two in pairs for order in ((one, two), (two, one))])
    positives.sort()
    wrong = np.flatnonzero(_known(np.arange(len(rows)), first, second, rows, positives))
    for _ in range(_ROUNDS):
        # Exchanging with rows drawn from all of them also moves rows that were good: look at those again.
        partners = generator.integers(len(first), size=len(wrong))
        for row, partner in zip(wrong, partners, strict=True):
            rows[row], rows[partner] = rows[partner], rows[row]
        moved = np.unique(np.concatenate([wrong, partners]))
        wrong = moved[_known(moved, first, second, rows, positives)]
        if not len(wrong):
            return rows
    raise ValueError(f"{len(first)} pairs have too few distinct sentences for random pairs")


def _known(
    chosen: np.ndarray, first: np.ndarray, second: np.ndarray, rows: np.ndarray, positives: np.ndarray
) -> np.ndarray:
    """Returns which of the chosen rows got the same sentence or one of their paraphrases: (chosen,), bool."""
    own, candidates = first[chosen], second[rows[chosen]]
    keys = _combined(own, candidates)
    places = np.minimum(np.searchsorted(positives, keys), len(positives) - 1)
    return (own == candidates) | (positives[places] == keys)


def _combined(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Mixes two keys into one, the order counting."""
    return (first * np.uint64(0x9E3779B97F4A7C15)) ^ (second + np.uint64(0x632BE59BD9B4E019))
