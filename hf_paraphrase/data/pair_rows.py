"""Pairs of sentences: rows with two sides, and with negatives and labels if there are columns of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Union

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import InputError
from .labels import PairLabels, find_label, find_score
from .rows import open_rows
from .schema import is_list, require_columns, require_texts, with_column

_SIDES = ("sentence1", "sentence2")
_BITEXT_SIDES = ("source", "target")
NEGATIVES = re.compile(r"negatives?|negative_\d+|neg")
"""The names of columns with texts that are no paraphrase of the first side."""
PairSource = Union[str, "os.PathLike[str]", Iterable[Mapping[str, Any]]]
"""Where pairs come from: anything that :func:`~.rows.open_rows` opens."""


class PairRows:
    """The rows of pairs with `sentence1` and `sentence2`, or whatever else their columns are called.

    Bitext has `source` and `target`. A row whose second side is a list, as in `{"query": …, "pos": [..]}`, is a pair
    for each of its texts.

    Attributes:
        rows: The rows as :func:`~.rows.open_rows` opens them.
        columns: The names of all columns.
        sides: The names of the two columns of sentences.
        negatives: The columns with texts, or lists of texts, that are no paraphrase of the first side.
        label: The column that says whether a pair is a paraphrase; None without one.
        score: The column with scores of similarity; None without one.

    Args:
        source: The pairs.
        split: The split to read.
        positive_label: The label that means paraphrase, unless it is a usual one.
    """

    def __init__(self, source: PairSource, split: str = "train", *, positive_label: str | None = None) -> None:
        self.rows = open_rows(source, split, lists=True)
        self.path = self.rows.name
        self.columns = self.rows.columns
        is_bitext = {*_BITEXT_SIDES} <= {*self.columns} and not {*self.columns} & {*_SIDES}
        self.sides = _BITEXT_SIDES if is_bitext else _SIDES
        self.negatives = [name for name in self.columns if NEGATIVES.fullmatch(name)]
        self.label, self.score = find_label(self.columns, self.sides), find_score(self.columns, self.sides)
        self._labels = PairLabels(self.label or "", self.rows.class_names, positive=positive_label, path=self.path)

    def batches(
        self, columns: Sequence[str], *, max_pairs: int | None = None, seed: int = 0
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Stream blocks of columns, or of a random sample, with the numbers of their first rows."""
        require_columns(self.columns, columns, self.path)
        chosen: np.ndarray | None = None
        if max_pairs is not None and max_pairs < (count := self.rows.count()):
            chosen = np.zeros(count, bool)
            chosen[np.random.default_rng(seed).choice(count, max_pairs, replace=False)] = True
        start = 0
        for batch in self.rows.batches(columns):
            end = start + batch.num_rows
            yield start, self._one_pair_per_row(batch if chosen is None else batch.filter(pa.array(chosen[start:end])))
            start = end
        if not start:
            problem = f"split `{self.rows.split}` has no pairs"
            raise InputError(problem, path=self.path, remedy="give data with pairs, or another split")

    def _one_pair_per_row(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Repeat rows whose second side is a list, and check that the sides are text."""
        name = self.sides[1]
        if name in batch.schema.names and is_list(batch.schema.field(name).type):
            column = batch.column(name)
            batch = with_column(batch.take(pc.list_parent_indices(column)), name, pc.list_flatten(column))
        require_texts(batch.schema, self.path, self.sides)
        return batch

    def read_labels(self, batch: pa.RecordBatch, start: int = 0) -> pa.Array:
        """Read the labels of a block: 1 for a paraphrase, 0 for another pair, null for a pair without a label."""
        return self._labels.read(batch.column(self.label), start)

    def require_positive(self) -> None:
        """Check that `positive_label` occurred."""
        self._labels.require_positive()

    def read_scores(self, batch: pa.RecordBatch, start: int = 0) -> np.ndarray:
        """Read the scores of a block, from 0 to 1: (rows,), float32."""
        values = batch.column(self.score).to_pylist()
        for row, value in enumerate(values):
            if not (isinstance(value, int | float) and 0 <= value <= 1):
                problem = f"{self.score} {value!r} of `{batch.column(0)[row].as_py()}` is not between 0 and 1"
                remedy = f"check the rows from {start + 1} on; 1 is a paraphrase, 0 is not"
                raise InputError(problem, path=self.path, remedy=remedy)
        return np.array(values, np.float32)

    def texts(self, batch: pa.RecordBatch) -> tuple[list[str], list[str]]:
        """Return the two sides of a block; a missing value is an empty text."""
        first, second = ([text or "" for text in batch.column(name).to_pylist()] for name in self.sides)
        return first, second

    def negatives_of(self, batch: pa.RecordBatch) -> list[list[str]]:
        """Return for each pair of a block the texts in its columns of negatives."""
        negatives: list[list[str]] = [[] for _ in range(batch.num_rows)]
        for name in self.negatives:
            for texts, value in zip(negatives, batch.column(name).to_pylist(), strict=True):
                listed = value if isinstance(value, list) else [value]
                if not all(text is None or isinstance(text, str) for text in listed):
                    problem = f"the column {name} holds {listed[0]!r}"
                    raise InputError(problem, path=self.path, remedy="give texts, or lists of them")
                texts += [text for text in listed if text]
        return negatives


def iterate_pairs(
    pairs: PairSource, *, max_pairs: int | None = None, seed: int = 0, split: str = "train"
) -> Iterator[tuple[list[str], list[str]]]:
    """Stream the two sides of pairs or bitext, or of a random sample of them, a block at a time."""
    rows = PairRows(pairs, split)
    for _, batch in rows.batches(rows.sides, max_pairs=max_pairs, seed=seed):
        yield rows.texts(batch)
