"""`evaluate --suite senteval`: transfer tasks by SentEval's protocol, a regression trained on fixed vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from ..artefacts.measurements import Measurement
from ..errors import UsageError
from ..evaluation.scorer import Scorer
from ..evaluation.transfer.classifier import PENALTIES
from ..evaluation.transfer.cross_validation import Protocol
from ..evaluation.transfer.evaluation import evaluate_tasks
from ..evaluation.transfer.registry import TASKS, TransferTasks, choose_tasks, find_transfer_tasks
from ..evaluation.transfer.report import NamedTransfer, format_transfer
from .evaluate_suite import Suite


class SentEvalSuite(Suite):
    """MR, CR, SUBJ, MPQA, TREC, MRPC, SICK-R, SICK-E and STS-B, as far as their files are below a folder."""

    NAMES = ("senteval",)
    SECTION = "hf-paraphrase evaluate: senteval"
    HEADING = "Evaluation: transfer tasks"
    TRAINED = "a regression was trained on top of fixed vectors"

    def check(self) -> None:
        """Checks the names of the tasks."""
        self.folder = self.data_folder()
        requested = [part.strip() for word in self.arguments.tasks for part in word.split(",") if part.strip()]
        if self.arguments.tasks and not requested:
            raise UsageError("evaluate: --tasks is empty", remedy=f"give some of {', '.join(TASKS)}")
        self.tasks = choose_tasks(requested)
        self.found = TransferTasks((), {}, ())

    def read(self) -> None:
        """Reads the tasks that are there."""
        self.found = find_transfer_tasks(
            self.folder, self.tasks, Protocol(), sick_test_on_trial=self.arguments.sick_test_on_trial
        )

    def measure(self, scorer: Scorer) -> NamedTransfer:
        """Encodes all sentences once, and trains and tests on every task."""
        total = sum(task.regressions(Protocol()) for task in self.found.tasks)
        with tqdm(total=total, unit=" regressions", desc="train") as bar:
            results = evaluate_tasks(scorer.encode, self.found, Protocol(progress=bar.update))
        return NamedTransfer(scorer.name, scorer.kind, results)

    def report(self, results: Sequence[NamedTransfer]) -> str:
        """Lays out one table of all tasks."""
        return format_transfer(results, self.found.missing)

    def results_of(self, result: NamedTransfer) -> dict[str, Any]:
        """Returns the results task by task."""
        return {"tasks": [item.as_dict() for item in result.results]}

    def measurements(self, result: NamedTransfer) -> list[Measurement]:
        """Lists what was measured."""
        return [found for item in result.results for found in item.measurements()]

    def about(self) -> dict[str, Any]:
        """Returns the protocol, the classifier's settings and what was not found."""
        protocol = Protocol()
        return {
            "protocol": "SentEval (Conneau and Kiela 2018): a regression on fixed sentence vectors; accuracy and F1 "
            "in per cent, Pearson and Spearman x 100",
            "classifier": {
                "folds": protocol.folds,
                "penalties": list(PENALTIES),
                "seed": protocol.seed,
                **asdict(protocol.settings),
                "relatedness": asdict(protocol.relatedness),
            },
            "missing": {name: list(files) for name, files in self.found.missing.items()},
        }

    def inputs(self) -> list[Path]:
        """Lists the files of the tasks."""
        return list(self.found.paths)

    def evaluation(self, result: NamedTransfer, record: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Keeps all results; another evaluation on the same tasks replaces them."""
        return f"evaluate senteval {' '.join(task.name for task in self.found.tasks)}", {
            "kind": "evaluate-senteval",
            "tasks": record["results"][0]["tasks"],
            **{key: record[key] for key in ("protocol", "classifier", "missing", "inputs", "settings", "versions")},
        }
