"""What `quality_speed.py` scores encoders on: STS sets, labelled pairs, and transfer tasks, each read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.data.sources.graded import recognise_graded_file
from hf_paraphrase.data.sources.pairs import PairsSource
from hf_paraphrase.data.text_files import LineErrors
from hf_paraphrase.errors import InputError
from hf_paraphrase.evaluation.baselines import Scorer
from hf_paraphrase.evaluation.dev import TEST_GROUP
from hf_paraphrase.evaluation.graded_set import GradedSet, ScoredSet, score
from hf_paraphrase.evaluation.labelled_set import LabelledSet, read_labelled_folder, require_both_classes
from hf_paraphrase.evaluation.sts import DEV_MEAN, MEAN_GROUPS, evaluate_scored
from hf_paraphrase.evaluation.sts_files import find_sts_sets
from hf_paraphrase.evaluation.transfer.suite import evaluate_tasks
from hf_paraphrase.evaluation.transfer.tasks import ReadTask, TransferTasks, find_transfer_tasks, read_part
from hf_paraphrase.metrics.paraphrase_detection.paraphrase_detection import detection_measures

STS_BENCHMARK = "STS-B dev"
TRANSFER_TASKS = ("MR", "CR", "SUBJ", "MPQA", "TREC")
TRANSFER_MEAN = "transfer mean"
_LABELLED = "labelled"


@dataclass(frozen=True)
class Quality:
    """What one encoder reached.

    Attributes:
        columns: Its figures × 100 by the names of the columns: means of Pearson's r over sets of STS, average
            precision (AP) of the cosine on labelled pairs, accuracies of transfer tasks and their mean.
        sets: Pearson × 100 of each set of STS.
    """

    columns: dict[str, float]
    sets: dict[str, float]


@dataclass(frozen=True)
class QualitySets:
    """The data.

    Attributes:
        graded: The STS sets of paper 000 that are at hand, STS 2016, and the dev part of the STS benchmark.
        labelled: Pairs that people labelled as paraphrases or not; their scores are the labels.
    """

    graded: tuple[GradedSet, ...]
    labelled: tuple[GradedSet, ...]
    transfer: TransferTasks | None = None

    def sentences(self) -> list[str]:
        """Lists the distinct sentences of the pairs."""
        sets = (*self.graded, *self.labelled)
        return list(dict.fromkeys(text for item in sets for text in (*item.sentences1, *item.sentences2)))

    def measure(self, scorer: Scorer) -> Quality:
        """Scores an encoder or a baseline; each distinct sentence of the pairs is encoded once."""
        scored = score(scorer, (*self.graded, *self.labelled))
        sts = evaluate_scored(scored[: len(self.graded)])
        sets = {item.key: item.pearson for item in sts.sets}
        columns = {}
        test = sts.mean(TEST_GROUP)
        if test.pearson is not None:
            columns[test.label] = test.pearson
        if sts.dev_mean is not None:
            columns[sts.mean(DEV_MEAN).label] = sts.dev_mean
        if STS_BENCHMARK in sets:
            columns[STS_BENCHMARK] = sets[STS_BENCHMARK]
        columns |= {f"{item.graded.name} AP": _average_precision(item) for item in scored[len(self.graded) :]}
        if self.transfer is not None:
            results = evaluate_tasks(scorer.encode, self.transfer)
            accuracies = {result.task: result.metrics["accuracy"] for result in results}
            columns |= accuracies | {TRANSFER_MEAN: float(np.mean(list(accuracies.values())))}
        return Quality(columns, sets)


def read_quality_sets(
    data: Path, labelled: Sequence[tuple[str, Path]], transfer: Path | None, limit: int | None
) -> QualitySets:
    """Reads all data."""
    wanted = {*MEAN_GROUPS[TEST_GROUP], *MEAN_GROUPS[DEV_MEAN], STS_BENCHMARK}
    graded = [item for item in find_sts_sets(data).sets if item.key in wanted]
    if not graded:
        raise InputError("no STS set below this folder", path=data, remedy="check --data")
    tasks = None if transfer is None else find_transfer_tasks(transfer, TRANSFER_TASKS)
    if tasks is not None:
        tasks = replace(tasks, tasks=tuple(_some_examples(task, limit) for task in tasks.tasks))
    return QualitySets(
        tuple(_some(item, limit) for item in graded),
        tuple(_some(read_labelled(name, path), limit) for name, path in labelled),
        tasks,
    )


def read_labelled(name: str, path: Path) -> GradedSet:
    """Reads labelled pairs; pairs without a label are left out.

    Args:
        name: What they are called.
        path: A data folder, of which the split `test` is taken or the only one; a file of PIT-2015; or any other text
            file with a label (1 = paraphrase), a tab and two sentences a line, plain or compressed.
    """
    if path.is_dir():
        splits = DataFolder(path).splits
        if "test" not in splits and len(splits) > 1:
            raise InputError(f"no split `test` among {', '.join(splits)}", path=path, remedy="give a folder with one")
        pairs = read_labelled_folder(path, "test" if "test" in splits else splits[0])
    else:
        pairs = _labelled_file(name, path)
    require_both_classes(pairs, path)
    return GradedSet(name, _LABELLED, pairs.sentences1, pairs.sentences2, pairs.labels.astype(np.float64))


def _labelled_file(name: str, path: Path) -> LabelledSet:
    if not path.is_file():
        raise InputError("no such file or folder", path=path, remedy="check --labelled")
    known = recognise_graded_file(path)
    if known is not None and known.rows is not None and "label" in known.schema.names:
        table = known.read(LineErrors())
    else:
        (part,) = PairsSource(tsv=str(path), columns="label,sentence1,sentence2").parts()
        table = read_part(part)
    table = table.filter(pa.compute.is_valid(table.column("label")))
    labels = np.asarray(table.column("label").to_pylist(), dtype=np.int64)
    return LabelledSet(name, table.column("sentence1").to_pylist(), table.column("sentence2").to_pylist(), labels)


def _average_precision(scored: ScoredSet) -> float:
    found = detection_measures(scored.similarities.tolist(), scored.graded.scores.astype(np.int64).tolist())
    return 100 * found["average_precision"]


def _some(graded: GradedSet, limit: int | None) -> GradedSet:
    rows = _spread(len(graded), limit)
    return replace(
        graded,
        sentences1=[graded.sentences1[row] for row in rows],
        sentences2=[graded.sentences2[row] for row in rows],
        scores=graded.scores[rows],
    )


def _some_examples(task: ReadTask, limit: int | None) -> ReadTask:
    parts = {name: part.rows(_spread(len(part), limit)) for name, part in task.parts.items()}
    return replace(task, parts=parts)


def _spread(count: int, limit: int | None) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Chooses `limit` of `count` rows at equal distances."""
    return np.arange(count) if limit is None or limit >= count else np.linspace(0, count - 1, limit).astype(np.int64)
