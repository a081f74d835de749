"""The sentences of a corpus on disk, streamed in and taken out again by their numbers."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from ...data.arrow_arrays import int64_array
from ...data.folder import DataFolder
from ...data.parquet_files import open_shard, table_of
from ...data.schema import require_columns

SENTENCES = pa.schema([("sentence", pa.string()), ("position", pa.int64())])
"""A corpus: each sentence, and its place in the input, from 1."""
ROWS_PER_GROUP = 10_000
"""Rows that are read together; few enough for taking some out, many enough for streaming."""


class SentenceTable:
    """The split `train` of a data folder of sentences, of which single rows are read without reading all."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._groups: list[tuple[Path, int]] = []
        sizes: list[int] = []
        for path in DataFolder(folder).shards("train"):
            with open_shard(path) as file:
                require_columns(file.schema_arrow.names, SENTENCES.names, str(path))
                self._groups += [(path, number) for number in range(file.num_row_groups)]
                sizes += [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
        self._edges = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)

    def __len__(self) -> int:
        return int(self._edges[-1])

    def take(self, rows: NDArray[np.int64]) -> pa.Table:
        """Reads the given rows (rows,), in the given order, with the columns `sentence` and `position`."""
        rows = np.asarray(rows, np.int64)
        order = np.argsort(rows, kind="stable")
        ordered = rows[order]
        places = np.searchsorted(ordered, self._edges)
        parts = [
            self._read(group).take(int64_array(ordered[places[group] : places[group + 1]] - self._edges[group]))
            for group in np.flatnonzero(np.diff(places)).tolist()
        ]
        if not parts:
            return SENTENCES.empty_table()
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return pa.concat_tables(parts).combine_chunks().take(int64_array(back))

    def sentences(self, rows: NDArray[np.int64]) -> list[str]:
        """Reads the sentences of the given rows (rows,) in the given order."""
        return self.take(rows).column("sentence").to_pylist()

    def _read(self, group: int) -> pa.Table:
        path, number = self._groups[group]
        with open_shard(path) as file:
            return table_of(file, path, SENTENCES.names, row_groups=[number]).cast(SENTENCES)


def text_keys(texts: list[str]) -> NDArray[np.uint64]:
    """Computes a number for each text, the same for texts that differ in case and spacing only (texts,)."""
    return _hashes([" ".join(text.lower().split()) for text in texts])


class RepeatedTexts:
    """Returns which texts of a stream were there before; 8 bytes of memory for each different one.

    Texts are compared by 64-bit hashes: in a million texts two different ones share one with a probability of 3e-8.
    """

    def __init__(self) -> None:
        self._seen = np.empty(0, np.uint64)

    def new(self, texts: list[str]) -> NDArray[np.bool_]:
        """Marks the texts of the next block that were neither in it nor in an earlier block before (texts,)."""
        hashes = _hashes(texts)
        different, first = np.unique(hashes, return_index=True)
        place = np.searchsorted(self._seen, different)
        repeated = np.zeros(len(different), bool)
        inside = place < len(self._seen)
        repeated[inside] = self._seen[place[inside]] == different[inside]
        fresh = np.zeros(len(texts), bool)
        fresh[first[~repeated]] = True
        # Merging two sorted runs is what this sort is best at.
        self._seen = np.sort(np.concatenate([self._seen, different[~repeated]]), kind="stable")
        return fresh


def _hashes(texts: list[str]) -> NDArray[np.uint64]:
    return np.fromiter(map(xxhash.xxh3_64_intdigest, map(str.encode, texts)), np.uint64, len(texts))
