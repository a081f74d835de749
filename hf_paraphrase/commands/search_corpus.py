"""The sentences that `search` makes an index of: the lines of a file, or columns of a data folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from ..data.parquet import iterate_batches, read_schema
from ..data.schema import columns_named, require_columns
from ..data.text_files import check_readable, read_lines
from ..errors import InputError
from .encode import StrictLines

DEFAULT_COLUMNS = ("sentence", "text", "sentence1", "sentence2")
_BLOCK_LINES = 20_000


class Corpus:
    """A file with one sentence a line, or the text columns of a data folder.

    Args:
        path: A plain or compressed text file, or a data folder.
        columns: The columns of a data folder to read, one by one or with commas between them; by default those of
            :data:`DEFAULT_COLUMNS` that there are.
        split: The split of a data folder; `train` by default.

    Raises:
        InputError: If it is missing or empty, or has no such column of text.
    """

    def __init__(self, path: Path, columns: Sequence[str] = (), split: str | None = None) -> None:
        self.path, self.split = path, split or "train"
        self.columns: list[str] = []
        if path.is_dir():
            schema = read_schema(path, self.split)
            columns = columns_named(columns, schema.names)
            require_columns(schema.names, columns, str(path))
            self.columns = columns or [name for name in DEFAULT_COLUMNS if name in schema.names]
            if not self.columns:
                raise InputError(
                    f"no column is called {', '.join(DEFAULT_COLUMNS)}",
                    path=path,
                    remedy=f"name the columns to read with --columns: {', '.join(schema.names)}",
                )
            for name in self.columns:
                kind = schema.field(name).type
                if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
                    raise InputError(f"the column `{name}` is of {kind}, not of text", path=path)
        elif columns or split is not None:
            raise InputError("columns and splits are those of a data folder, but this is a file", path=path)
        else:
            check_readable(path)

    def blocks(self) -> Iterator[list[str | None]]:
        """Streams the texts; those of a data folder row by row, the columns of a row after each other."""
        if self.columns:
            for batch in iterate_batches(self.path, self.split, self.columns):
                sides = [batch.column(name).to_pylist() for name in self.columns]
                yield [text for row in zip(*sides, strict=True) for text in row]
            return
        for lines in read_lines(self.path, StrictLines()):
            for start in range(0, len(lines), _BLOCK_LINES):
                yield lines.slice(start, _BLOCK_LINES).to_pylist()
