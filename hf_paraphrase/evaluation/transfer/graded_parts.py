"""The parts of SICK and the STS benchmark, which come in files of their own for train, dev and test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from ...data.sources.graded_source import GradedSourceOptions
from ...errors import InputError
from .source_parts import parts_below, read_part

SPLITS = {"train": "train", "dev": "validation", "test": "test"}
"""The splits of the readers by SentEval's names."""


@dataclass(frozen=True)
class GradedParts:
    """What is there of a graded benchmark.

    Attributes:
        tables: The rows of the parts that are there, by `train`, `dev` and `test`.
        paths: Their files.
        missing: The files that are not there.
    """

    tables: dict[str, pa.Table]
    paths: dict[str, Path]
    missing: tuple[str, ...]


def read_graded_parts(
    options: type[GradedSourceOptions], schema: pa.Schema, folder: Path, files: Mapping[str, str]
) -> GradedParts:
    """Reads the parts that are there.

    Args:
        options: SICK's or the STS benchmark's.
        schema: The same.
        folder: The folder below which the files lie.
        files: What the file of each part is called, to name it where it is missing.

    Raises:
        InputError: For a file that is there twice or malformed, or has no pair.
    """
    parts = parts_below(options(data_dir=str(folder)), folder, schema)
    found = {name: parts["default", split] for name, split in SPLITS.items() if ("default", split) in parts}
    tables = {name: read_part(part) for name, part in found.items()}
    for name, table in tables.items():
        if not table.num_rows:
            raise InputError("no pair in it", path=found[name].files[0], remedy="replace it by a whole copy")
    paths = {name: part.files[0] for name, part in found.items()}
    return GradedParts(tables, paths, tuple(file for name, file in files.items() if name not in found))
