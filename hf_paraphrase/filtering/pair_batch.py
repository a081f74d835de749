"""A batch of pairs with the lower-cased texts, tokens and shared n-grams that several measures use."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
import pyarrow as pa

from ..text.ngrams import PairNgrams, TokenSpans

SIDES = ("sentence1", "sentence2")
BITEXT_SIDES = ("source", "target")


def sides_of(columns: Iterable[str]) -> tuple[str, str]:
    """Return the columns of the sides: `source` and `target` for a bitext, else `sentence1` and `sentence2`."""
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
        self._columns = dict(zip(SIDES, sides_of(table.schema.names), strict=True))

    @property
    def num_rows(self) -> int:
        """The number of pairs."""
        return int(self.table.num_rows)

    def texts(self, column: str) -> list[str]:
        """Return a column of texts, the empty text where one is missing."""
        return [text or "" for text in self.table.column(self._columns.get(column, column)).to_pylist()]

    @cached_property
    def lowered1(self) -> list[str]:
        """Each `sentence1` in lower case."""
        return list(map(str.lower, self.texts("sentence1")))

    @cached_property
    def lowered2(self) -> list[str]:
        """Each `sentence2` in lower case."""
        return list(map(str.lower, self.texts("sentence2")))

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
        """The n-grams that the sides share and repeat."""
        return PairNgrams(self.spans)


def numeric_column(table: pa.Table, column: str) -> np.ndarray:
    """Return a numeric or boolean column as float64 (rows,), NaN where a value is missing."""
    values = table.column(column).cast(pa.float64())
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)
