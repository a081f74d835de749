"""SentEval's transfer tasks as a table: where the examples of each are, and what their labels are.

Movie and product reviews (MR: Pang and Lee 2005; CR: Hu and Liu 2004), subjectivity (SUBJ: Pang and Lee 2004) and
polarity of phrases (MPQA: Wiebe, Wilson and Cardie 2005) have no test part. TREC (Li and Roth 2002) are questions of
six types, MRPC (Dolan, Quirk and Brockett 2004; MSRP elsewhere) news sentences that are paraphrases or not. SICK
(Marelli et al. 2014) has relatedness from 1 to 5 and entailment in three classes, the STS benchmark (Cer et al. 2017)
scores from 0 to 5. Predicted by a regression, their figures are far above those of the cosine alone, which
`evaluate --suite sts` gives.
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
from ..data.sources.graded import SICK, STS_BENCHMARK, SickSource, StsBenchmarkSource
from ..data.sources.msrp import SCHEMA as MSRP
from ..data.sources.msrp import MsrpSource
from ..data.sources.rows import fitted
from ..data.sources.source import NothingThereError, Part, Source
from ..data.sources.transfer import BINARY, QUESTION_TYPES, TREC, TransferSource
from ..data.text_files import LineErrors
from ..errors import InputError, no_folder
from .classifiers import FOLDS, check_enough

ENTAILMENT = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
_SHARDS = f"*-{'[0-9]' * 5}-of-{'[0-9]' * 5}.parquet"
_PAIR = ("sentence1", "sentence2")


@dataclass(frozen=True)
class TransferTask:
    """A row of the table of tasks.

    Attributes:
        source: The settings class of the source that the files belong to.
        files: The raw files of each part, `train`, `dev` and `test`, to name them where they are missing.
        gold: The human label or score of each row of a table.
        classes: How many classes there are; 0 for scores.
    """

    source: Any
    schema: pa.Schema
    files: Mapping[str, tuple[str, ...]]
    configuration: str = "default"
    sides: tuple[str, ...] = _PAIR
    gold: Callable[[pa.Table, Path], np.ndarray] = lambda table, path: _labels(table)
    classes: int = 2


def _labels(table: pa.Table) -> np.ndarray:
    return table.column("label").to_numpy().astype(np.int64)


def _scores(table: pa.Table, path: Path) -> np.ndarray:
    return table.column("score").to_numpy().astype(np.float64)


def _entailment(table: pa.Table, path: Path) -> np.ndarray:
    judgements = table.column("entailment").to_pylist()
    unknown = next((row for row, value in enumerate(judgements) if value not in ENTAILMENT), None)
    if unknown is not None:
        raise InputError(
            f"the entailment judgement of pair {unknown + 1} is {judgements[unknown] or 'missing'}",
            path=path,
            remedy=f"one of {', '.join(ENTAILMENT)}",
        )
    return np.array([ENTAILMENT.index(value) for value in judgements], dtype=np.int64)


def _binary(name: str, negative: str, positive: str) -> TransferTask:
    return TransferTask(TransferSource, BINARY, {"train": (negative, positive)}, configuration=name, sides=("text",))


_SICK = {"train": ("SICK_train.txt",), "dev": ("SICK_trial.txt",), "test": ("SICK_test_annotated.txt",)}

TASKS: dict[str, TransferTask] = {
    "MR": _binary("mr", "rt-polarity.neg", "rt-polarity.pos"),
    "CR": _binary("cr", "custrev.neg", "custrev.pos"),
    "SUBJ": _binary("subj", "subj.objective", "subj.subjective"),
    "MPQA": _binary("mpqa", "mpqa.neg", "mpqa.pos"),
    "TREC": TransferTask(
        TransferSource,
        TREC,
        {"train": ("train_5500.label",), "test": ("TREC_10.label",)},
        configuration="trec",
        sides=("text",),
        classes=len(QUESTION_TYPES),
    ),
    "MRPC": TransferTask(
        MsrpSource,
        MSRP,
        {"train": ("msr_paraphrase_train.txt",), "test": ("msr_paraphrase_test.txt",)},
    ),
    "SICK-R": TransferTask(SickSource, SICK, _SICK, gold=_scores, classes=0),
    "SICK-E": TransferTask(SickSource, SICK, _SICK, gold=_entailment, classes=3),
    "STS-B": TransferTask(
        StsBenchmarkSource,
        STS_BENCHMARK,
        {"train": ("sts-train.csv",), "dev": ("sts-dev.csv",), "test": ("sts-test.csv",)},
        gold=_scores,
        classes=0,
    ),
}
"""The tasks by their names, in the order of the tables."""

_SPLITS = {"train": "train", "dev": "validation", "test": "test"}
"""What the readers call SentEval's parts."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Sentences, or pairs of them, with human labels or scores.

    Attributes:
        sides: The sentences; a second list of equal length for pairs.
        gold: The class (int64) or score (float64) of each (n,).
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


@dataclass(frozen=True, eq=False)
class ReadTask:
    """A task all of whose files are present: `train`, and `dev` and `test` where it has them; 0 classes for scores."""

    name: str
    classes: int
    parts: dict[str, Examples]


def find_transfer_tasks(
    folder: Path, names: Iterable[str], *, folds: int = FOLDS
) -> tuple[list[ReadTask], dict[str, list[str]], list[Path]]:
    """Reads the tasks from their raw files, or from the data folders that `prepare` makes of them, below a folder.

    Returns:
        The complete tasks in the order of :data:`TASKS`, for each of the others the files that it lacks, and the
        files that were read.
    """
    if not folder.is_dir():
        raise no_folder(folder, "give the folder that holds the transfer sets")

    @cache
    def parts_of(kind: Any, schema: pa.Schema) -> dict[tuple[str, str], Part]:
        return _parts_below(kind(data_dir=str(folder)), folder, schema)

    wanted = set(names)
    tasks: list[ReadTask] = []
    missing: dict[str, list[str]] = {}
    paths: list[Path] = []
    for name, row in TASKS.items():
        if name not in wanted:
            continue
        source_parts = parts_of(row.source, row.schema)
        places = {part: (row.configuration, _SPLITS[part]) for part in row.files}
        lacking = [file for part in places if places[part] not in source_parts for file in row.files[part]]
        if lacking:
            missing[name] = lacking
            continue
        examples = {part: _read(row, source_parts[place]) for part, place in places.items()}
        paths += [path for place in places.values() for path in source_parts[place].files]
        if "dev" not in row.files:
            check_enough(examples["train"].gold, 2 * folds, name, source_parts[places["train"]].files[0])
        tasks.append(ReadTask(name, row.classes, examples))
    if not tasks:
        lacking_files = "; ".join(f"{name}: {', '.join(files)}" for name, files in missing.items())
        raise InputError(f"no transfer task is complete below this folder; not there: {lacking_files}", path=folder)
    return tasks, missing, list(dict.fromkeys(paths))


def _read(row: TransferTask, part: Part) -> Examples:
    tables = [fitted(table, row.schema) for table in part.read(LineErrors())]
    table = pa.concat_tables([row.schema.empty_table(), *tables])
    if not table.num_rows:
        raise InputError("the file contains no examples", path=part.files[0], remedy="replace it with a complete copy")
    return Examples(tuple(table.column(name).to_pylist() for name in row.sides), row.gold(table, part.files[0]))


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
