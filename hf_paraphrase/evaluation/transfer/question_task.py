"""TREC (Li and Roth 2002): questions of six types, with a test part of 500 (SentEval, `trec.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...data.sources.transfer import QUESTION_TYPES, TREC, TransferOptions
from .classifier import PENALTIES
from .cross_validation import Protocol, check_enough, folds_then_test
from .source_parts import parts_below, read_part
from .task import Examples, FoundTasks, TaskResult, TransferTask, Vectors, majority

NAMES = ("TREC",)
_FILES = {"train": "train_5500.label", "test": "TREC_10.label"}


class QuestionTask(TransferTask):
    """Questions of six types in the parts `train` and `test`."""

    def regressions(self, protocol: Protocol) -> int:
        """Counts the folds' regressions for every penalty, and the final one."""
        return protocol.folds * len(PENALTIES) + 1

    def evaluate(self, vectors: Vectors, protocol: Protocol) -> TaskResult:
        """Chooses the penalty by folds of the train part, and tests on the other."""
        train, test = self.parts["train"], self.parts["test"]
        found = folds_then_test(
            vectors(train.sides[0]), train.gold, vectors(test.sides[0]), test.gold, len(QUESTION_TYPES), protocol
        )
        return TaskResult(
            self.name,
            "test",
            len(train),
            len(test),
            {"accuracy": 100 * found.accuracy},
            {"accuracy": 100 * found.dev_accuracy},
            majority(train.gold, test.gold),
        )


def find_question_task(folder: Path, wanted: Sequence[str], protocol: Protocol) -> FoundTasks:
    """Reads TREC.

    Raises:
        InputError: For a malformed file, or one with too few questions for the folds.
    """
    parts = parts_below(TransferOptions(data_dir=str(folder)), folder, TREC)
    lacking = tuple(name for split, name in _FILES.items() if ("trec", split) not in parts)
    if lacking:
        return FoundTasks(missing={"TREC": lacking})
    examples = {}
    for split in _FILES:
        table = read_part(parts["trec", split])
        labels = table.column("label").to_numpy().astype(np.int64)
        examples[split] = Examples((table.column("text").to_pylist(),), labels)
    paths = tuple(path for split in _FILES for path in parts["trec", split].files)
    check_enough(examples["train"].gold, 2 * protocol.folds, name="TREC", path=paths[0])
    return FoundTasks((QuestionTask("TREC", examples),), paths=paths)
