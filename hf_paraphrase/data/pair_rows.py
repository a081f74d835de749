"""The rows of pairs, wherever they are: in a data folder, in a `datasets.Dataset`, or in dictionaries."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Union

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..artefacts.remote_paths import to_path
from ..errors import InputError, UsageError
from .folder import BATCH_ROWS, DataFolder
from .schema import is_list, require_columns, require_texts, usual_pair_columns, with_column

_SIDES = ("sentence1", "sentence2")
_BITEXT_SIDES = ("source", "target")
_NEGATIVES = re.compile(r"negatives?|negative_\d+|neg")
PairSource = Union[str, "os.PathLike[str]", Iterable[Mapping[str, Any]]]
"""Where pairs come from: what :class:`~.folder.DataFolder` opens, a `Dataset` or `IterableDataset` of `datasets`, or
dictionaries."""


class PairRows:
    """The rows of pairs with `sentence1` and `sentence2`, or whatever else their columns are called.

    Bitext has `source` and `target`. A row whose second side is a list, as in `{"query": …, "pos": [..]}`, is a pair
    for each of its texts. `columns` are all columns, `sides` those with the sentences, and `negatives` those with
    texts, or lists of texts, that are no paraphrase of the first side.
    """

    def __init__(self, source: PairSource, split: str = "train") -> None:
        self.split = split
        self.path = to_path(source) if isinstance(source, str | os.PathLike) else None
        self.folder: DataFolder | None = None
        self._source: Any = source
        names: Any = getattr(source, "column_names", None)
        if isinstance(source, str | os.PathLike):
            self.folder = DataFolder(source, lists=True)
            names = self.folder.schema(split).names
            if not self.folder.count(split):
                raise InputError(f"split `{split}` has no pairs", path=self.path, remedy="give a folder with pairs")
        elif isinstance(names, dict):
            raise UsageError(f"this has the splits {', '.join(names)}", remedy='give one of them, as ["train"]')
        elif not hasattr(source, "iter"):
            self._source = _dataset_of(source)
            names = self._source.column_names
        elif names is None:  # of a stream of which nothing has been read
            names = next(iter(source), {})
        present = list(names)
        is_bitext = {*_BITEXT_SIDES} <= {*present} and not {*present} & {*_SIDES}
        # The names in the source of sides that have other names than ours.
        self._theirs = {} if is_bitext else usual_pair_columns(present)
        ours = {theirs: name for name, theirs in self._theirs.items()}
        self.columns = [ours.get(name, name) for name in present]
        self.sides = _BITEXT_SIDES if is_bitext else _SIDES
        self.negatives = [name for name in self.columns if _NEGATIVES.fullmatch(name)]

    def batches(
        self, columns: Sequence[str], *, max_pairs: int | None = None, seed: int = 0
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Streams blocks of columns, or of a random sample of a folder, with the numbers of their first rows."""
        require_columns(self.columns, columns, str(self.path or "the pairs"))
        chosen: np.ndarray | None = None
        if self.folder is not None and max_pairs is not None and max_pairs < (rows := self.folder.count(self.split)):
            chosen = np.zeros(rows, bool)
            chosen[np.random.default_rng(seed).choice(rows, max_pairs, replace=False)] = True
        blocks = self.folder.batches(self.split, columns) if self.folder else self._batches_of_dataset(columns)
        start = 0
        for batch in blocks:
            end = start + batch.num_rows
            yield start, self._one_pair_a_row(batch if chosen is None else batch.filter(pa.array(chosen[start:end])))
            start = end

    def _batches_of_dataset(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        theirs = {name: self._theirs.get(name, name) for name in columns}
        try:
            for block in self._source.select_columns(list(theirs.values())).iter(batch_size=BATCH_ROWS):
                yield pa.RecordBatch.from_pydict({name: list(block[key]) for name, key in theirs.items()})
        except (pa.ArrowException, TypeError) as error:
            raise InputError(f"the rows of pairs differ in type: {error}", remedy="give rows of one type") from error

    def _one_pair_a_row(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Repeats rows whose second side is a list, and checks that the sides are text."""
        name = self.sides[1]
        if name in batch.schema.names and is_list(batch.schema.field(name).type):
            column = batch.column(name)
            batch = with_column(batch.take(pc.list_parent_indices(column)), name, pc.list_flatten(column))
        require_texts(batch.schema, str(self.path or "the pairs"), self.sides)
        return batch

    def texts(self, batch: pa.RecordBatch) -> tuple[list[str], list[str]]:
        """Returns the two sides of a block; a missing value is an empty text."""
        first, second = ([text or "" for text in batch.column(name).to_pylist()] for name in self.sides)
        return first, second

    def negatives_of(self, batch: pa.RecordBatch) -> list[list[str]]:
        """Returns for each pair of a block the texts in its columns of negatives."""
        found: list[list[str]] = [[] for _ in range(batch.num_rows)]
        for name in self.negatives:
            for texts, value in zip(found, batch.column(name).to_pylist(), strict=True):
                listed = value if isinstance(value, list) else [value]
                if not all(item is None or isinstance(item, str) for item in listed):
                    problem = f"the column {name} holds {listed[0]!r}"
                    raise InputError(problem, path=self.path, remedy="give texts, or lists of them")
                texts += [item for item in listed if item]
        return found


def _dataset_of(rows: Any) -> Any:
    from datasets import Dataset

    try:
        listed = [dict(row) for row in rows]
        dataset = Dataset.from_list(listed)
    except (pa.ArrowException, TypeError, ValueError) as error:
        problem = f"{type(rows).__name__} is not a source of pairs: {error}"
        remedy = "give a data folder, a Dataset, or dictionaries with sentence1 and sentence2"
        raise UsageError(problem, remedy=remedy) from error
    if not listed:
        raise InputError("there are no pairs", remedy="give dictionaries with sentence1 and sentence2")
    return dataset


def iterate_pairs(
    pairs: PairSource, *, max_pairs: int | None = None, seed: int = 0, split: str = "train"
) -> Iterator[tuple[list[str], list[str]]]:
    """Streams the two sides of pairs or bitext, or of a random sample of a data folder, a block at a time."""
    rows = PairRows(pairs, split)
    for _, batch in rows.batches(rows.sides, max_pairs=max_pairs, seed=seed):
        yield rows.texts(batch)
