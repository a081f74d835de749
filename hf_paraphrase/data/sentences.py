"""Sentences in blocks: the lines of a file or of standard input, or the text columns of rows of any kind.

Lines need no Arrow, so a static encoder embeds files without it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.fsspec_path import to_path
from ..errors import InputError, StrPath
from ..messages import log
from .text_blocks import BLOCK_BYTES, check_readable, kind_of_rows, lines_of_blocks, read_blocks, refuse_records

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK_LINES = 20_000


@contextmanager
def naming(path: StrPath) -> Iterator[None]:
    """Add a path to an `InputError` that the block raises without one."""
    try:
        yield
    except InputError as error:
        error.path = error.path or os.fspath(path)
        raise


def lines_of_file(source: Path) -> Iterator[list[str]]:
    """Stream the lines of a file in lists of at most 20,000; refuse CSV, JSON lines and Parquet files."""
    refuse_records(source)
    yield from _in_lists(lines_of_blocks(read_blocks(source), source))


def lines_of_standard_input() -> Iterator[list[str]]:
    """Stream the lines of standard input in lists of at most 20,000, by the rules for files."""
    blocks = iter(partial(sys.stdin.buffer.read, BLOCK_BYTES), b"")
    yield from _in_lists(lines_of_blocks(blocks, "standard input"))


def _in_lists(blocks: Iterable[list[str]]) -> Iterator[list[str]]:
    for lines in blocks:
        for start in range(0, len(lines), _BLOCK_LINES):
            yield lines[start : start + _BLOCK_LINES]


class SentenceCorpus:
    """A file with one sentence per line, or the text columns of rows that :func:`~.rows.open_rows` opens.

    The `options` are the fields of :class:`~.text_blocks.FormatSettings`.
    """

    def __init__(self, source: Any, columns: Sequence[str] = (), split: str | None = None, **options: Any) -> None:
        from .rows import open_rows

        if isinstance(source, str | os.PathLike):
            source = to_path(source)
        self.path, self.split = source, split or "train"
        is_file = isinstance(source, os.PathLike) and to_path(source).is_file()
        is_text = is_file and kind_of_rows(source) is None
        if is_text:
            if columns or split is not None:
                name = "columns" if split is None else "split"
                raise InputError(f"a text file has no {name}", path=source, remedy=f"leave --{name} out")
            check_readable(source)
        self._rows = open_rows(source, split if is_file else self.split, **options)
        self._columns = self._rows.text_columns(self._rows.columns_named(columns))
        self.columns: list[str] = [] if is_text else self._columns

    def blocks(self) -> Iterator[list[str | None]]:
        """Stream the texts row by row, the columns of a row after each other."""
        return map(self._texts, self._rows.batches(self._columns))

    def _texts(self, batch: Any) -> list[str | None]:
        sides = [batch.column(name).to_pylist() for name in self._columns]
        return [text for row in zip(*sides, strict=True) for text in row]

    def tables(self) -> Iterator[pa.Table]:
        """Stream the texts of :meth:`blocks` as the column `sentence`; repeat the remaining columns."""
        import numpy as np
        import pyarrow as pa

        from .schema import is_number, is_text, with_class_names

        def holds_values(kind: pa.DataType) -> bool:
            return is_text(kind) or is_number(kind) or pa.types.is_temporal(kind)

        taken = {*self._columns, "sentence", "position", ""}
        others = [field.name for field in self._rows.schema if holds_values(field.type) and field.name not in taken]
        if lost := [name for name in self._rows.columns if name not in {*self._columns, *others, ""}]:
            log(f"{self._rows.name}: columns that an index cannot keep are left out: {', '.join(lost)}", warning=True)
        for batch in map(with_class_names, self._rows.batches([*self._columns, *others])):
            texts = self._texts(batch)
            rows = np.repeat(np.arange(batch.num_rows), len(self._columns))
            # `pyarrow.array` would import pandas.
            repeats = pa.Int64Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(rows)])
            columns = [batch.column(name).take(repeats) for name in others]
            yield pa.table([pa.array(texts, pa.string()), *columns], names=["sentence", *others])
