"""Finds the parts of a source below a folder: its raw files, or data folders that `prepare` made of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa

from ...data.folder import DataFolder
from ...data.sources.rows import fitted
from ...data.sources.source import NothingThereError, Part, Source
from ...data.text_files import LineErrors

_SHARDS = f"*-{'[0-9]' * 5}-of-{'[0-9]' * 5}.parquet"


def parts_below(options: Source, folder: Path, *schemas: pa.Schema) -> dict[tuple[str, str], Part]:
    """Lists the parts of a source by configuration and split; none if nothing of it is there.

    Where raw files and a prepared data folder have the same part, the raw files are taken.
    """
    prepared = {(part.configuration, part.split): part for part in _prepared_parts(folder, schemas)}
    try:
        raw = options.parts()
    except NothingThereError:
        raw = []
    return prepared | {(part.configuration, part.split): part for part in raw}


def read_part(part: Part) -> pa.Table:
    """Reads all rows of a part."""
    assert part.schema is not None
    tables = (fitted(table, part.schema) for table in part.read(LineErrors()))
    return pa.concat_tables([part.schema.empty_table(), *tables])


def _prepared_parts(folder: Path, schemas: tuple[pa.Schema, ...]) -> Iterator[Part]:
    for place in sorted(path.parent for path in folder.rglob("data") if any(path.glob(_SHARDS))):
        opened = DataFolder(place)
        for name in opened.splits:
            columns = opened.schema(name).names
            schema = next((known for known in schemas if known.names == columns), None)
            if schema is not None:
                configuration, _, split = name.rpartition(".")
                read = partial(_read_prepared, place, name, schema)
                yield Part(split, schema, opened.shards(name), read, configuration or "default")


def _read_prepared(folder: Path, name: str, schema: pa.Schema, errors: LineErrors) -> Iterator[pa.Table]:
    for batch in DataFolder(folder).batches(name):
        yield pa.Table.from_batches([batch]).cast(schema)
