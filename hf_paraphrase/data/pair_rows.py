"""Reads pairs of sentences, with their negatives, labels and scores if there are such columns.

The labels 1 and true mean a paraphrase. Class names are read by their meaning: `entailment`, `paraphrase` and
`duplicate` are paraphrases, however a data set numbers its classes. Any other label needs `--positive-label`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Union

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import InputError
from ..messages import log
from .rows import PAIR_ROLES, open_rows
from .schema import PAIRS, describe_columns, is_list, plain_name, require_columns, require_texts, with_column

_BITEXT_SIDES = ("source", "target")
NEGATIVES = re.compile(r"negatives?|negative_\d+|neg")
"""The names of columns with texts that are no paraphrase of the first sentence."""
PairSource = Union[str, "os.PathLike[str]", Iterable[Mapping[str, Any]]]
"""A source of pairs: anything that :func:`~.rows.open_rows` opens."""
_ONE_OR_ZERO = re.compile(r"[01]\.0*")
LABEL, SCORE = "label", "score"
"""Our names of the columns of labels (1 for a paraphrase, 0 for another pair) and of scores."""
_LABELS = (LABEL, "labels", "gold_label", "is_duplicate", "duplicate", "is_paraphrase", "paraphrase")
_SCORES = (SCORE, "scores", "similarity", "similarity_score", "relatedness_score")
_POSITIVE = (
    *("1", "true", "yes", "paraphrase", "paraphrases", "is_paraphrase", "duplicate", "is_duplicate", "equivalent"),
    *("semantically_equivalent", "entailment", "similar", "same", "positive"),
)
_NEGATIVE = (
    *("0", "false", "no", "neutral", "contradiction", "different", "dissimilar", "unrelated", "negative", "random"),
    *(f"{prefix}{word}" for word in _POSITIVE for prefix in ("not_", "non_", "no_", "un", "not_a_", "non")),
)


def find_label(names: Iterable[str], sides: Iterable[str] = PAIRS.names, usual: Sequence[str] = _LABELS) -> str | None:
    """Find the column of labels by its usual names, ignoring the columns `sides` of sentences."""
    present = {plain_name(name): name for name in names if name not in {*sides}}
    return next((present[name] for name in usual if name in present), None)


def find_score(names: Iterable[str], sides: Iterable[str] = PAIRS.names) -> str | None:
    """Find the column of scores by its usual names."""
    return find_label(names, sides, _SCORES)


class PairLabels:
    """Convert a column of labels to 1 for paraphrases, 0 for other pairs, and null for pairs without a label.

    Args:
        column: The name of the column, for messages.
        class_names: For each column of class numbers the names of the classes 0, 1, ….
        positive: The value, or the name or number of the class, that means paraphrase; all others mean another pair.
        path: The name of the data in messages.
    """

    def __init__(
        self,
        column: str,
        class_names: Mapping[str, Sequence[str]] | None = None,
        *,
        positive: str | None = None,
        path: str | None = None,
    ) -> None:
        self.column, self.positive, self._path = column, positive, path
        self._names = list((class_names or {}).get(column, ()))
        if positive in {*map(str, range(len(self._names)))} - {*self._names}:
            self.positive = self._names[int(positive)]  # a class by its number
        self._has_positive = False
        self._num_rows = self._num_missing = 0

    def finish(self, *, complete: bool = False) -> None:
        """Check that the positive label occurred, and warn of rows without a label, or refuse them if `complete`."""
        if self.positive is not None and not self._has_positive:
            classes = f"; the classes are {', '.join(self._names)}" if self._names else ""
            problem = f"no pair has the {self.column} `{self.positive}`"
            raise InputError(problem, path=self._path, remedy=f"check --positive-label{classes}")
        if self._num_missing:
            problem = f"{self._num_missing:,} of {self._num_rows:,} pairs have no {self.column}"
            is_empty = self._num_missing == self._num_rows
            if complete and not is_empty:
                raise InputError(problem, path=self._path, remedy="give every pair a label, or none")
            effect = "so each of them counts as a paraphrase" if is_empty else "and train-encoder refuses such pairs"
            log(f"{self._path or 'the pairs'}: {problem}, {effect}", warning=True)

    def read(self, values: pa.Array | pa.ChunkedArray, start: int = 0) -> pa.Array:
        """Read labels, and refuse a value without a meaning; `start` is the number of the first row in messages."""
        labels, readable = self.try_read(values)
        if not readable.all():
            row = int(np.argmin(readable))
            value = f"{self.column} {values[row]} of row {start + row + 1}"
            remedy = "name the label that means paraphrase, with --positive-label of prepare pairs or train-encoder"
            raise InputError(f"{value} does not say whether a pair is a paraphrase", path=self._path, remedy=remedy)
        return labels

    def try_read(self, values: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, np.ndarray]:
        """Read labels, and return which rows have a readable label or none at all: (rows,), bool."""
        values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        if pa.types.is_nested(values.type):
            problem = f"the column {self.column} is of type {values.type}, not of labels"
            raise InputError(problem, path=self._path, remedy="give one label per pair, such as 1 or 0")
        distinct = values.unique()
        meanings = [self._meaning(value) for value in distinct.to_pylist()]
        are_missing = [is_missing(value, self._names) for value in distinct.to_pylist()]
        self._has_positive |= 1 in meanings
        positions = pc.index_in(values, distinct)
        labels = pa.array(meanings, pa.int64()).take(positions)
        missing = pa.array(are_missing, pa.bool_()).take(positions)
        self._num_rows += len(labels)
        self._num_missing += missing.true_count
        return labels, pc.or_(labels.is_valid(), missing).to_numpy(zero_copy_only=False)

    def _meaning(self, value: object) -> int | None:
        if is_missing(value, self._names):
            return None
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(self._names):
            value = self._names[value]
        text = plain_name(f"{value:.12g}" if isinstance(value, float) else str(value))
        text = text[0] if _ONE_OR_ZERO.fullmatch(text) else text
        if self.positive is not None:
            return int(text == plain_name(self.positive))
        return 1 if text in _POSITIVE else 0 if text in _NEGATIVE else None


def is_missing(value: object, class_names: Sequence[str] = ()) -> bool:
    """Return whether a value means no label; in a column of classes -1 is the class of a row without one."""
    is_empty = isinstance(value, str) and not value.strip()
    return value is None or is_empty or value != value or (value == -1 and bool(class_names))


def require_label(names: Sequence[str], path: str) -> str:
    """Return the column of labels, or else of scores; refuse pairs without either."""
    if (name := find_label(names) or find_score(names)) is None:
        remedy = f"give pairs labelled 1 (paraphrase) or 0, or scored from 0 to 1; {describe_columns(names)}"
        raise InputError("the pairs have no column `label` or `score`", path=path, remedy=remedy)
    return name


class PairRows:
    """Pairs in the columns `sentence1` and `sentence2`, or `source` and `target`, or with other usual names.

    A row with a list as its second sentence, as in `{"query": …, "pos": [..]}`, is a pair for each text of the list.

    Attributes:
        rows: The rows as :func:`~.rows.open_rows` opens them.
        columns: The names of all columns.
        sides: The names of the two columns of sentences.
        negatives: The columns with texts, or lists of texts, that are no paraphrase of the first sentence.
        label: The column of labels; None without one.
        score: The column with scores of similarity; None without one.
        labels: Reads the labels: 1 for a paraphrase, 0 for another pair, null for a pair without a label.
    """

    def __init__(self, source: PairSource, split: str = "train", *, positive_label: str | None = None) -> None:
        self.rows = open_rows(source, split, lists=True)
        self.path = self.rows.name
        self.columns = self.rows.columns
        is_bitext = {*_BITEXT_SIDES} <= {*self.columns} and not {*self.columns} & {*PAIR_ROLES}
        self.sides = _BITEXT_SIDES if is_bitext else PAIR_ROLES
        self.negatives = [name for name in self.columns if NEGATIVES.fullmatch(name)]
        self.label, self.score = find_label(self.columns, self.sides), find_score(self.columns, self.sides)
        self.labels = PairLabels(self.label or "", self.rows.class_names, positive=positive_label, path=self.path)

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
        """Make a row for each text of a list of second sentences, and check that sentences are text."""
        name = self.sides[1]
        if name in batch.schema.names and is_list(batch.schema.field(name).type):
            column = batch.column(name)
            batch = with_column(batch.take(pc.list_parent_indices(column)), name, pc.list_flatten(column))
        require_texts(batch.schema, self.path, self.sides)
        return batch

    def read_scores(self, batch: pa.RecordBatch, start: int = 0) -> np.ndarray:
        """Read the scores of a block, from 0 to 1: (rows,), float32."""
        values = batch.column(self.score).to_pylist()
        for row, value in enumerate(values):
            if not (isinstance(value, int | float | Decimal) and 0 <= value <= 1):
                problem = f"{self.score} {value!r} of `{batch[0][row]}` is not a number between 0 and 1"
                remedy = f"check the rows from {start + 1} on; 1 is a paraphrase, 0 is not"
                raise InputError(problem, path=self.path, remedy=remedy)
        return np.array(values, np.float32)

    def texts(self, batch: pa.RecordBatch) -> tuple[list[str], list[str]]:
        """Return the first and the second sentences of a block; a missing value is an empty text."""
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
    """Stream the first and second sentences of pairs or bitext, or of a random sample, block by block."""
    rows = PairRows(pairs, split)
    for _, batch in rows.batches(rows.sides, max_pairs=max_pairs, seed=seed):
        yield rows.texts(batch)
