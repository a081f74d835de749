"""Columns of data folders and of CSV, JSON lines and Parquet files, for sets that an encoder is measured on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from ...data.folder import DataFolder
from ...data.schema import with_column
from ...data.text_blocks import kind_of_rows
from ...data.text_files import Field, StrictLines, typed
from ...errors import InputError


def columns_of(path: Path) -> set[str]:
    """List the columns of all splits of a data set, the sides of pairs by our names; none if it is no data set."""
    try:
        if path.is_file() and kind_of_rows(path) is None:
            return set()
        folder = DataFolder(path)
        return {name for split in folder.splits for name in folder.schema(split).names}
    except (InputError, OSError):
        return set()


def read_columns(path: Path, split: str, fields: Sequence[Field]) -> tuple[str, pa.Table]:
    """Read columns of a file, or of a split of a data set.

    Returns:
        The name of the folder and the split, or of the file, and the columns.
    """
    name, folder = path.resolve().name, DataFolder(path)
    split = folder.splits[0] if path.is_file() else chosen_split(folder, split)
    table = folder.table(split, [column.name for column in fields])
    first_line = 2 if path.is_file() and kind_of_rows(path) == "csv" else 1
    for column in fields:
        texts = table.column(column.name)
        if column.kind != pa.string() and texts.type == pa.string():
            lines = np.arange(first_line, first_line + len(texts))
            ((_, numbers),) = typed([(lines, {column.name: texts.combine_chunks()})], [column], path, StrictLines())
            table = with_column(table, column.name, numbers.column(0))
    name = name.partition(".")[0] if path.is_file() else f"{name}/{split}"
    if not table.num_rows:
        raise InputError(f"{name} has no rows", path=path, remedy="give data with rows, or another split")
    for column in fields:
        if column.kind == pa.string() and not column.may_be_null and table.column(column.name).null_count:
            row = table.column(column.name).is_null().index(True).as_py() + 1
            raise InputError(f"row {row} of {name} has no {column.name}", path=path, remedy="fill it in")
    return name, table


def chosen_split(folder: DataFolder, split: str) -> str:
    """Return a split by its name, by the name `labelled.NAME` of `prepare opusparcus`, or the only split.

    The only split replaces a missing one with a usual name; an unusual name was chosen by the user.
    """
    only = folder.splits if len(folder.splits) == 1 and split in ("validation", "dev", "test") else ()
    return next((name for name in (split, f"labelled.{split}", *only) if name in folder.splits), split)
