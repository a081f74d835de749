"""SentEval's transfer tasks as a table: where the examples of each are, and what their labels are.

Movie and product reviews (MR: Pang and Lee 2005; CR: Hu and Liu 2004), subjectivity (SUBJ: Pang and Lee 2004) and
polarity of phrases (MPQA: Wiebe, Wilson and Cardie 2005) have no test part. TREC (Li and Roth 2002) are questions of
six types, MRPC (Dolan, Quirk and Brockett 2004; MSRP elsewhere) news sentences that are paraphrases or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..data.folder import DataFolder
from ..data.sources.msrp import SCHEMA as MSRP
from ..data.sources.msrp import MsrpSource
from ..data.sources.source import NothingThereError
from ..data.sources.transfer import BINARY, TREC, TransferSource
from ..data.text_blocks import files_below
from ..data.text_files import LineErrors
from ..errors import InputError, no_folder

_SHARDS = f"*-{'[0-9]' * 5}-of-{'[0-9]' * 5}.parquet"
_Found = tuple[Sequence[Path], Iterable[pa.Table]]
"""The files of a part, and its tables, which are not read yet."""


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
    "TREC": TransferTask(TransferSource, TREC, {"train": ("train_5500.label",), "test": ("TREC_10.label",)}, "trec"),
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
    folder: Path, names: Iterable[str]
) -> tuple[dict[str, dict[str, Examples]], dict[str, list[str]], list[Path]]:
    """Reads the tasks from their raw files, or from the data folders that `prepare` makes of them, below a folder.

    Returns:
        The parts of each complete task in the order of :data:`TASKS`, for each of the others the files that it lacks,
        and the files that were read.
    """
    if not folder.is_dir():
        raise no_folder(folder, "give the folder that holds the transfer sets")
    wanted = set(names)
    tasks: dict[str, dict[str, Examples]] = {}
    missing: dict[str, list[str]] = {}
    paths: list[Path] = []
    for name, task in TASKS.items():
        if name not in wanted:
            continue
        parts = _parts_below(folder, task)
        if lacking := [file for part, files in task.files.items() if part not in parts for file in files]:
            missing[name] = lacking
            continue
        tasks[name] = {part: _examples(task, *parts[part]) for part in task.files}
        paths += [path for part in task.files for path in parts[part][0]]
    if not tasks:
        lacking_files = "; ".join(f"{name}: {', '.join(files)}" for name, files in missing.items())
        raise InputError(f"no transfer task is complete below this folder; not there: {lacking_files}", path=folder)
    return tasks, missing, list(dict.fromkeys(paths))


def _parts_below(folder: Path, task: TransferTask) -> dict[str, _Found]:
    """Finds the parts of a task; raw files come before a prepared data folder."""
    found: dict[str, _Found] = {}
    for place in sorted(path.parent for path in folder.rglob("data") if any(path.glob(_SHARDS))):
        opened = DataFolder(place)
        for part in task.files:
            split = part if task.configuration == "default" else f"{task.configuration}.{part}"
            if split in opened.splits and opened.schema(split).names == task.schema.names:
                found[part] = opened.shards(split), map(opened.table, [split])
    with suppress(NothingThereError):
        raw = [part for part in task.source(data_dir=str(folder)).parts() if part.configuration == task.configuration]
        found |= {part.split: (part.files, part.read(LineErrors())) for part in raw}
    return found


def _examples(task: TransferTask, files: Sequence[Path], tables: Iterable[pa.Table]) -> Examples:
    tables = [table.select([*task.sides, "label"]) for table in tables]
    if not any(table.num_rows for table in tables):
        raise InputError("the file contains no examples", path=files[0], remedy="replace it with a complete copy")
    table = pa.concat_tables(tables)
    labels = table.column("label").to_numpy().astype(np.int64)
    return Examples(tuple(table.column(name).to_pylist() for name in task.sides), labels)
