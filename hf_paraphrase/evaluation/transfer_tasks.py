"""SentEval's transfer tasks, and the sources of their examples.

Movie and product reviews (MR: Pang and Lee 2005; CR: Hu and Liu 2004), subjectivity (SUBJ: Pang and Lee 2004) and
polarity of phrases (MPQA: Wiebe, Wilson and Cardie 2005) have no test part. TREC (Li and Roth 2002) are questions of
six types, MRPC (Dolan, Quirk and Brockett 2004; MSRP elsewhere) news sentences that are paraphrases or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..data.sources.corpora import MsrpSource, TransferSource
from ..data.sources.source import MissingFilesError, Part
from ..data.text_files import LineErrors
from ..errors import InputError, no_folder


@dataclass(frozen=True)
class TransferTask:
    """A transfer task: the source with its configuration, its splits, and its columns of text."""

    source: Any
    configuration: str
    splits: tuple[str, ...] = ("train",)
    sides: tuple[str, ...] = ("text",)


TASKS: dict[str, TransferTask] = {
    **{name: TransferTask(TransferSource, name.lower()) for name in ("MR", "CR", "SUBJ", "MPQA")},
    "TREC": TransferTask(TransferSource, "trec", ("train", "test")),
    "MRPC": TransferTask(MsrpSource, "default", ("train", "test"), ("sentence1", "sentence2")),
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
        """Compute the vector of each sentence (n, dim), or of each pair the concatenation of |u − v| and u ∗ v."""
        if len(self.sides) == 1:
            return vectors(self.sides[0])
        first, second = (vectors(side) for side in self.sides)
        return np.concatenate([np.abs(first - second), first * second], axis=1)


def has_transfer_tasks(path: Path) -> bool:
    """Return whether a folder has a file of a task at any depth."""
    return path.is_dir() and any(_find_parts(path).values())


def _find_parts(folder: Path) -> dict[Any, Sequence[Part]]:
    """Find the parts that each source has below a folder."""
    parts: dict[Any, Sequence[Part]] = {task.source: () for task in TASKS.values()}
    for source in parts:
        with suppress(MissingFilesError):
            parts[source] = list(source(data_dir=str(folder)).parts())
    return parts


def find_transfer_tasks(
    folder: Path, names: Iterable[str]
) -> tuple[dict[str, dict[str, Examples]], list[str], list[Path]]:
    """Read tasks from their raw files below a folder.

    Returns:
        The parts of each complete task in the order of :data:`TASKS`, the names of incomplete tasks, and the files
        read.
    """
    if not folder.is_dir():
        raise no_folder(folder, "give the folder that holds the transfer sets")
    wanted, below = set(names), _find_parts(folder)
    tasks: dict[str, dict[str, Examples]] = {}
    missing: list[str] = []
    paths: list[Path] = []
    for name, task in TASKS.items():
        if name not in wanted:
            continue
        parts = {part.split: part for part in below[task.source] if part.configuration == task.configuration}
        if not parts.keys() >= {*task.splits}:
            missing.append(name)
            continue
        tasks[name] = {split: _read_examples(task, parts[split]) for split in task.splits}
        paths += [path for split in task.splits for path in parts[split].files]
    if not tasks:
        remedy = "they are files such as rt-polarity.neg and .pos, train_5500.label and TREC_10.label"
        raise InputError(f"no transfer task is complete: {', '.join(missing)}", path=folder, remedy=remedy)
    return tasks, missing, list(dict.fromkeys(paths))


def _read_examples(task: TransferTask, part: Part) -> Examples:
    tables = list(part.read(LineErrors()))
    if not any(table.num_rows for table in tables):
        raise InputError("the file contains no examples", path=part.files[0], remedy="replace it with a complete copy")
    table = pa.concat_tables(tables)
    labels = table.column("label").to_numpy().astype(np.int64)
    return Examples(tuple(table.column(name).to_pylist() for name in task.sides), labels)
