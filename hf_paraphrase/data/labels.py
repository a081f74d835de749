"""Read which pairs are paraphrases, from labels of any type and spelling.

The labels 1 and true mean a paraphrase. Class names are read by what they say: `entailment`, `paraphrase` and
`duplicate` are paraphrases, however a data set numbers its classes. Any other label needs `--positive-label`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import InputError
from .schema import PAIRS, columns_there, plain_name

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


def find_label(names: Iterable[str], sides: Iterable[str] = PAIRS.names) -> str | None:
    """Find the column of labels by its usual names; a side of the pairs is none."""
    return _find(names, sides, _LABELS)


def find_score(names: Iterable[str], sides: Iterable[str] = PAIRS.names) -> str | None:
    """Find the column of scores by its usual names."""
    return _find(names, sides, _SCORES)


def _find(names: Iterable[str], sides: Iterable[str], usual: Sequence[str]) -> str | None:
    present = {plain_name(name): name for name in names if name not in {*sides}}
    return next((present[name] for name in usual if name in present), None)


class PairLabels:
    """Turns a column of labels into 1 for paraphrases, 0 for other pairs, and null where a pair has no label.

    Args:
        column: The name of the column, for messages.
        class_names: For each column of class numbers the names of the classes 0, 1, ….
        positive: The value, or the name or number of the class, that means paraphrase; all others mean another pair.
        path: What messages call the data.
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

    def require_positive(self) -> None:
        """Check that the label given as the positive one occurred in the rows that were read."""
        if self.positive is not None and not self._has_positive:
            classes = f"; the classes are {', '.join(self._names)}" if self._names else ""
            problem = f"no pair has the {self.column} `{self.positive}`"
            raise InputError(problem, path=self._path, remedy=f"check --positive-label{classes}")

    def read(self, values: pa.Array | pa.ChunkedArray, start: int = 0) -> pa.Array:
        """Read labels; `start` is the number of their first row, for messages.

        Raises:
            InputError: If a value does not say whether a pair is a paraphrase.
        """
        labels, readable = self.try_read(values)
        if not readable.all():
            row = int(np.argmin(readable))
            problem = (
                f"{self.column} {values[row]} of row {start + row + 1} does not say whether a pair is a paraphrase"
            )
            remedy = "name the label that means paraphrase: --positive-label, or prepare pairs --positive-label"
            raise InputError(problem, path=self._path, remedy=remedy)
        return labels

    def try_read(self, values: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, np.ndarray]:
        """Read labels, and return which rows have one that can be read, or none at all: (rows,), bool."""
        values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        distinct = values.unique()
        meanings = [self._meaning(value) for value in distinct.to_pylist()]
        is_known = [
            meaning is not None or self._is_missing(value)
            for meaning, value in zip(meanings, distinct.to_pylist(), strict=True)
        ]
        self._has_positive |= 1 in meanings
        positions = pc.index_in(values, distinct)
        readable = pa.array(is_known, pa.bool_()).take(positions).to_numpy(zero_copy_only=False)
        return pa.array(meanings, pa.int64()).take(positions), readable

    def _meaning(self, value: object) -> int | None:
        if self._is_missing(value):
            return None
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(self._names):
            value = self._names[value]
        text = plain_name(f"{value:.12g}" if isinstance(value, float) else str(value))
        text = text[0] if _ONE_OR_ZERO.fullmatch(text) else text
        if self.positive is not None:
            return int(text == plain_name(self.positive))
        return 1 if text in _POSITIVE else 0 if text in _NEGATIVE else None

    def _is_missing(self, value: object) -> bool:
        # In a column of classes -1 is the class of a row without one.
        is_empty = isinstance(value, str) and not value.strip()
        return value is None or is_empty or value != value or (value == -1 and bool(self._names))


def require_label(names: Sequence[str], path: str) -> str:
    """Find the column of labels, or else of scores, which there must be."""
    if (name := find_label(names) or find_score(names)) is None:
        remedy = f"give pairs labelled 1 (paraphrase) or 0, or scored from 0 to 1; {columns_there(names)}"
        raise InputError("the pairs have no column `label` or `score`", path=path, remedy=remedy)
    return name
