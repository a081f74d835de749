"""SentEval's transfer tasks as a table: where the examples of each are, and what their labels are.

Movie and product reviews (MR: Pang and Lee 2005; CR: Hu and Liu 2004), subjectivity (SUBJ: Pang and Lee 2004) and
polarity of phrases (MPQA: Wiebe, Wilson and Cardie 2005) have no test part. TREC (Li and Roth 2002) are questions of
six types, MRPC (Dolan, Quirk and Brockett 2004; MSRP elsewhere) news sentences that are paraphrases or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..data.folder import DataFolder
from ..data.sources.msrp import SCHEMA as MSRP
from ..data.sources.msrp import MsrpSource
from ..data.sources.rows import fitted
from ..data.sources.source import NothingThereError, Part, Source
from ..data.sources.transfer import BINARY, TREC, TransferSource
from ..data.text_blocks import files_below
from ..data.text_files import LineErrors
from ..errors import InputError, no_folder
from .classifiers import FOLDS, check_enough

_SHARDS = f"*-{'[0-9]' * 5}-of-{'[0-9]' * 5}.parquet"


@dataclass(frozen=True)
class TransferTask:
    """A row of the table of tasks.

    Attributes:
        source: The settings class of the source that the files belong to.
        files: The raw files of each part, `train` and `test`, to name them where they are missing.
        sides: The columns with the text, or with the two sentences of a pair.
    """

    source: Any
    schema: pa.Schema
    files: Mapping[str, tuple[str, ...]]
    configuration: str = "default"
    sides: tuple[str, ...] = ("text",)


def _binary(name: str, negative: str, positive: str) -> TransferTask:
    return TransferTask(TransferSource, BINARY, {"train": (negative, positive)}, name)


TASKS: dict[str, TransferTask] = {
    "MR": _binary("mr", "rt-polarity.neg", "rt-polarity.pos"),
    "CR": _binary("cr", "custrev.neg", "custrev.pos"),
    "SUBJ": _binary("subj", "subj.objective", "subj.subjective"),
    "MPQA": _binary("mpqa", "mpqa.neg", "mpqa.pos"),
    "TREC": TransferTask(
        TransferSource, TREC, {"train": ("train_5500.label",), "test": ("TREC_10.label",)}, configuration="trec"
    ),
    "MRPC": TransferTask(
        MsrpSource,
        MSRP,
        {"train": ("msr_paraphrase_train.txt",), "test": ("msr_paraphrase_test.txt",)},
        sides=("sentence1", "sentence2"),
    ),
}
"""The tasks by their names, in the order of the tables."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Sentences, or pairs of them, with human labels.

    Attributes:
        sides: The sentences; a second list of equal length for pairs.
        gold: The class of each, int64 (n,).
    """

    sides: tuple[list[str], ...]
    gold: np.ndarray = field(repr=False)

    def __len__(self) -> int:
        return len(self.gold)

    def features(self, vectors: Callable[[Sequence[str]], np.ndarray]) -> np.ndarray:
        """Computes the vector of each sentence (n, dim); of pairs |u − v| and u ∗ v side by side (n, 2·dim)."""
        if len(self.sides) == 1:
            return vectors(self.sides[0])
        first, second = (vectors(side) for side in self.sides)
        return np.concatenate([np.abs(first - second), first * second], axis=1)


def has_transfer_tasks(path: Path) -> bool:
    """Returns whether there is a file of a task below a folder, raw or prepared by `prepare transfer`."""
    raw = {name.lower() for task in TASKS.values() for names in task.files.values() for name in names}
    shards = tuple(f"{part}-" for part in TransferSource.PARTS)
    return any(
        {file.name.lower(), file.stem.lower()} & raw or file.name.startswith(shards)
        for file in (files_below(path) if path.is_dir() else ())
    )


def find_transfer_tasks(
    folder: Path, names: Iterable[str], *, folds: int = FOLDS
) -> tuple[dict[str, dict[str, Examples]], dict[str, list[str]], list[Path]]:
    """Reads the tasks from their raw files, or from the data folders that `prepare` makes of them, below a folder.

    Returns:
        The parts of each complete task in the order of :data:`TASKS`, for each of the others the files that it lacks,
        and the files that were read.
    """
    if not folder.is_dir():
        raise no_folder(folder, "give the folder that holds the transfer sets")

    @cache
    def parts_of(kind: Any, schema: pa.Schema) -> dict[tuple[str, str], Part]:
        return _parts_below(kind(data_dir=str(folder)), folder, schema)

    wanted = set(names)
    tasks: dict[str, dict[str, Examples]] = {}
    missing: dict[str, list[str]] = {}
    paths: list[Path] = []
    for name, row in TASKS.items():
        if name not in wanted:
            continue
        source_parts = parts_of(row.source, row.schema)
        parts = {part: source_parts.get((row.configuration, part)) for part in row.files}
        if lacking := [file for part in parts if parts[part] is None for file in row.files[part]]:
            missing[name] = lacking
            continue
        found = {part: place for part, place in parts.items() if place is not None}
        tasks[name] = {part: _read(row, place) for part, place in found.items()}
        paths += [path for place in found.values() for path in place.files]
        check_enough(tasks[name]["train"].gold, 2 * folds, name, found["train"].files[0])
    if not tasks:
        lacking_files = "; ".join(f"{name}: {', '.join(files)}" for name, files in missing.items())
        raise InputError(f"no transfer task is complete below this folder; not there: {lacking_files}", path=folder)
    return tasks, missing, list(dict.fromkeys(paths))


def _read(row: TransferTask, part: Part) -> Examples:
    tables = [fitted(table, row.schema) for table in part.read(LineErrors())]
    table = pa.concat_tables([row.schema.empty_table(), *tables])
    if not table.num_rows:
        raise InputError("the file contains no examples", path=part.files[0], remedy="replace it with a complete copy")
    labels = table.column("label").to_numpy().astype(np.int64)
    return Examples(tuple(table.column(name).to_pylist() for name in row.sides), labels)


def _parts_below(source: Source, folder: Path, schema: pa.Schema) -> dict[tuple[str, str], Part]:
    """Lists the parts of a source by configuration and split; raw files come before a prepared data folder."""
    try:
        raw = source.parts()
    except NothingThereError:
        raw = []
    prepared = []
    for place in sorted(path.parent for path in folder.rglob("data") if any(path.glob(_SHARDS))):
        opened = DataFolder(place)
        for name in opened.splits:
            if opened.schema(name).names == schema.names:
                configuration, _, split = name.rpartition(".")
                read = partial(_read_prepared, opened, name, schema)
                prepared.append(Part(split, schema, opened.shards(name), read, configuration or "default"))
    return {(part.configuration, part.split): part for part in (*prepared, *raw)}


def _read_prepared(opened: DataFolder, name: str, schema: pa.Schema, errors: LineErrors) -> Iterator[pa.Table]:
    yield opened.table(name).cast(schema)
