"""MR, CR, SUBJ and MPQA: sentences of two classes without a test part, scored by nested folds.

Movie and product reviews (Pang and Lee 2005; Hu and Liu 2004), subjectivity (Pang and Lee 2004) and polarity of
phrases (Wiebe, Wilson and Cardie 2005). Every example is tested once, by a regression on the vectors whose penalty was
chosen by folds of the other nine tenths (SentEval, `binary.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...data.sources.transfer import BINARY, TransferOptions
from .classifier import PENALTIES
from .cross_validation import Protocol, check_enough, nested_folds
from .source_parts import parts_below, read_part
from .task import Examples, FoundTasks, TaskResult, TransferTask, Vectors, majority

NAMES = ("MR", "CR", "SUBJ", "MPQA")
_FILES = {
    "MR": ("rt-polarity.neg", "rt-polarity.pos"),
    "CR": ("custrev.neg", "custrev.pos"),
    "SUBJ": ("subj.objective", "subj.subjective"),
    "MPQA": ("mpqa.neg", "mpqa.pos"),
}


class SentenceTask(TransferTask):
    """Sentences of two classes in one part, `train`."""

    def regressions(self, protocol: Protocol) -> int:
        """Counts the inner folds' regressions for every penalty, and a final one, for every outer fold."""
        return protocol.folds * (protocol.folds * len(PENALTIES) + 1)

    def evaluate(self, vectors: Vectors, protocol: Protocol) -> TaskResult:
        """Scores by nested folds."""
        examples = self.parts["train"]
        found = nested_folds(vectors(examples.sides[0]), examples.gold, 2, protocol)
        size = len(examples)
        return TaskResult(
            self.name,
            f"{protocol.folds} folds",
            size - size // protocol.folds,
            size,
            {"accuracy": 100 * found.accuracy},
            {"accuracy": 100 * found.dev_accuracy},
            majority(examples.gold, examples.gold),
        )


def find_sentence_tasks(folder: Path, wanted: Sequence[str], protocol: Protocol) -> FoundTasks:
    """Reads the wanted ones of the four sets.

    Raises:
        InputError: For a malformed file, a set with one class, or one with too few sentences for the folds.
    """
    parts = parts_below(TransferOptions(data_dir=str(folder)), folder, BINARY)
    tasks: list[TransferTask] = []
    missing: dict[str, tuple[str, ...]] = {}
    paths: list[Path] = []
    for name in wanted:
        part = parts.get((name.lower(), "train"))
        if part is None:
            missing[name] = _FILES[name]
            continue
        table = read_part(part)
        labels = table.column("label").to_numpy().astype(np.int64)
        # SentEval takes the objective sentences for the positive class; the order of the examples depends on it.
        examples = Examples((table.column("text").to_pylist(),), 1 - labels if name == "SUBJ" else labels)
        check_enough(examples.gold, protocol.folds**2, name=name, path=part.files[0])
        tasks.append(SentenceTask(name, {"train": examples}))
        paths += part.files
    return FoundTasks(tuple(tasks), missing, tuple(paths))
