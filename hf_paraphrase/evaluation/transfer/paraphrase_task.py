"""MRPC (Dolan, Quirk and Brockett 2004): news sentences that are paraphrases or not (SentEval, `mrpc.py`).

The features of a pair are |u − v| and u ∗ v. The set is called MSRP or MSRPC elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...data.sources.msrp import SCHEMA, MsrpOptions
from .classifier import PENALTIES
from .cross_validation import Protocol, check_enough, folds_then_test
from .source_parts import parts_below, read_part
from .task import Examples, FoundTasks, TaskResult, TransferTask, Vectors, majority

NAMES = ("MRPC",)
_FILES = {"train": "msr_paraphrase_train.txt", "test": "msr_paraphrase_test.txt"}


class ParaphraseTask(TransferTask):
    """Labelled pairs in the parts `train` and `test`."""

    def regressions(self, protocol: Protocol) -> int:
        """Counts the folds' regressions for every penalty, and the final one."""
        return protocol.folds * len(PENALTIES) + 1

    def evaluate(self, vectors: Vectors, protocol: Protocol) -> TaskResult:
        """Chooses the penalty by folds of the train part, and tests on the other: accuracy, and F1 of paraphrases."""
        train, test = self.parts["train"], self.parts["test"]
        found = folds_then_test(
            train.pair_features(vectors), train.gold, test.pair_features(vectors), test.gold, 2, protocol
        )
        always = np.full(len(test), np.bincount(train.gold).argmax())
        return TaskResult(
            self.name,
            "test",
            len(train),
            len(test),
            {"accuracy": 100 * found.accuracy, "f1": 100 * f1_of_paraphrases(found.predictions, test.gold)},
            {"accuracy": 100 * found.dev_accuracy},
            {**majority(train.gold, test.gold), "f1": 100 * f1_of_paraphrases(always, test.gold)},
        )


def f1_of_paraphrases(predictions: np.ndarray, gold: np.ndarray) -> float:
    """Computes the F1 of class 1, from 0 to 1; 0 where it is neither predicted nor there."""
    hits = int(((predictions == 1) & (gold == 1)).sum())
    return 2 * hits / max(1, int((predictions == 1).sum()) + int((gold == 1).sum()))


def find_paraphrase_task(folder: Path, wanted: Sequence[str], protocol: Protocol) -> FoundTasks:
    """Reads MRPC.

    Raises:
        InputError: For a malformed file, or one with too few pairs for the folds.
    """
    parts = parts_below(MsrpOptions(data_dir=str(folder)), folder, SCHEMA)
    lacking = tuple(name for split, name in _FILES.items() if ("default", split) not in parts)
    if lacking:
        return FoundTasks(missing={"MRPC": lacking})
    examples = {}
    for split in _FILES:
        table = read_part(parts["default", split])
        sides = tuple(table.column(name).to_pylist() for name in ("sentence1", "sentence2"))
        examples[split] = Examples(sides, table.column("label").to_numpy().astype(np.int64))
    paths = tuple(path for split in _FILES for path in parts["default", split].files)
    check_enough(examples["train"].gold, 2 * protocol.folds, name="MRPC", path=paths[0])
    return FoundTasks((ParaphraseTask("MRPC", examples),), paths=paths)
