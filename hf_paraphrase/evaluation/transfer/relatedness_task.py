"""The STS benchmark (Cer et al. 2017) with a regression trained on top, as SentEval has it (`sts.py`).

The features of a pair are |u − v| and u ∗ v. The figures are far above those of the cosine alone, which
`evaluate --suite sts` gives. Scores from 0 to 5 are predicted by a regression that knows 1 to 5, see
:mod:`.relatedness`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...data.sources.graded_files import STS_BENCHMARK
from ...data.sources.stsbenchmark import StsBenchmarkOptions
from ..correlation import pearson, spearman
from .cross_validation import Protocol
from .graded_parts import read_graded_parts
from .task import Examples, FoundTasks, TaskResult, TransferTask, Vectors

NAMES = ("STS-B",)
_FILES = {"train": "sts-train.csv", "dev": "sts-dev.csv", "test": "sts-test.csv"}


class RelatednessTask(TransferTask):
    """Graded pairs in the parts `train`, `dev` and `test`.

    Args:
        name: The task.
        parts: The pairs.
        tested_on: What the part `test` is.
    """

    def __init__(self, name: str, parts: dict[str, Examples], tested_on: str = "test") -> None:
        super().__init__(name, parts)
        self.tested_on = tested_on

    def regressions(self, protocol: Protocol) -> int:
        """Counts the one regression."""
        return 1

    def evaluate(self, vectors: Vectors, protocol: Protocol) -> TaskResult:
        """Trains on `train`, chooses the epoch on `dev`, and correlates on `test`."""
        from .relatedness import predict_relatedness

        features = {name: examples.pair_features(vectors) for name, examples in self.parts.items()}
        scores = {name: examples.gold for name, examples in self.parts.items()}
        predicted, dev = predict_relatedness(features, scores, settings=protocol.relatedness, seed=protocol.seed)
        if protocol.progress is not None:
            protocol.progress(1)
        return TaskResult(
            self.name,
            self.tested_on,
            len(self.parts["train"]),
            len(self.parts["test"]),
            {
                "pearson": 100 * pearson(predicted, scores["test"]),
                "spearman": 100 * spearman(predicted, scores["test"]),
                "mse": float(np.mean((predicted - scores["test"]) ** 2)),
            },
            {"pearson": 100 * dev},
        )


def find_sts_benchmark_task(folder: Path, wanted: Sequence[str], protocol: Protocol) -> FoundTasks:
    """Reads the STS benchmark.

    Raises:
        InputError: For a malformed file.
    """
    found = read_graded_parts(StsBenchmarkOptions, STS_BENCHMARK, folder, _FILES)
    if found.missing:
        return FoundTasks(missing={"STS-B": found.missing})
    examples = {
        name: Examples(
            (table.column("sentence1").to_pylist(), table.column("sentence2").to_pylist()),
            table.column("score").to_numpy().astype(np.float64),
        )
        for name, table in found.tables.items()
    }
    return FoundTasks((RelatednessTask("STS-B", examples),), paths=tuple(found.paths.values()))
