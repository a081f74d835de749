"""Rows of any layout with all their columns: files, folders and names on the Hub, as `datasets` opens them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import InputError, UsageError
from .folder import BATCH_ROWS
from .schema import is_text, require_columns
from .sentences import DEFAULT_COLUMNS
from .text_blocks import check_readable, kind_of_records

_BUILDERS = {None: "text", "csv": "csv", "jsonl": "json", "parquet": "parquet"}


def open_rows(inputs: Sequence[str], cache: Path, *, split: str = "train", subset: str | None = None) -> Any:
    """Opens text, CSV, JSON lines or Parquet files, or one folder or name on the Hub, as a `datasets.Dataset`.

    Args:
        inputs: The files, all of one kind, or the folder or name.
        cache: A folder for the Arrow files that are mapped into memory.
        split: The split of a folder or a name.
        subset: The configuration of a folder or a name.
    """
    import datasets

    paths = [Path(item) for item in inputs]
    if len(paths) == 1 and not paths[0].is_file():
        if not paths[0].is_dir() and (paths[0].suffix or inputs[0].count("/") > 1 or inputs[0].startswith(("/", "."))):
            raise InputError("no such file or folder", path=inputs[0], remedy="check the path")
        named: dict[str, Any] = {"path": str(paths[0].resolve()) if paths[0].is_dir() else inputs[0], "name": subset}
    else:
        for path in paths:
            check_readable(path)
        kinds = {kind_of_records(path) for path in paths}
        if len(kinds) > 1:
            raise UsageError("the files are of several kinds", path=paths[-1], remedy="give files of one kind")
        named = {"path": _BUILDERS[kinds.pop()], "data_files": {split: [str(path) for path in paths]}}
    try:
        return datasets.load_dataset(**named, split=split, cache_dir=str(cache))
    except Exception as error:
        # Whatever it is that the library meets in files of others.
        reason = " ".join(str(error.__cause__ or error).split())[:300]
        remedy = "check that there are rows, and the name, --split and --subset"
        raise InputError(f"load_dataset cannot open it: {reason}", path=inputs[0], remedy=remedy) from error


def text_columns(dataset: Any, columns: Sequence[str], name: str) -> list[str]:
    """Returns the columns of texts: those given, else those of the usual names, else the only one that holds text."""
    schema = dataset.features.arrow_schema
    texts = [field.name for field in schema if is_text(field.type) or pa.types.is_null(field.type)]
    if columns:
        require_columns(schema.names, columns, name)
        for column in columns:
            if column not in texts:
                kind = schema.field(column).type
                remedy = f"the columns of text are {', '.join(texts) or 'none'}"
                raise InputError(f"the column {column} is of type {kind}, not text", path=name, remedy=remedy)
        return list(columns)
    usual = [column for column in DEFAULT_COLUMNS if column in texts]
    if not usual and len(texts) != 1:
        raise InputError(
            f"none of the columns of text is called {', '.join(DEFAULT_COLUMNS)}",
            path=name,
            remedy=f"name one by --by; there are {', '.join(texts) or 'none'}",
        )
    return usual or texts


def texts_of(dataset: Any, columns: Sequence[str]) -> pa.ChunkedArray:
    """Returns the texts of all rows; those of several columns are joined by a space."""
    parts = [pa.chunked_array([], pa.string())]
    for table in arrow_tables(dataset.select_columns(list(columns))):
        texts = [table.column(column).cast(pa.string()).fill_null("") for column in columns]
        parts.append(texts[0] if len(texts) == 1 else _joined(texts))
    return pa.chunked_array([chunk for part in parts for chunk in part.chunks], pa.string())


def _joined(texts: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(*texts, " ")


def arrow_tables(dataset: Any, chosen: np.ndarray | None = None) -> Iterator[pa.Table]:
    """Streams the rows, or the chosen ones (rows,), bool, as tables."""
    start = 0
    for table in dataset.with_format("arrow").iter(BATCH_ROWS) if len(dataset) else ():
        part = table if chosen is None else table.filter(pa.array(chosen[start : start + table.num_rows]))
        start += table.num_rows
        if part.num_rows:
            yield part
