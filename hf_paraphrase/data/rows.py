"""Opens rows of any kind: folders, files, datasets on the Hub, and tables in memory.

:func:`open_rows` returns :class:`Rows`, a lazy stream of Arrow batches. The two columns of pairs are renamed to
`sentence1` and `sentence2`, all others keep their names. Memory holds one batch, and files are not copied.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..artefacts.fsspec_path import to_path
from ..errors import InputError, UsageError
from .layout import Layout, find_layout, name_load_errors
from .readers import BATCH_ROWS, READERS, FileReader, ParquetReader, cast_rows
from .schema import (
    class_metadata,
    class_names_of,
    columns_named,
    describe_columns,
    is_text,
    plain_type,
    require_columns,
    require_texts,
    usual_pair_columns,
)
from .text_blocks import DEFAULT_COLUMNS, LineErrors

PAIR_ROLES = ("sentence1", "sentence2")
_NOT_CAST = re.compile("dictionary|list_view|run_end_encoded")
"""Types, also within others, that Arrow does not cast or, with list views, casts to other values."""


class Rows:
    """The rows of one split, opened but not read.

    Attributes:
        name: The name of the source, for messages.
        split: The name of the split.
        schema: The columns; a column with a role has the name of the role.
        class_names: For columns of class numbers, the names of the classes.
    """

    def __init__(
        self,
        source: Any,
        layout: Layout,
        split: str,
        *,
        roles: Sequence[str] = PAIR_ROLES,
        lists: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        named = source[0] if isinstance(source, list | tuple) and source else source
        self.name = str(to_path(named)) if isinstance(named, str | os.PathLike) else type(source).__name__
        self.split = split
        if split not in layout.splits:
            splits = ", ".join(layout.splits) or "none"
            raise InputError(f"no split `{split}`", path=self.name, remedy=f"the splits are {splits}")
        if not layout.is_given:
            layout.require_all_shards(split, self.name)
        self.reader: FileReader | _ObjectReader
        if split in layout.objects:
            self.reader = _ObjectReader(layout.objects[split], self.name)
        else:
            numbers = {"numbers": ("label", "score")} if roles else {}
            all_options = {**layout.options, **numbers, **(options or {})}
            self.reader = READERS[layout.kind](layout.files[split], all_options)
        theirs = self.reader.schema
        # Bitext has source and target, and no pair columns.
        sides = {} if {"source", "target"} <= {*theirs.names} else usual_pair_columns(theirs.names)
        self._theirs = {role: name for role, name in sides.items() if role in roles}
        self._ours = {name: role for role, name in self._theirs.items()}
        self.schema = pa.schema([(self._ours.get(field.name, field.name), plain_type(field.type)) for field in theirs])
        default = next(iter(layout.class_names.values()), {})
        names = {**layout.class_names.get(split.rpartition(".")[0], default), **class_names_of(theirs)}
        self.class_names = {name: names[name] for name in names if name in self.columns}
        self.schema = self.schema.with_metadata(class_metadata(self.class_names, self.schema))
        if repeated := [name for name, count in Counter(self.schema.names).items() if count > 1]:
            also = f", also as {self._theirs[repeated[0]]}" if repeated[0] in self._theirs else ""
            choice = ", or choose with prepare pairs --columns sentence1=…,sentence2=…" if also else ""
            remedy = f"rename or remove one{choice}; {describe_columns(theirs.names)}"
            raise InputError(f"the column {repeated[0]} occurs twice{also}", path=self.name, remedy=remedy)
        if roles:
            require_texts(self.schema, self.name, lists=lists)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    def count(self) -> int:
        """Count the rows, from the footers of Parquet files or by reading."""
        return self.reader.count()

    def require(self, *columns: str) -> pa.Schema:
        """Check that these columns exist, and return the schema."""
        require_columns(self.schema.names, columns, self.name)
        return self.schema

    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        start: int = 0,
        stop: int | None = None,
        batch_size: int = BATCH_ROWS,
        keep: np.ndarray | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Stream columns of the rows `start` to `stop`; `keep` (rows,), bool, selects among them."""
        names = self.columns if columns is None else list(columns)
        schema = self._schema_of(names)
        row = start
        for batch in self.reader.batches([self._theirs.get(name, name) for name in names], start, stop, batch_size):
            cast = [_cast(column, kind) for column, kind in zip(batch.columns, schema.types, strict=True)]
            plain = pa.record_batch(cast, schema=schema)
            if keep is not None:
                plain = plain.filter(pa.array(keep[row : row + batch.num_rows]))
            row += batch.num_rows
            if plain.num_rows:
                yield plain

    def tables(
        self, columns: Sequence[str] | None = None, *, start: int = 0, stop: int | None = None, size: int = BATCH_ROWS
    ) -> Iterator[pa.Table]:
        """Stream the rows `start` to `stop` in tables of exactly `size` rows, except the last one."""
        schema = self._schema_of(columns)
        rows = schema.empty_table()
        for batch in self.batches(columns, start=start, stop=stop, batch_size=size):
            rows = pa.concat_tables([rows, pa.Table.from_batches([batch])])
            while rows.num_rows >= size:
                yield rows.slice(0, size)
                rows = rows.slice(size)
        if rows.num_rows:
            yield rows

    def read(self, columns: Sequence[str] | None = None, *, stop: int | None = None) -> pa.Table:
        """Read columns into memory, of all rows or of the first `stop`."""
        return pa.Table.from_batches(self.batches(columns, stop=stop), schema=self._schema_of(columns))

    def _schema_of(self, columns: Sequence[str] | None) -> pa.Schema:
        if columns is None:
            return self.schema
        return pa.schema(list(map(self.require(*columns).field, columns)), metadata=self.schema.metadata)

    def columns_named(self, given: Sequence[str]) -> list[str]:
        """Split a list of columns at commas; a column may be given by its role or by its name in the source."""
        names = columns_named(given, [*self.columns, *self._ours])
        return [name if name in self.columns else self._ours.get(name, name) for name in names]

    def text_columns(self, columns: Sequence[str] = ()) -> list[str]:
        """Return the text columns: the given names, else the usual names, else the only text column."""
        if columns:
            require_texts(self.require(*columns), self.name, columns)
            return list(columns)
        texts = [field.name for field in self.schema if is_text(field.type) or pa.types.is_null(field.type)]
        usual = [name for name in DEFAULT_COLUMNS if name in texts] or [*usual_pair_columns(texts).values()]
        if not usual and len(texts) != 1:
            require_texts(self.schema, self.name, [name for name in DEFAULT_COLUMNS if name in self.columns])
            remedy = f"name one; {describe_columns(self.columns)}"
            problem = f"no text column is called {', '.join(DEFAULT_COLUMNS)}"
            raise InputError(problem, path=self.name, remedy=remedy)
        return usual or texts

    def texts(self, columns: Sequence[str]) -> pa.ChunkedArray:
        """Read the texts of all rows into memory; the texts of several columns are joined by a space."""
        parts: list[pa.Array] = []
        for batch in self.batches(columns):
            texts = [column.cast(pa.string()).fill_null("") for column in batch.columns]
            parts.append(texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, " "))
        return pa.chunked_array(parts, pa.string())

    def num_bytes(self) -> int:
        """Return the uncompressed size of the rows in bytes; only Parquet files record it."""
        return self.reader.num_bytes() if isinstance(self.reader, ParquetReader) else 0


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        return _cast(column.dictionary, kind).take(column.indices)
    if _NOT_CAST.search(str(column.type)):
        return pa.array(column.to_pylist(), kind)
    return column if column.type == kind or pa.types.is_null(kind) else column.cast(kind)


def open_rows(
    source: Any,
    split: str | None = None,
    *,
    subset: str | None = None,
    roles: Sequence[str] = PAIR_ROLES,
    lists: bool = False,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    errors: LineErrors | None = None,
    kind: str | None = None,
) -> Rows:
    """Open the rows of a split without reading them.

    Args:
        source: A folder, a file, files of one format, a URL, or `owner/name` on the Hub, with the splits that
            `load_dataset` finds; a folder of `save_to_disk`; a `Dataset`, `IterableDataset` or mapping of splits to
            them; a pandas or polars frame; an Arrow table; or dictionaries.
        split: The name of the split, or `CONFIGURATION.SPLIT`; for None the only one, or `train`. Other splits are
            never read.
        subset: The configuration of the card to open.
        roles: The new names of the two columns of pairs, found by their usual names; with () no column is renamed.
        lists: Whether text columns may hold lists of texts.
        encoding: The encoding of CSV, JSON lines and text files; UTF-8 for None.
        decimal: The decimal mark of CSV files. With it, or with `thousands`, columns of numbers become numbers.
        thousands: The separator of thousands in CSV files.
        errors: The policy for malformed lines of CSV and JSON lines; they raise for None.
        kind: The format of a file whose suffix does not tell it: `csv`, `jsonl`, `parquet` or `text`.

    Returns:
        The rows. Values of CSV and JSON lines keep their spelling: `007` stays `007`.

    Raises:
        InputError: The source does not exist, or has no such split; the message lists the splits.

    Example:
        >>> for batch in open_rows("my_pairs", split="train").batches(["sentence1", "sentence2"]):
        ...     print(batch.num_rows)
    """
    layout = find_layout(source, subset) if kind is None else Layout({"train": [to_path(source)]}, kind, is_given=True)
    if split is None:
        split = layout.splits[0] if len(layout.splits) == 1 else "train"
    options = {"encoding": encoding, "decimal": decimal, "thousands": thousands, "errors": errors}
    given = {name: value for name, value in options.items() if value is not None}
    is_name = isinstance(source, str | os.PathLike) and not any("." in name for name in layout.splits)
    if split not in layout.splits and "." in split and is_name and subset is None:
        subset, _, inner = split.rpartition(".")
        layout, split = find_layout(source, subset), inner
    return Rows(source, layout, split, roles=roles, lists=lists, options=given)


class _ObjectReader:
    """Reads rows in memory, and streams of `datasets`."""

    has_lines = False
    errors: LineErrors

    def __init__(self, rows: Any, name: str) -> None:
        self._rows, self._name = _as_arrow(rows), name
        self.schema: pa.Schema = self._find_schema()

    def _find_schema(self) -> pa.Schema:
        if isinstance(self._rows, pa.Table):
            return self._rows.schema
        if self._rows.features is not None:
            return self._rows.features.arrow_schema
        with name_load_errors(self._name):
            first = next(self._rows.iter(batch_size=BATCH_ROWS), None)
        if first is None:
            raise InputError("there are no rows", path=self._name, remedy="give data with rows")
        return _table_of_columns(first, self._name).schema

    def count(self) -> int:
        if hasattr(self._rows, "__len__"):
            return len(self._rows)
        return sum(batch.num_rows for batch in self.batches(self.schema.names[:1]))

    def batches(
        self, columns: Sequence[str], start: int = 0, stop: int | None = None, batch_size: int = BATCH_ROWS
    ) -> Iterator[pa.RecordBatch]:
        rows: Any = self._rows
        if isinstance(rows, pa.Table):
            part = rows.select(list(columns)).slice(start, None if stop is None else stop - start)
            yield from part.to_batches(max_chunksize=batch_size)
            return
        if start or stop is not None:
            stop = sys.maxsize if stop is None else stop
            if hasattr(rows, "__len__"):
                rows = rows.select(range(start, min(stop, len(rows))))
            else:
                rows = rows.skip(start).take(stop - start)
        schema = pa.schema([self.schema.field(name) for name in columns])
        with name_load_errors(self._name):
            stream = rows.select_columns(list(columns))
            # Rows of Python objects may have nulls where others have text, which `datasets` does not join as Arrow.
            has_arrow = getattr(getattr(rows, "_ex_iterable", rows), "iter_arrow", True) is not None
            if rows.features is None or not has_arrow:
                tables = (_table_of_columns(block, self._name) for block in stream.iter(batch_size=batch_size))
            else:
                tables = stream.with_format("arrow").iter(batch_size=batch_size)
            for table in tables:
                # A column that was null in the first block keeps its type.
                fields = zip(table.schema, schema, strict=True)
                wanted = pa.schema([own if pa.types.is_null(field.type) else field for own, field in fields])
                cast = cast_rows(table, wanted, self._name, "the rows differ in type", "give rows of one type")
                yield from cast.combine_chunks().to_batches()


def _as_arrow(rows: Any) -> Any:
    """Return an Arrow table, or the `Dataset` or `IterableDataset` itself."""
    if isinstance(rows, pa.Table) or (hasattr(rows, "with_format") and hasattr(rows, "iter")):
        return rows
    try:
        if hasattr(rows, "to_parquet") and hasattr(rows, "iloc"):  # a frame of pandas
            return pa.Table.from_pandas(rows, preserve_index=any(name is not None for name in rows.index.names))
        if hasattr(rows, "collect") and hasattr(rows, "sink_parquet"):  # a lazy frame of polars
            rows = rows.collect()
        if "Object" in (dtypes := [*map(str, getattr(rows, "dtypes", ()))]):  # whose values are addresses in Arrow
            problem = f"the column {rows.columns[dtypes.index('Object')]} holds Python objects"
            raise InputError(problem, path=type(rows).__name__, remedy="convert or remove it")
        if hasattr(rows, "__arrow_c_stream__"):
            return pa.table(rows)
        if isinstance(rows, Mapping):
            return _table_of_columns(rows)
        listed = [dict(row) for row in rows]
        if not listed:
            raise InputError("there are no rows", remedy="give dictionaries such as {'sentence1': …, 'sentence2': …}")
        names = list(dict.fromkeys(chain.from_iterable(listed)))
        return _table_of_columns({name: [row.get(name) for row in listed] for name in names})
    except (pa.ArrowException, TypeError, ValueError, AttributeError, OverflowError) as error:
        problem = f"{type(rows).__name__} has no rows that can be read: {error}"
        remedy = "give a data folder, a Dataset, a DataFrame, or dictionaries such as {'sentence1': …, 'sentence2': …}"
        raise UsageError(problem, remedy=remedy) from error


def _table_of_columns(columns: Mapping[str, Any], source: str | None = None) -> pa.Table:
    arrays: dict[str, pa.Array] = {}
    for name, values in columns.items():
        try:
            arrays[name] = pa.array(values)
        except (pa.ArrowException, OverflowError) as error:
            examples = " and ".join({type(value): repr(value)[:60] for value in values if value is not None}.values())
            problem = f"the column {name} has values of different types, such as {examples}: {error}"
            raise InputError(problem, path=source, remedy="give values of one type, or None") from error
    return pa.table(arrays)
