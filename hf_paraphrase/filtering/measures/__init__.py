"""Measures of pairs; :data:`~hf_paraphrase.registry.MEASURES` names them.

A measure reads columns of a batch of pairs and adds columns. The measures in `wording` compare words, the measures in
`models` load a model.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from ...text.ngrams import PairNgrams, TokenSpans
from ...text.normalization import lower_text

SIDES = ("sentence1", "sentence2")
BITEXT_SIDES = ("source", "target")


def find_sides(columns: Iterable[str]) -> tuple[str, str]:
    """Return the two sentence columns: `source` and `target` for a bitext, else `sentence1` and `sentence2`."""
    columns = set(columns)
    return BITEXT_SIDES if columns >= set(BITEXT_SIDES) and not columns & set(SIDES) else SIDES


class PairBatch:
    """A table of pairs; intermediate results that measures share are computed once, at first use.

    Args:
        table: Pairs with the string columns `sentence1` and `sentence2`, or a bitext with `source` and `target`; a
            missing sentence counts as empty.
    """

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self._columns = dict(zip(SIDES, find_sides(table.schema.names), strict=True))

    @property
    def num_rows(self) -> int:
        """The number of pairs."""
        return int(self.table.num_rows)

    def texts(self, column: str) -> list[str]:
        """Return a column of texts, with the empty text for a missing one."""
        return [text or "" for text in self.table.column(self._columns.get(column, column)).to_pylist()]

    def lowered(self, column: str) -> list[str]:
        """Return a column of texts by :func:`~...text.normalization.lower_text`."""
        return list(map(lower_text, self.texts(column)))

    @cached_property
    def lowered1(self) -> list[str]:
        """Each `sentence1` by :meth:`lowered`."""
        return self.lowered("sentence1")

    @cached_property
    def lowered2(self) -> list[str]:
        """Each `sentence2` by :meth:`lowered`."""
        return self.lowered("sentence2")

    @cached_property
    def spans(self) -> TokenSpans:
        """The tokens of every `sentence1`, then of every `sentence2`, as arrays."""
        return TokenSpans([*self.lowered1, *self.lowered2])

    @property
    def lengths(self) -> np.ndarray:
        """Tokens in each `sentence1` and in each `sentence2`, int64 (2, pairs)."""
        return self.spans.counts.reshape(2, -1)

    @cached_property
    def ngrams(self) -> PairNgrams:
        """The n-grams that the two sentences of each pair share and repeat."""
        return PairNgrams(self.spans)


def read_numeric(table: pa.Table, column: str) -> np.ndarray:
    """Return a numeric or boolean column as float64 (rows,), NaN where a value is missing; large integers round."""
    values = table.column(column).cast(pa.float64(), safe=False)
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


@dataclass(frozen=True)
class Measure(ABC):
    """Compute one or more columns from a batch of pairs, each row by itself.

    A measure is a frozen dataclass that is registered in :data:`~hf_paraphrase.registry.MEASURES`. Its fields are its
    options, each made by :func:`~hf_paraphrase.settings.setting` with a default: `score` has a flag for each of them.
    A measure loads its model at first use, so that only its options travel to other processes.
    The first line of its docstring is its description on a card.

    Attributes:
        requires: The columns it reads.
        texts: Its columns of text.
        for_bitext: Whether it is computed by default for a bitext.
        by_default: Whether it is computed by default if its columns and its option are given.
        needs: The option that it requires.
        models: The options that name model folders, or repositories of the Hub.
    """

    texts: ClassVar[tuple[str, ...]] = ()
    for_bitext: ClassVar[bool] = False
    by_default: ClassVar[bool] = True
    needs: ClassVar[str | None] = None
    models: ClassVar[tuple[str, ...]] = ()

    @property
    def requires(self) -> tuple[str, ...]:
        """The columns it reads."""
        return SIDES

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns it adds, in order."""

    @abstractmethod
    def compute(self, batch: PairBatch) -> Mapping[str, np.ndarray]:
        """Compute the columns: for each name an array (pairs,) of int64, float64 or text, NaN where undefined."""

    @property
    def lacks(self) -> str | None:
        """The required option that is missing; None if the measure can be computed."""
        return self.needs if self.needs is not None and getattr(self, self.needs) is None else None

    @classmethod
    def option_names(cls) -> list[str]:
        """Return the names of its options."""
        return [field.name for field in dataclasses.fields(cls)]
