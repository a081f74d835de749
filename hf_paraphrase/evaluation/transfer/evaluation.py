"""Evaluates an encoder on transfer tasks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from ...errors import ModelError
from ..graded_set import Encode
from .cross_validation import Protocol
from .registry import TransferTasks, choose_tasks, find_transfer_tasks
from .task import TaskResult


def evaluate_transfer(
    encode: Encode,
    folder: str | os.PathLike[str],
    tasks: Iterable[str] = (),
    *,
    protocol: Protocol | None = None,
    sick_test_on_trial: bool = False,
) -> tuple[TaskResult, ...]:
    """Evaluates an encoder by SentEval's protocol (Conneau and Kiela 2018) on the tasks whose files are at hand.

    Args:
        encode: Maps n sentences to vectors (n, dim).
        folder: The folder below which the raw files of the tasks lie.
        tasks: Names of :data:`.registry.TASKS`; all by default. A task that is not there in full has no result.
        protocol: Folds, classifier and seed; SentEval's recommended defaults if not given.
        sick_test_on_trial: Test SICK on its trial part, for want of the test part.

    Returns:
        One result a task, in the order of :data:`.registry.TASKS`.

    Raises:
        UsageError: For a name that is no task.
        InputError: If no task is there in full, or a file is malformed.
        ModelError: If the encoder gives an array of the wrong shape, NaN or infinity.
    """
    protocol = protocol or Protocol()
    found = find_transfer_tasks(Path(folder), choose_tasks(tasks), protocol, sick_test_on_trial=sick_test_on_trial)
    return evaluate_tasks(encode, found, protocol)


def evaluate_tasks(encode: Encode, found: TransferTasks, protocol: Protocol) -> tuple[TaskResult, ...]:
    """Evaluates an encoder on tasks that are read already; each distinct sentence is encoded once.

    Raises:
        ModelError: As :func:`evaluate_transfer`.
    """
    sentences = list(found.sentences())
    table = np.asarray(encode(sentences), dtype=np.float32)
    if table.ndim != 2 or len(table) != len(sentences):
        raise ModelError(f"the encoder gave an array of shape {table.shape} for {len(sentences)} sentences")
    if not np.isfinite(table).all():
        raise ModelError("the encoder gave vectors with NaN or infinity")
    position = {sentence: place for place, sentence in enumerate(sentences)}

    def vectors(texts: Sequence[str]) -> np.ndarray:
        return table[[position[text] for text in texts]]

    return tuple(task.evaluate(vectors, protocol) for task in found.tasks)
