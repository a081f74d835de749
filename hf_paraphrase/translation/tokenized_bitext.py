"""A bitext of any size in memory-mapped Arrow files: its cleaned text and its tokens."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from torch.utils.data import Dataset
from transformers import PreTrainedTokenizerBase

from ..artefacts.files import atomic_write
from ..data.rows import Rows
from ..errors import InputError
from ..threads import available_cores, mapped_in_order
from .bitext import COLUMNS, clean_rows

_ROWS_PER_BATCH = 10_000
_ROWS_WORTH_A_PROCESS = 100_000
"""Cleaning fewer rows takes less time than starting another process."""
_TEXTS = pa.schema({"source": pa.large_string(), "target": pa.large_string()})
_TOKENS = pa.schema({"input_ids": pa.list_(pa.int32()), "labels": pa.list_(pa.int32())})


class ArrowRows(Dataset[dict[str, Any]]):
    """The rows of a memory-mapped Arrow file as dictionaries."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = pa.ipc.open_file(pa.memory_map(os.fspath(path)))
        self.table: pa.Table = self._file.read_all()

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {name: self.table[name][index].as_py() for name in self.table.column_names}

    def batches(self, column: str) -> Iterator[list[Any]]:
        """Yield the values of a column, a batch of rows at a time."""
        for chunk in self.table[column].chunks:
            yield chunk.to_pylist()

    def lengths(self) -> np.ndarray:
        """Return the length of the longest list in each row (rows,)."""
        counts = [pc.list_value_length(self.table[name]).to_numpy() for name in self.table.column_names]
        return np.asarray(np.maximum.reduce(counts))


def write_texts(
    path: Path, bitexts: Sequence[Rows], *, max_words: int, moses: bool, max_rows: int | None = None
) -> int:
    """Write the cleaned pairs of bitexts to an Arrow file, in their order; return the number of pairs left out.

    Pairs with more than `max_words` words in the source or the target, or with a blank one, are left out. With `moses`
    punctuation is normalized as RNNsearch needs it. At most `max_rows` pairs of each bitext are read.
    """
    tables = (table for rows in bitexts for table in rows.tables(COLUMNS, stop=max_rows, size=_ROWS_PER_BATCH))
    total = sum(rows.count() for rows in bitexts)
    workers = min(available_cores(), total // _ROWS_WORTH_A_PROCESS)
    clean = partial(clean_rows, max_words=max_words, moses=moses)
    kept = left_out = 0
    # A forked process would inherit the locks of the libraries' threads.
    pool = ProcessPoolExecutor(workers, get_context("spawn")) if workers > 1 else None
    with pool or nullcontext(), _new_file(path, _TEXTS) as writer:
        cleaned = map(clean, tables) if pool is None else mapped_in_order(clean, tables, workers, pool)
        for sides in cleaned:
            kept, left_out = kept + len(sides.sources), left_out + sides.left_out
            if sides.sources:
                writer.write(pa.record_batch({"source": sides.sources, "target": sides.targets}, schema=_TEXTS))
    if not kept:
        problem = f"none of the {left_out} sentence pairs has 1 to {max_words} words in both sentences"
        raise InputError(problem, remedy="check the bitext; train-nmt also has --max-words")
    return left_out


def write_tokens(
    path: Path,
    texts: ArrowRows,
    tokenizer: PreTrainedTokenizerBase,
    *,
    max_tokens: int | None = None,
    prefix: str = "",
    special: bool = True,
) -> int:
    """Write the tokens of cleaned pairs to an Arrow file; return the number of pairs left out.

    Pairs are left out if the source or the target, without the end token, exceeds the tokenizer's limit or
    `max_tokens` (50 in the reference code). `prefix` is put before every source. `special` adds the special tokens.
    """
    longest = min(tokenizer.model_max_length, tokenizer.model_max_length if max_tokens is None else max_tokens + 1)
    options: dict[str, Any] = {"verbose": False, "add_special_tokens": special}
    kept = left_out = 0
    with _new_file(path, _TOKENS) as writer:
        for sources, targets in zip(texts.batches("source"), texts.batches("target"), strict=True):
            input_ids = tokenizer([prefix + source for source in sources], **options)["input_ids"]
            labels = tokenizer(text_target=targets, **options)["input_ids"]
            pairs = [pair for pair in zip(input_ids, labels, strict=True) if max(map(len, pair)) <= longest]
            kept, left_out = kept + len(pairs), left_out + len(sources) - len(pairs)
            if pairs:
                columns = dict(zip(_TOKENS.names, zip(*pairs, strict=True), strict=True))
                writer.write(pa.record_batch({name: list(rows) for name, rows in columns.items()}, schema=_TOKENS))
    if not kept:
        problem = f"none of the {left_out} sentence pairs has at most {longest - 1} tokens in both sentences"
        raise InputError(problem, remedy="raise --max-units or --vocab-size")
    return left_out


@contextmanager
def _new_file(path: Path, schema: pa.Schema) -> Iterator[pa.RecordBatchFileWriter]:
    """Open an Arrow file to write; mappings of an older file of that name stay valid."""
    with (
        atomic_write(path) as temporary,
        pa.OSFile(str(temporary), "wb") as sink,
        pa.ipc.new_file(sink, schema) as writer,
    ):
        yield writer
