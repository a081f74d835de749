"""SentEval's transfer tasks as a table: where the examples of each are, what they say, and how encoders are scored.

Movie and product reviews (MR: Pang and Lee 2005; CR: Hu and Liu 2004), subjectivity (SUBJ: Pang and Lee 2004) and
polarity of phrases (MPQA: Wiebe, Wilson and Cardie 2005) have no test part. TREC (Li and Roth 2002) are questions of
six types, MRPC (Dolan, Quirk and Brockett 2004; MSRP elsewhere) news sentences that are paraphrases or not. SICK
(Marelli et al. 2014) has relatedness from 1 to 5 and entailment in three classes, the STS benchmark (Cer et al. 2017)
scores from 0 to 5, predicted by a regression that knows 1 to 5; the figures are far above those of the cosine alone,
which `evaluate --suite sts` gives.

Where SICK's test part is not at hand, both its tasks can be tested on the trial part instead, on request: then a ninth
of the train part, 500 of 4,500 pairs, stands in for the trial part, and the line in the table says so; the figures do
not compare with published ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ...data.sources.graded import SICK, STS_BENCHMARK, SickSource, StsBenchmarkSource
from ...data.sources.msrp import SCHEMA as MSRP
from ...data.sources.msrp import MsrpSource
from ...data.sources.source import Part
from ...data.sources.transfer import BINARY, QUESTION_TYPES, TREC, TransferSource
from ...errors import InputError, UsageError, choice_of, no_folder
from .cross_validation import Protocol, check_enough
from .reading import parts_below, read_part
from .scoring import (
    BY_FOLDS_OF_TRAIN,
    BY_NESTED_FOLDS,
    BY_RELATEDNESS,
    BY_THE_DEV_PART,
    Examples,
    TaskResult,
    Vectors,
    Way,
)

ENTAILMENT = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
ON_TRIAL = "trial, not test"
_PAIR = ("sentence1", "sentence2")


@dataclass(frozen=True)
class TransferTask:
    """A row of the table of tasks.

    Attributes:
        source: The settings class of the source that the files belong to.
        files: The raw files of each part, `train`, `dev` and `test`, to name them where they are missing.
        gold: The human label or score of each row of a table.
        classes: How many classes there are; 0 for scores.
        f1: Whether the F1 of class 1 is given too.
        on_trial: Whether the task may be tested on its dev part.
        other_names: What it is called elsewhere, in capitals and without hyphens.
    """

    source: type[Any]
    schema: pa.Schema
    files: Mapping[str, tuple[str, ...]]
    way: Way
    configuration: str = "default"
    sides: tuple[str, ...] = _PAIR
    gold: Callable[[pa.Table, Path], np.ndarray] = lambda table, path: _labels(table)
    classes: int = 2
    f1: bool = False
    on_trial: bool = False
    other_names: tuple[str, ...] = ()


def _labels(table: pa.Table) -> np.ndarray:
    return table.column("label").to_numpy().astype(np.int64)


def _scores(table: pa.Table, path: Path) -> np.ndarray:
    return table.column("score").to_numpy().astype(np.float64)


def _entailment(table: pa.Table, path: Path) -> np.ndarray:
    judgements = table.column("entailment").to_pylist()
    strange = next((place for place, value in enumerate(judgements) if value not in ENTAILMENT), None)
    if strange is not None:
        raise InputError(
            f"the entailment judgement of pair {strange + 1} is {judgements[strange] or 'not there'}",
            path=path,
            remedy=f"one of {', '.join(ENTAILMENT)}",
        )
    return np.array([ENTAILMENT.index(value) for value in judgements], dtype=np.int64)


def _binary(name: str, negative: str, positive: str, **others: Any) -> TransferTask:
    files = {"train": (negative, positive)}
    way, sides = BY_NESTED_FOLDS, ("text",)
    return TransferTask(TransferSource, BINARY, files, way, configuration=name, sides=sides, **others)


_SICK = {"train": ("SICK_train.txt",), "dev": ("SICK_trial.txt",), "test": ("SICK_test_annotated.txt",)}

TASKS: dict[str, TransferTask] = {
    "MR": _binary("mr", "rt-polarity.neg", "rt-polarity.pos"),
    "CR": _binary("cr", "custrev.neg", "custrev.pos"),
    # SentEval takes the objective sentences for the positive class; the order of the examples depends on it.
    "SUBJ": _binary("subj", "subj.objective", "subj.subjective", gold=lambda table, path: 1 - _labels(table)),
    "MPQA": _binary("mpqa", "mpqa.neg", "mpqa.pos"),
    "TREC": TransferTask(
        TransferSource,
        TREC,
        {"train": ("train_5500.label",), "test": ("TREC_10.label",)},
        BY_FOLDS_OF_TRAIN,
        configuration="trec",
        sides=("text",),
        classes=len(QUESTION_TYPES),
    ),
    "MRPC": TransferTask(
        MsrpSource,
        MSRP,
        {"train": ("msr_paraphrase_train.txt",), "test": ("msr_paraphrase_test.txt",)},
        BY_FOLDS_OF_TRAIN,
        f1=True,
        other_names=("MSRP", "MSRPC"),
    ),
    "SICK-R": TransferTask(
        SickSource,
        SICK,
        _SICK,
        BY_RELATEDNESS,
        gold=_scores,
        classes=0,
        on_trial=True,
        other_names=("SICKR", "SICKRELATEDNESS"),
    ),
    "SICK-E": TransferTask(
        SickSource,
        SICK,
        _SICK,
        BY_THE_DEV_PART,
        gold=_entailment,
        classes=len(ENTAILMENT),
        on_trial=True,
        other_names=("SICKE", "SICKENTAILMENT"),
    ),
    "STS-B": TransferTask(
        StsBenchmarkSource,
        STS_BENCHMARK,
        {"train": ("sts-train.csv",), "dev": ("sts-dev.csv",), "test": ("sts-test.csv",)},
        BY_RELATEDNESS,
        gold=_scores,
        classes=0,
        other_names=("STSB", "STSBENCHMARK"),
    ),
}
"""The tasks by their names, in the order of the tables."""

_SPLITS = {"train": "train", "dev": "validation", "test": "test"}
"""What the readers call SentEval's parts."""


@dataclass(frozen=True, eq=False)
class ReadTask:
    """A task that is there in full.

    Attributes:
        name: SentEval's name for it, e.g. `MR`.
        parts: The examples of each part, in SentEval's order.
        tested_on: What the part `test` is, where there is one.
    """

    name: str
    row: TransferTask
    parts: dict[str, Examples]
    tested_on: str = "test"

    def regressions(self, protocol: Protocol) -> int:
        """Returns how many regressions :meth:`evaluate` trains, for a progress bar."""
        return self.row.way.regressions(protocol)

    def evaluate(self, vectors: Vectors, protocol: Protocol) -> TaskResult:
        """Trains and tests a classifier or a regression on the vectors."""
        result = self.row.way.score(self.parts, vectors, self.row.classes, protocol)
        metrics, majority = dict(result.metrics), dict(result.majority)
        if not self.row.f1:
            metrics.pop("f1", None)
            majority.pop("f1", None)
        tested_on = result.tested_on or self.tested_on
        return TaskResult(self.name, tested_on, result.train, result.test, metrics, result.dev, majority)


@dataclass(frozen=True)
class TransferTasks:
    """The tasks that were found.

    Attributes:
        tasks: Those that are there, in the order of :data:`TASKS`.
        missing: For each of the others the files that it lacks.
    """

    tasks: tuple[ReadTask, ...]
    missing: dict[str, tuple[str, ...]]
    paths: tuple[Path, ...]

    def sentences(self) -> Iterator[str]:
        """Lists the distinct sentences of all tasks."""
        sides = (side for task in self.tasks for part in task.parts.values() for side in part.sides)
        yield from dict.fromkeys(sentence for side in sides for sentence in side)


def choose_tasks(requested: Iterable[str]) -> list[str]:
    """Returns the names of tasks in the order of :data:`TASKS`; all of them where none is requested.

    Capitals do not matter, and the names of SentEval and of the papers are known too (`SICKRelatedness`, `MSRP`).
    """
    names_by_alias = {other: name for name, row in TASKS.items() for other in (name, *row.other_names)}
    chosen = set()
    for name in requested:
        plain = name.upper()
        task_name = names_by_alias.get(plain, names_by_alias.get(plain.replace("-", "")))
        if task_name is None:
            raise UsageError(f"unknown transfer task {name}", remedy=choice_of(name, TASKS))
        chosen.add(task_name)
    return [name for name in TASKS if not chosen or name in chosen]


def find_transfer_tasks(
    folder: Path, names: Iterable[str], protocol: Protocol, *, sick_test_on_trial: bool = False
) -> TransferTasks:
    """Reads the tasks from their raw files, or from the data folders that `prepare` makes of them, below a folder."""
    if not folder.is_dir():
        raise no_folder(folder, "give the folder that holds the transfer sets")

    @cache
    def parts_of(kind: tuple[type[Any], pa.Schema]) -> dict[tuple[str, str], Part]:
        source, schema = kind
        return parts_below(source(data_dir=str(folder)), folder, schema)

    wanted = set(names)
    tasks: list[ReadTask] = []
    missing: dict[str, tuple[str, ...]] = {}
    paths: list[Path] = []
    for name, row in TASKS.items():
        if name not in wanted:
            continue
        source_parts = parts_of((row.source, row.schema))
        places = {part: (row.configuration, _SPLITS[part]) for part in row.files}
        on_trial = row.on_trial and sick_test_on_trial
        needed = [part for part in places if not (on_trial and part == "test")]
        lacking = tuple(file for part in needed if places[part] not in source_parts for file in row.files[part])
        if lacking:
            missing[name] = lacking
            continue
        least = row.way.fewest(protocol)
        read = {part: _read(row, source_parts[places[part]], may_be_empty=least is not None) for part in needed}
        if on_trial:
            read = _shifted(read, protocol.seed)
        paths += [path for part in needed for path in source_parts[places[part]].files]
        if least is not None:
            check_enough(read["train"].gold, least, name=name, path=source_parts[places["train"]].files[0])
        examples = {part: examples.in_order() for part, examples in read.items()}
        tasks.append(ReadTask(name, row, examples, ON_TRIAL if on_trial else "test"))
    if not tasks:
        lacking_files = "; ".join(f"{name}: {', '.join(files)}" for name, files in missing.items())
        raise InputError(f"no transfer task is complete below this folder; not there: {lacking_files}", path=folder)
    return TransferTasks(tuple(tasks), missing, tuple(dict.fromkeys(paths)))


def _read(row: TransferTask, part: Part, *, may_be_empty: bool) -> Examples:
    table = read_part(part)
    if not table.num_rows and not may_be_empty:
        raise InputError("the file contains no pairs", path=part.files[0], remedy="replace it with a complete copy")
    return Examples(tuple(table.column(name).to_pylist() for name in row.sides), row.gold(table, part.files[0]))


def _shifted(examples: dict[str, Examples], seed: int) -> dict[str, Examples]:
    """Makes the trial part the test part, and a ninth of the train part the trial part."""
    train = examples["train"]
    order = np.random.default_rng(seed).permutation(len(train))
    count = max(1, len(train) // 9)
    return {
        "train": train.rows(np.sort(order[count:])),
        "dev": train.rows(np.sort(order[:count])),
        "test": examples["dev"],
    }
