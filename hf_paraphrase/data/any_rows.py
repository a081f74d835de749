"""Rows of any layout with all their columns: files, folders and names on the Hub, as `datasets` opens them.

CSV files, which `datasets` would read with the types and missing values of Pandas, stay as they are: every value is
text, also `001`, `NA` and an empty one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import HfParaphraseError, InputError, UsageError
from ..inputs import dataset_builder, input_state
from .folder import BATCH_ROWS
from .records import column_names, read_records
from .schema import is_text, require_columns
from .sentences import DEFAULT_COLUMNS
from .text_blocks import COMPRESSED, StrictLines, check_readable, kind_of_records, lines_of_text

_BUILDERS = {None: "text", "jsonl": "json", "parquet": "parquet"}


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
        try:
            # Of a name on the Hub the subset and of a folder its files.
            builder = dataset_builder(inputs[0], subset)
            if paths[0].is_dir() and builder.name == "csv":
                if split not in builder.config.data_files:
                    raise ValueError(f"there is no split {split}")
                return _csv_rows([Path(file) for file in builder.config.data_files[split]], cache)
            if paths[0].is_dir():
                return datasets.load_dataset(str(paths[0].resolve()), subset, split=split, cache_dir=str(cache))
            builder.download_and_prepare()
            return builder.as_dataset(split)
        except HfParaphraseError:
            raise
        except Exception as error:
            raise _cannot_open(error, inputs[0]) from error
    for path in paths:
        check_readable(path)
    kinds = {kind_of_rows(path) for path in paths}
    if len(kinds) > 1:
        raise UsageError("the files are of several kinds", path=paths[-1], remedy="give files of one kind")
    kind = kinds.pop()
    if kind == "csv":
        return _csv_rows(paths, cache)
    for path in paths if kind != "parquet" else ():
        # That all is UTF-8 is not checked by the reader of JSON.
        for _ in lines_of_text(path):
            pass
    try:
        files = {split: [str(path) for path in paths]}
        return datasets.load_dataset(_BUILDERS[kind], data_files=files, split=split, cache_dir=str(cache))
    except Exception as error:
        raise _cannot_open(error, inputs[0]) from error


def kind_of_rows(path: Path) -> str | None:
    """Returns the kind of a file; tab-separated values with a header are CSV."""
    plain = path.with_suffix("") if path.suffix in COMPRESSED else path
    return "csv" if plain.suffix.lower() == ".tsv" else kind_of_records(path)


def _csv_rows(paths: Sequence[Path], cache: Path) -> Any:
    """Reads CSV files of the same columns, whose values are all text."""
    import datasets

    names = column_names(paths[0], "csv")
    for path in paths:
        header = column_names(path, "csv")
        if sorted(set(header)) != sorted(header):
            twice = next(name for name in header if header.count(name) > 1)
            raise InputError(f"more than one column `{twice}` in the header", path=path, line=1, remedy="rename one")
        if sorted(header) != sorted(names):
            there = ", ".join(header)
            raise InputError(
                f"the columns are {there}", path=path, line=1, remedy=f"those of {paths[0]} are {', '.join(names)}"
            )
    schema = pa.schema([(name, pa.string()) for name in names])
    cache.mkdir(parents=True, exist_ok=True)
    place = cache / f"{input_state(paths)}.arrow"
    temporary = place.with_name(f"{place.name}.{os.urandom(4).hex()}")
    with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
        for path in paths:
            for _, columns in read_records(path, "csv", dict(zip(names, names, strict=True)), StrictLines()):
                writer.write_batch(pa.record_batch(columns, schema=schema))
    temporary.replace(place)
    return datasets.Dataset.from_file(str(place))


def _cannot_open(error: Exception, name: str) -> InputError:
    """Makes the error for whatever it is that the library meets in files of others."""
    cause = error.__cause__ or error
    reason = " ".join(str(cause).split())[:300]
    remedy = "check that there are rows, and the name, --split and --subset"
    if isinstance(cause, UnicodeDecodeError):
        remedy = "check that the file is UTF-8"
    return InputError(f"load_dataset cannot open it: {reason}", path=name, remedy=remedy)


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
            remedy=f"name one; there are {', '.join(texts) or 'none'}",
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
