"""`evaluate --suite paraphrase`: detection of paraphrases, by a perceptron and by the cosine alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from ..artefacts.measurements import Measurement
from ..errors import UsageError
from ..evaluation.paraphrase import DetectionTask, describe, evaluate_detection, read_task
from ..evaluation.paraphrase_report import PERCEPTRON_NOTE, NamedDetection, format_detection
from ..evaluation.report import short_names
from ..evaluation.scorer import Scorer
from .evaluate_suite import Suite


class ParaphraseSuite(Suite):
    """Paper 003's evaluation on labelled data folders, each a line of the tables."""

    NAMES = ("paraphrase",)
    SECTION = "hf-paraphrase evaluate: paraphrase"
    HEADING = "Evaluation: paraphrase detection"
    TRAINED = "the perceptron was trained on top of fixed vectors, for the cosine nothing was"

    def check(self) -> None:
        """Checks the number of seeds and that no folder is there twice."""
        if self.arguments.seeds < 1:
            raise UsageError(f"evaluate: --seeds is {self.arguments.seeds}", remedy="give 1 or more")
        self.folders = [Path(folder) for folder in self.arguments.data]
        if len({folder.resolve() for folder in self.folders}) < len(self.folders):
            raise UsageError("evaluate: a folder of --data is there twice", remedy="give each folder once")
        self.tasks: list[DetectionTask] = []

    def read(self) -> None:
        """Reads the labelled pairs of every folder."""
        names = short_names([str(folder.resolve()) for folder in self.folders])
        for folder, name in zip(self.folders, names, strict=True):
            task = read_task(
                folder,
                dev_split=self.arguments.dev_split,
                test_split=self.arguments.test_split,
                positive_above=self.arguments.positive_above,
            )
            self.tasks.append(replace(task, name=name))

    def measure(self, scorer: Scorer) -> NamedDetection:
        """Trains the perceptrons and computes the cosines."""
        seeds = range(1, self.arguments.seeds + 1)
        total = len(seeds) * sum(len(task.folds) for task in self.tasks)
        with tqdm(total=total, unit=" perceptrons", desc="train") as bar:
            results = evaluate_detection(
                scorer, self.tasks, seeds=seeds, both_orders=self.arguments.both_orders, progress=bar.update
            )
        return NamedDetection(scorer.name, scorer.kind, results)

    def report(self, results: Sequence[NamedDetection]) -> str:
        """Lays out the perceptrons' table and the cosine's."""
        return format_detection(results)

    def results_of(self, result: NamedDetection) -> dict[str, Any]:
        """Returns the results folder by folder."""
        return {"tasks": [item.as_dict() for item in result.results]}

    def measurements(self, result: NamedDetection) -> list[Measurement]:
        """Lists what was measured."""
        return [found for item in result.results for found in item.measurements()]

    def about(self) -> dict[str, Any]:
        """Returns the protocol and what the tasks are made of."""
        return {
            "protocol": f"{PERCEPTRON_NOTE} (Sjöblom et al. 2018); average precision, accuracy and F1 of the cosine; "
            "shares from 0 to 1",
            "tasks": [describe(task) for task in self.tasks],
        }

    def inputs(self) -> list[Path]:
        """Lists the data folders."""
        return self.folders

    def evaluation(self, result: NamedDetection, record: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Keeps all results; another evaluation on folders and splits of the same names replaces them."""
        splits = f"{self.arguments.dev_split}/{self.arguments.test_split}"
        return f"evaluate paraphrase {' '.join(task.name for task in self.tasks)} {splits}", {
            "kind": "evaluate-paraphrase",
            "protocol": record["protocol"],
            "tasks": record["results"][0]["tasks"],
            **{key: record[key] for key in ("inputs", "settings", "versions")},
        }
