"""SICK (Marelli et al. 2014): relatedness from 1 to 5 and entailment in three classes (SentEval, `sick.py`).

The features of a pair are |u − v| and u ∗ v. SICK-R is a regression (:mod:`.relatedness`), SICK-E a classification
with the penalty chosen on the trial part. Where the test part is not at hand, both can be tested on the trial part
instead, on request: then a ninth of the train part, 500 of 4,500 pairs, stands in for the trial part, and the line in
the table says so; the figures do not compare with published ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from ...data.sources.graded_files import SICK
from ...data.sources.sick import SickOptions
from ...errors import InputError
from .classifier import PENALTIES
from .cross_validation import Protocol, dev_then_test
from .graded_parts import GradedParts, read_graded_parts
from .relatedness_task import RelatednessTask
from .task import Examples, FoundTasks, TaskResult, TransferTask, Vectors, majority

NAMES = ("SICK-R", "SICK-E")
ENTAILMENT = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
ON_TRIAL = "trial, not test"
_FILES = {"train": "SICK_train.txt", "dev": "SICK_trial.txt", "test": "SICK_test_annotated.txt"}


class EntailmentTask(TransferTask):
    """Pairs of three classes in the parts `train`, `dev` and `test`.

    Args:
        name: The task.
        parts: The pairs.
        tested_on: What the part `test` is.
    """

    def __init__(self, name: str, parts: dict[str, Examples], tested_on: str = "test") -> None:
        super().__init__(name, parts)
        self.tested_on = tested_on

    def regressions(self, protocol: Protocol) -> int:
        """Counts one for every penalty."""
        return len(PENALTIES)

    def evaluate(self, vectors: Vectors, protocol: Protocol) -> TaskResult:
        """Chooses the penalty on `dev`, and tests on `test`."""
        features = {name: examples.pair_features(vectors) for name, examples in self.parts.items()}
        labels = {name: examples.gold for name, examples in self.parts.items()}
        found = dev_then_test(features, labels, len(ENTAILMENT), protocol)
        return TaskResult(
            self.name,
            self.tested_on,
            len(labels["train"]),
            len(labels["test"]),
            {"accuracy": 100 * found.accuracy},
            {"accuracy": 100 * found.dev_accuracy},
            majority(labels["train"], labels["test"]),
        )


def find_sick_tasks(folder: Path, wanted: Sequence[str], protocol: Protocol, *, on_trial: bool = False) -> FoundTasks:
    """Reads the wanted ones of SICK's two tasks.

    Args:
        folder: The folder below which the files lie.
        wanted: `SICK-R`, `SICK-E` or both.
        protocol: The settings; its seed draws the pairs that stand in for the trial part.
        on_trial: Test on the trial part.

    Raises:
        InputError: For a malformed file, or one without entailment where that is wanted.
    """
    found = read_graded_parts(SickOptions, SICK, folder, _FILES)
    lacking = tuple(file for file in found.missing if not (on_trial and file == _FILES["test"]))
    if lacking:
        return FoundTasks(missing=dict.fromkeys(wanted, lacking))
    tasks: list[TransferTask] = []
    tested_on = ON_TRIAL if on_trial else "test"
    for name in wanted:
        examples = {part: _examples(name, table, found, part) for part, table in found.tables.items()}
        if on_trial:
            examples = _shifted(examples, protocol.seed)
        kind = RelatednessTask if name == "SICK-R" else EntailmentTask
        tasks.append(kind(name, examples, tested_on))
    paths = [path for part, path in found.paths.items() if not (on_trial and part == "test")]
    return FoundTasks(tuple(tasks), paths=tuple(paths))


def _examples(name: str, table: pa.Table, found: GradedParts, part: str) -> Examples:
    sides = (table.column("sentence1").to_pylist(), table.column("sentence2").to_pylist())
    if name == "SICK-R":
        return Examples(sides, table.column("score").to_numpy().astype(np.float64))
    judgements = table.column("entailment").to_pylist()
    strange = next((place for place, value in enumerate(judgements) if value not in ENTAILMENT), None)
    if strange is not None:
        raise InputError(
            f"the entailment judgement of pair {strange + 1} is {judgements[strange] or 'not there'}",
            path=found.paths[part],
            remedy=f"one of {', '.join(ENTAILMENT)}",
        )
    return Examples(sides, np.array([ENTAILMENT.index(value) for value in judgements], dtype=np.int64))


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
