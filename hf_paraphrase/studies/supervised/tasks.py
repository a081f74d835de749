"""The supervised tasks of paper 001: what is read of a data folder, and how it becomes targets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data.folder import DataFolder
from ...errors import InputError, UsageError
from .labelled_texts import CLASSES, SCORES, LabelledTexts, draw_apart, read_labelled, without_rows_of

TRAIN, DEV, TEST = "train", "dev", "test"
_DEV_SPLITS = ("validation", "dev")


@dataclass(frozen=True)
class SupervisedTask:
    """A kind of task.

    Attributes:
        columns: The columns that they are sought in.
        needs_pairs: Whether it makes sense for pairs alone.
    """

    objective: str
    kind: str
    columns: tuple[str, ...]
    needs_pairs: bool
    description: str


TASKS = {
    "classification": SupervisedTask(
        "classification", CLASSES, ("label",), False, "classifies sentences, or pairs of sentences"
    ),
    "entailment": SupervisedTask(
        "classification", CLASSES, ("entailment", "label"), True, "tells how the meanings of two sentences relate"
    ),
    "similarity": SupervisedTask(
        "distribution", SCORES, ("score",), True, "scores the similarity of two sentences as the mean over a scale"
    ),
    "regression": SupervisedTask("regression", SCORES, ("score",), False, "scores sentences, or pairs of sentences"),
}


@dataclass(frozen=True)
class SplitRequest:
    """Which splits to use; what is None is looked for or drawn.

    Attributes:
        dev: The split to choose the epoch on; None for `validation` or `dev` if it is there and not the test split,
            else a share of the training split.
        test: The split to report on; None for a share of the training split, if one is asked for.
        dev_share: The share to draw for the dev part.
        test_share: The share to draw for the test part; 0 for none.
    """

    train: str = "train"
    dev: str | None = None
    test: str | None = None
    dev_share: float = 0.1
    test_share: float = 0.0
    seed: int = 0


@dataclass
class SupervisedData:
    """The parts of a supervised set.

    Attributes:
        parts: The rows by :data:`TRAIN`, :data:`DEV` and perhaps :data:`TEST`.
        names: Where each part is from, in words.
        classes: The names of the classes; empty for scores.
        left_out: How many training rows were left out because they are a row of the dev or the test part.
    """

    parts: dict[str, LabelledTexts]
    names: dict[str, str]
    column: str
    classes: list[str]
    left_out: int

    @property
    def pairs(self) -> bool:
        """Whether the rows are pairs."""
        return self.parts[TRAIN].second is not None

    def counts(self) -> dict[str, dict[str, int]]:
        """Counts the rows of each class in each part."""
        counters = {part: Counter(rows.targets or []) for part, rows in self.parts.items()}
        return {part: {name: counts[name] for name in self.classes} for part, counts in counters.items()}


def target_column(folder: str | Path, split: str, task: SupervisedTask, column: str | None) -> str:
    """Finds the column of classes or scores."""
    present = DataFolder(folder).schema(split).names
    for name in task.columns if column is None else (column,):
        if name in present:
            return name
    raise InputError(
        f"split `{split}` has no column {' or '.join(task.columns) if column is None else column}",
        path=folder,
        remedy=f"name it with --target-column; the columns are {', '.join(present)}",
    )


def read_supervised(
    folder: str | Path,
    task: SupervisedTask,
    splits: SplitRequest,
    *,
    column: str | None = None,
    names: Sequence[str] = (),
    scale: tuple[int, int] = (1, 5),
) -> SupervisedData:
    """Reads, or draws, the parts of a supervised set and checks that something can be learned.

    Args:
        folder: The data folder.
        task: The task.
        splits: Which splits to use.
        column: The column of classes or scores; None for the task's own.
        names: The names of the classes 0, 1, …, all of which must occur; see `class_names`.
        scale: The ends of the scale of a distribution.
    """
    column = target_column(folder, splits.train, task, column)

    def read(split: str) -> LabelledTexts:
        return read_labelled(folder, split, column=column, kind=task.kind, names=names)

    train = read(splits.train)
    if task.needs_pairs and train.second is None:
        raise UsageError("the data has single sentences, and this task needs pairs", path=folder)
    parts, places = {}, {TRAIN: splits.train}
    if splits.test is not None:
        parts[TEST], places[TEST] = read(splits.test), splits.test
    elif splits.test_share:
        train, parts[TEST] = draw_apart(train, splits.test_share, splits.seed)
        places[TEST] = f"{splits.test_share:.0%} of {splits.train}, drawn"
    used, present = {splits.test, splits.train}, DataFolder(folder).splits
    dev_splits = [name for name in _DEV_SPLITS if name in present and name not in used]
    dev = splits.dev or (dev_splits[0] if dev_splits else None)
    if dev is not None:
        parts[DEV], places[DEV] = read(dev), dev
    else:
        # The share is of what was there before the test part was drawn, too.
        share = splits.dev_share / (1 - splits.test_share) if splits.test is None else splits.dev_share
        train, parts[DEV] = draw_apart(train, share, splits.seed + 1)
        places[DEV] = f"{splits.dev_share:.0%} of {splits.train}, drawn"
    before = len(train)
    train = without_rows_of(train, list(parts.values()))
    if not len(train):
        raise InputError(f"all rows of split `{splits.train}` are in the other parts", path=folder)
    parts = {TRAIN: train, **parts}
    data = SupervisedData(parts, places, column, [], before - len(train))
    if task.kind == CLASSES:
        data.classes = _classes(data, names)
    elif task.objective == "distribution":
        for part in parts.values():
            _check_scale(part, column, scale)
    if task.kind == SCORES and len(set(train.targets or [])) < 2:
        raise InputError(f"all scores of split `{splits.train}` are equal: there is nothing to learn", path=folder)
    return data


def _check_scale(part: LabelledTexts, column: str, scale: tuple[int, int]) -> None:
    for place, score in enumerate(part.targets or []):
        if not scale[0] <= score <= scale[1]:
            raise part.error(
                place,
                f"the {column} is {score:g}, off the scale from {scale[0]} to {scale[1]}",
                "fix the row, or give the scale with --lowest-score and --highest-score",
            )


def _classes(data: SupervisedData, names: Sequence[str]) -> list[str]:
    """Lists the classes: those that are named, else those of the training part, numbers in their order."""
    train = data.parts[TRAIN]
    counts = Counter(train.targets)
    if names:
        classes = list(names)
    else:
        numbers = all(re.fullmatch(r"\d{1,18}", name) for name in counts)
        classes = sorted(counts, key=int) if numbers else sorted(counts)
    remedy = "give training rows of every class, or leave the class out of the data"
    empty = [name for name in classes if not counts[name]]
    if empty:
        raise InputError(
            f"split `{train.split}` has no row of the class {', '.join(empty)}", path=train.folder, remedy=remedy
        )
    if len(classes) < 2:
        raise InputError(
            f"all rows of split `{train.split}` are of the class {classes[0]}: there is nothing to learn",
            path=train.folder,
            remedy=remedy,
        )
    for name in (DEV, TEST):
        if name in data.parts:
            class_numbers(data.parts[name], {item: place for place, item in enumerate(classes)})
    return classes


def class_numbers(part: LabelledTexts, numbers: Mapping[str, int]) -> NDArray[np.int64]:
    """Turns the names of classes into their numbers (rows,)."""
    targets: list[Any] = part.targets or []
    for place, name in enumerate(targets):
        if name not in numbers:
            raise part.error(
                place, f"the class {str(name)[:80]} is unknown", f"the classes are {', '.join(list(numbers)[:20])}"
            )
    return np.array([numbers[name] for name in targets], np.int64)
