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
    """Names a file or folder in an `InputError` of the block that names none."""
    try:
        yield
    except InputError as error:
        error.path = error.path or os.fspath(path)
        raise


def lines_of_file(source: Path) -> Iterator[list[str]]:
    """Streams the lines of a file in lists of at most 20,000; refuses one that holds records with columns."""
    refuse_records(source)
    yield from _in_lists(lines_of_text(source))


def lines_of_standard_input() -> Iterator[list[str]]:
    """Streams the lines of standard input in lists of at most 20,000, by the rules that hold for files."""
    blocks = iter(partial(sys.stdin.buffer.read, BLOCK_BYTES), b"")
    yield from _in_lists(lines_of_blocks(blocks, "standard input"))


def _in_lists(blocks: Iterable[list[str]]) -> Iterator[list[str]]:
    for lines in blocks:
        for start in range(0, len(lines), _BLOCK_LINES):
            yield lines[start : start + _BLOCK_LINES]


class SentenceCorpus:
    """A file with one sentence per line, or the text columns of a data folder, a CSV, JSON lines or Parquet file."""

    def __init__(self, path: Path, columns: Sequence[str] = (), split: str | None = None) -> None:
        self.path, self.split = path, split or "train"
        self.columns: list[str] = []
        kind = "folder" if path.is_dir() else kind_of_rows(path)
        self._kind = "folder" if kind == "parquet" and split is None else kind
        if self._kind is not None and (self._kind == "folder" or split is None):
            self._choose(columns)
        elif columns or split is not None:
            name = "columns" if split is None else "split"
            problem, remedy = f"a {self._kind or 'text'} file has no {name}", f"leave --{name} out"
            raise InputError(problem, path=path, remedy=remedy)
        else:
            check_readable(path)

    def _choose(self, columns: Sequence[str]) -> None:
        # A file of text needs none of them.
        from .folder import DataFolder
        from .records import schema_of_file
        from .schema import columns_named, columns_there, require_columns, require_texts

        if self._kind == "folder":
            self._folder = DataFolder(self.path)
            self._schema = self._folder.schema(self.split)
        else:
            self._schema = schema_of_file(self.path, self._kind)
        present = self._schema.names
        columns = columns_named(columns, present)
        require_columns(present, columns, str(self.path))
        self.columns = columns or [name for name in DEFAULT_COLUMNS if name in present]
        if not self.columns:
            remedy = f"{columns_there(present)}; rename one to sentence, or name it with --columns, if the verb has it"
            raise InputError(f"no column is called {', '.join(DEFAULT_COLUMNS)}", path=self.path, remedy=remedy)
        if self._kind == "folder":
            require_texts(self._schema, str(self.path), self.columns)

    def blocks(self) -> Iterator[list[str | None]]:
        """Streams the texts; those of a data folder row by row, the columns of a row after each other."""
        if not self.columns:
            return map(list, lines_of_file(self.path))
        return map(self._texts, self._batches(()))

    def _texts(self, batch: Any) -> list[str | None]:
        sides = [batch[name].to_pylist() for name in self.columns]
        return [text for row in zip(*sides, strict=True) for text in row]

    def tables(self) -> Iterator[pa.Table]:
        """Streams the texts of :meth:`blocks` as the column `sentence`, beside other columns of their rows."""
        import numpy as np
        import pyarrow as pa

        from .schema import holds_values, int64_array

        if not self.columns:
            yield from (pa.table({"sentence": lines}) for lines in lines_of_file(self.path))
            return
        taken = {*self.columns, "sentence", "position", ""}
        present = [field.name for field in self._schema if holds_values(field.type)]
        others = [name for name in present if name not in taken and present.count(name) == 1]
        for batch in self._batches(others):
            texts = self._texts(batch)
            rows = int64_array(np.arange(len(texts)) // len(self.columns))
            columns = [batch[name].take(rows) for name in others]
            plain = [column.dictionary_decode() if hasattr(column, "indices") else column for column in columns]
            yield pa.table([pa.array(texts, pa.string()), *plain], names=["sentence", *others])

    def _batches(self, others: Sequence[str]) -> Iterator[Any]:
        """Streams the columns of texts and some others, each batch with arrays by their names."""
        if self._kind == "folder":
            yield from self._folder.batches(self.split, [*self.columns, *others])
            return
        from .records import json_types, read_records
        from .text_blocks import StrictLines

        names = {name: name for name in [*self.columns, *others]}
        types = json_types(self.path, others) if self._kind == "jsonl" and others else {}
        for _, texts in read_records(self.path, str(self._kind), names, StrictLines(), optional=others):
            yield {name: texts[name].cast(types.get(name, texts[name].type)) for name in names}
