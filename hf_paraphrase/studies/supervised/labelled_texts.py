"""Sentences and sentence pairs with classes or scores, from a data folder, for supervised training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...data.folder import DataFolder
from ...errors import InputError

CLASSES, SCORES = "classes", "scores"


@dataclass
class LabelledTexts:
    """The rows of a split.

    Attributes:
        rows: The number of each row in its split (rows,).
        first: The sentences, or the first ones of pairs.
        second: The second ones; None for single sentences.
        targets: The class of each row by name, or its score; None if they were not asked for.
    """

    folder: Path
    split: str
    rows: NDArray[np.int64]
    first: list[str]
    second: list[str] | None
    targets: list[Any] | None

    def __len__(self) -> int:
        return len(self.first)

    def take(self, places: NDArray[np.int64]) -> LabelledTexts:
        """Keeps some of the rows."""

        def chosen(items: list[Any] | None) -> Any:
            return None if items is None else [items[place] for place in places]

        return LabelledTexts(
            self.folder, self.split, self.rows[places], chosen(self.first), chosen(self.second), chosen(self.targets)
        )

    def error(self, place: int, text: str, remedy: str) -> InputError:
        """Makes an error about a row."""
        return InputError(f"split `{self.split}`, row {self.rows[place]}: {text}", path=self.folder, remedy=remedy)


def read_labelled(
    folder: str | Path,
    split: str,
    *,
    column: str | None,
    kind: str = CLASSES,
    names: Sequence[str] = (),
) -> LabelledTexts:
    """Reads a split with the columns `sentence1` and perhaps `sentence2`, or `text`.

    Args:
        folder: The data folder.
        split: The split.
        column: The column of classes or scores; None leaves them out.
        kind: :data:`CLASSES` or :data:`SCORES`.
        names: The names of classes that are given as numbers from 0, e.g. from the folder's card; without them a
            class is named by its number.
    """
    folder = Path(folder)
    present = DataFolder(folder).schema(split).names
    texts = [name for name in ("sentence1", "sentence2") if name in present] or ["text"]
    if texts == ["sentence2"]:
        texts = ["sentence1", "sentence2"]  # the error names what is missing
    wanted = [*texts, *([] if column is None else [column])]
    table = DataFolder(folder).table(split, wanted)
    if not table.num_rows:
        raise InputError(f"split `{split}` has no rows", path=folder)
    for name in wanted:
        if table.column(name).null_count:
            row = int(np.flatnonzero(table.column(name).is_null().to_numpy())[0])
            raise InputError(f"split `{split}`, row {row}: no value in column {name}", path=folder)
    sides = [table.column(name).to_pylist() for name in texts]
    for name, side in zip(texts, sides, strict=True):
        if not all(isinstance(item, str) for item in side):
            raise InputError(f"the column {name} is not text", path=folder)
    labelled = LabelledTexts(
        folder, split, np.arange(table.num_rows), sides[0], sides[1] if len(sides) > 1 else None, None
    )
    if column is not None:
        values = table.column(column)
        labelled.targets = (
            _scores(values, column, labelled) if kind == SCORES else _classes(values, column, labelled, names)
        )
    return labelled


def _scores(values: pa.ChunkedArray, column: str, texts: LabelledTexts) -> list[float]:
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        raise InputError(f"the column {column} is of type {values.type}, not numbers", path=texts.folder)
    scores = [float(value) for value in values.to_pylist()]
    for place, score in enumerate(scores):
        if not math.isfinite(score):
            raise texts.error(place, f"the {column} is {score}", "fix or remove the row")
    return scores


def _classes(values: pa.ChunkedArray, column: str, texts: LabelledTexts, names: Sequence[str]) -> list[str]:
    items = values.to_pylist()
    if pa.types.is_floating(values.type):
        if not all(value == int(value) for value in items if math.isfinite(value)) or not all(
            map(math.isfinite, items)
        ):
            raise InputError(
                f"the column {column} holds numbers with fractions, not classes",
                path=texts.folder,
                remedy="a task of scores is --task similarity or regression",
            )
        items = [int(value) for value in items]
    elif not all(isinstance(value, (str, bool, int)) for value in items):
        raise InputError(f"the column {column} is of type {values.type}, not classes", path=texts.folder)
    classes = []
    for place, value in enumerate(items):
        if isinstance(value, int):
            if names and not 0 <= value < len(names):
                raise texts.error(place, f"the {column} is {int(value)}, outside 0 to {len(names) - 1}", "fix the row")
            if value < 0:
                raise texts.error(place, f"the {column} is {value}: no class is known", "give a split with classes")
            classes.append(names[value] if names else str(int(value)))
        elif not value.strip():
            raise texts.error(place, f"the {column} is empty", "give every row a class")
        else:
            classes.append(value)
    return classes


def draw_apart(texts: LabelledTexts, share: float, seed: int) -> tuple[LabelledTexts, LabelledTexts]:
    """Draws a share of the rows.

    Rows whose sentences are equal, but for case and space, stay together.

    Args:
        texts: The rows.
        share: The share to draw, above 0 and below 1, rounded to whole groups of equal rows.
        seed: Seed of the draw; the result depends on it and on the sentences alone.

    Returns:
        What is left, and what was drawn, both in their old order.
    """
    keys = _keys(texts)
    group_of = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    groups = np.array([group_of[key] for key in keys], np.int64)
    count = round(share * len(group_of))
    if not 0 < count < len(group_of):
        raise InputError(
            f"split `{texts.split}` has {len(group_of)} different rows, too few to draw {share:.0%} of them",
            path=texts.folder,
            remedy="give more data, or splits of its own",
        )
    drawn = np.zeros(len(group_of), bool)
    drawn[np.random.default_rng(seed).permutation(len(group_of))[:count]] = True
    inside = drawn[groups]
    return texts.take(np.flatnonzero(~inside)), texts.take(np.flatnonzero(inside))


def without_rows_of(texts: LabelledTexts, others: Sequence[LabelledTexts]) -> LabelledTexts:
    """Leaves out the rows whose sentences, but for case and space, are a row of another part."""
    other_keys = {key for part in others for key in _keys(part)}
    return texts.take(np.flatnonzero([key not in other_keys for key in _keys(texts)]))


def _keys(texts: LabelledTexts) -> list[tuple[str, str]]:
    """Returns what identifies rows: their sentences without case and superfluous space."""
    seconds = texts.second or [""] * len(texts)
    return [
        (" ".join(one.lower().split()), " ".join(two.lower().split()))
        for one, two in zip(texts.first, seconds, strict=True)
    ]
