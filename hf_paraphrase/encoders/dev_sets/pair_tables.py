"""Columns of data folders and of CSV, JSON lines and Parquet files, for sets that an encoder is measured on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from ...data.folder import DataFolder
from ...data.records import read_records, schema_of_file
from ...data.schema import usual_pair_columns
from ...data.text_blocks import kind_of_rows
from ...data.text_files import Field, StrictLines, typed
from ...errors import InputError


def columns_of(path: Path) -> set[str]:
    """Lists the columns of a CSV, JSON lines or Parquet file or of a data folder, the sides of pairs by our names."""
    try:
        files = [path] if path.is_file() else []
        if path.is_dir() and not any(path.rglob("*.parquet")):
            files = sorted(file for file in path.iterdir() if file.suffix != ".json" and kind_of_rows(file))
        kind = kind_of_rows(files[0]) if files else None
        if kind in ("csv", "jsonl"):
            names = schema_of_file(files[0], kind).names
            return {*names, *usual_pair_columns(names)}
        folder = DataFolder(path)
        return {name for split in folder.splits for name in folder.schema(split).names}
    except (InputError, OSError):
        return set()


def read_columns(path: Path, split: str, fields: Sequence[Field]) -> tuple[str, pa.Table]:
    """Reads columns of a CSV, JSON lines or Parquet file, or of a split of a data folder.

    Returns:
        The name of the folder and the split, or of the file, and the columns.
    """
    name, kind = path.resolve().name, kind_of_rows(path) if path.is_file() else None
    columns = [column.name for column in fields]
    if kind in ("csv", "jsonl"):
        sides = usual_pair_columns(schema_of_file(path, kind).names)
        blocks = read_records(path, kind, {column: sides.get(column, column) for column in columns}, StrictLines())
        tables = [table for _, table in typed(blocks, fields, path, StrictLines())]
        table = pa.concat_tables(tables) if tables else pa.table({})
    else:
        folder = DataFolder(path)
        split = chosen_split(folder, split)
        table = folder.table(split, columns)
    name = name.partition(".")[0] if path.is_file() else f"{name}/{split}"
    if not table.num_rows:
        raise InputError(f"{name} has no rows", path=path, remedy="give data with rows, or another split")
    for column in fields:
        if column.kind == pa.string() and not column.may_be_null and table.column(column.name).null_count:
            row = table.column(column.name).is_null().index(True).as_py() + 1
            raise InputError(f"row {row} of {name} has no {column.name}", path=path, remedy="fill it in")
    return name, table


def chosen_split(folder: DataFolder, split: str) -> str:
    """Returns the split of a name, the one of labelled pairs that `prepare opusparcus` makes, or the only one.

    The only one stands in for a split with a usual name; another name was somebody's choice.
    """
    only = folder.splits if len(folder.splits) == 1 and split in ("validation", "dev", "test") else ()
    return next((name for name in (split, f"labelled.{split}", *only) if name in folder.splits), split)
