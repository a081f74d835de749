"""Sentences in blocks: the lines of a file or of standard input, or the text columns of a data folder or file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, StrPath
from ..messages import log
from .text_blocks import (
    BLOCK_BYTES,
    DEFAULT_COLUMNS,
    check_readable,
    kind_of_rows,
    lines_of_blocks,
    lines_of_text,
    refuse_records,
)

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK_LINES = 20_000


@contextmanager
def naming(path: StrPath) -> Iterator[None]:
    """Name a file or folder in an `InputError` of the block that names none."""
    try:
        yield
    except InputError as error:
        error.path = error.path or os.fspath(path)
        raise


def lines_of_file(source: Path, encoding: str | None = None) -> Iterator[list[str]]:
    """Stream the lines of a file in lists of at most 20,000; refuse one that holds records with columns."""
    refuse_records(source)
    yield from _in_lists(lines_of_text(source, encoding))


def lines_of_standard_input() -> Iterator[list[str]]:
    """Stream the lines of standard input in lists of at most 20,000, by the rules that hold for files."""
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
        self.path, self.split, self._options = source, split or "train", options
        self.columns: list[str] = []
        is_file = isinstance(source, str | os.PathLike) and Path(source).is_file()
        if not is_file or kind_of_rows(Path(source)) is not None:
            self._open(columns, split if is_file else self.split)
        elif columns or split is not None:
            name = "columns" if split is None else "split"
            raise InputError(f"a text file has no {name}", path=source, remedy=f"leave --{name} out")
        else:
            check_readable(Path(source))

    def _open(self, columns: Sequence[str], split: str | None) -> None:
        # Text files do not need these modules.
        from .rows import open_rows
        from .schema import columns_named, columns_there, require_texts

        self._rows = open_rows(self.path, split, **self._options)
        present = self._rows.columns
        columns = columns_named(columns, present)
        self._rows.require(*columns)
        self.columns = columns or [name for name in DEFAULT_COLUMNS if name in present]
        if not self.columns:
            remedy = f"{columns_there(present)}; rename one to sentence, or name it with --columns"
            problem = f"no column is called {', '.join(DEFAULT_COLUMNS)}"
            raise InputError(problem, path=self._rows.name, remedy=remedy)
        require_texts(self._rows.schema, self._rows.name, self.columns)

    def blocks(self) -> Iterator[list[str | None]]:
        """Stream the texts row by row, the columns of a row after each other."""
        if not self.columns:
            return map(list, self._lines())
        return map(self._texts, self._rows.batches(self.columns))

    def _lines(self) -> Iterator[list[str]]:
        return lines_of_file(Path(self.path), self._options.get("encoding"))

    def _texts(self, batch: Any) -> list[str | None]:
        sides = [batch.column(name).to_pylist() for name in self.columns]
        return [text for row in zip(*sides, strict=True) for text in row]

    def tables(self) -> Iterator[pa.Table]:
        """Stream the texts of :meth:`blocks` as the column `sentence`; repeat the remaining columns."""
        import numpy as np
        import pyarrow as pa

        from .schema import holds_values, int64_array

        if not self.columns:
            yield from (pa.table({"sentence": lines}) for lines in self._lines())
            return
        taken = {*self.columns, "sentence", "position", ""}
        others = [field.name for field in self._rows.schema if holds_values(field.type) and field.name not in taken]
        if lost := [name for name in self._rows.columns if name not in {*self.columns, *others, ""}]:
            log(f"{self._rows.name}: columns that an index cannot keep are left out: {', '.join(lost)}", warning=True)
        for batch in self._rows.batches([*self.columns, *others]):
            texts = self._texts(batch)
            repeats = int64_array(np.arange(len(texts)) // len(self.columns))
            columns = [batch.column(name).take(repeats) for name in others]
            yield pa.table([pa.array(texts, pa.string()), *columns], names=["sentence", *others])
