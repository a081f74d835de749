"""The transfer tasks by name, each with the module that reads and scores it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ...errors import InputError, UsageError
from . import paraphrase_task, question_task, relatedness_task, sentence_tasks, sick_tasks
from .cross_validation import Protocol
from .task import FoundTasks, TransferTask

_FAMILIES: tuple[tuple[tuple[str, ...], Callable[[Path, Sequence[str], Protocol], FoundTasks]], ...] = (
    (sentence_tasks.NAMES, sentence_tasks.find_sentence_tasks),
    (question_task.NAMES, question_task.find_question_task),
    (paraphrase_task.NAMES, paraphrase_task.find_paraphrase_task),
    (sick_tasks.NAMES, sick_tasks.find_sick_tasks),
    (relatedness_task.NAMES, relatedness_task.find_sts_benchmark_task),
)
TASKS = tuple(name for names, _ in _FAMILIES for name in names)
"""The names of all tasks, in the order of the tables."""

_OTHER_NAMES = {
    "MSRP": "MRPC",
    "MSRPC": "MRPC",
    "SICKR": "SICK-R",
    "SICKRELATEDNESS": "SICK-R",
    "SICKE": "SICK-E",
    "SICKENTAILMENT": "SICK-E",
    "STSB": "STS-B",
    "STSBENCHMARK": "STS-B",
}


@dataclass(frozen=True)
class TransferTasks:
    """The tasks that were found.

    Attributes:
        tasks: Those that are there, in the order of :data:`TASKS`.
        missing: For each of the others the files that it lacks.
        paths: The files that were read.
    """

    tasks: tuple[TransferTask, ...]
    missing: dict[str, tuple[str, ...]]
    paths: tuple[Path, ...]

    def sentences(self) -> Iterator[str]:
        """Lists the distinct sentences of all tasks."""
        yield from dict.fromkeys(sentence for task in self.tasks for sentence in task.sentences())


def choose_tasks(requested: Iterable[str]) -> list[str]:
    """Returns the names of tasks in the order of :data:`TASKS`; all of them where none is requested.

    Capitals do not matter, and the names of SentEval and of the papers are known too (`SICKRelatedness`, `MSRP`).

    Raises:
        UsageError: For a name that is no task.
    """
    chosen = set()
    for name in requested:
        plain = name.upper()
        known = plain if plain in TASKS else _OTHER_NAMES.get(plain.replace("-", ""))
        if known is None:
            raise UsageError(f"unknown transfer task {name}", remedy=f"one of {', '.join(TASKS)}")
        chosen.add(known)
    return [name for name in TASKS if not chosen or name in chosen]


def find_transfer_tasks(
    folder: Path, names: Sequence[str], protocol: Protocol, *, sick_test_on_trial: bool = False
) -> TransferTasks:
    """Reads the tasks from their raw files, or from the data folders that `prepare` makes of them, below a folder.

    Args:
        folder: The folder, e.g. SentEval's `data/downstream`.
        names: Names of :data:`TASKS`.
        protocol: The settings.
        sick_test_on_trial: Test SICK on its trial part.

    Raises:
        InputError: If the folder does not exist, none of the tasks is there in full, or a file is malformed.
    """
    if not folder.is_dir():
        raise InputError("no such folder", path=folder, remedy="give the folder that holds the transfer sets")
    tasks: list[TransferTask] = []
    missing: dict[str, tuple[str, ...]] = {}
    paths: list[Path] = []
    for family, find in _FAMILIES:
        wanted = [name for name in family if name in names]
        if not wanted:
            continue
        if find is sick_tasks.find_sick_tasks:
            find = partial(sick_tasks.find_sick_tasks, on_trial=sick_test_on_trial)
        found = find(folder, wanted, protocol)
        tasks += found.tasks
        missing |= found.missing
        paths += found.paths
    if not tasks:
        lacking = "; ".join(f"{name}: {', '.join(files)}" for name, files in missing.items())
        raise InputError(f"no transfer task is complete below this folder; not there: {lacking}", path=folder)
    order = {name: place for place, name in enumerate(TASKS)}
    return TransferTasks(tuple(sorted(tasks, key=lambda task: order[task.name])), missing, tuple(dict.fromkeys(paths)))
