"""Sentences and sentence pairs with classes or scores, from a data folder, and their parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...data.folder import DataFolder
from ...data.row_selection import hold_out, text_keys
from ...data.schema import require_texts
from ...errors import InputError

CLASSES, SCORES = "classes", "scores"


@dataclass
class LabelledTexts:
    """Some rows of a split.

    Attributes:
        first: The sentences, or the first ones of pairs.
        second: The second ones; None for single sentences.
        targets: The class of each row by name, or its score; empty if they were not asked for.
    """

    folder: Path
    split: str
    first: list[str]
    second: list[str] | None
    targets: list[Any]

    def __len__(self) -> int:
        return len(self.first)

    def take(self, rows: NDArray[np.int64]) -> LabelledTexts:
        """Keeps some of the rows."""
        first, targets = [self.first[row] for row in rows], [self.targets[row] for row in rows]
        second = None if self.second is None else [self.second[row] for row in rows]
        return LabelledTexts(self.folder, self.split, first, second, targets)

    @property
    def keys(self) -> NDArray[np.uint64]:
        """A number for each row, the same for sentences that differ in case and superfluous space only (rows,)."""
        sides = [self.first, self.second or [""] * len(self)]
        return text_keys(*(pa.array([" ".join(text.lower().split()) for text in side]) for side in sides))

    def class_numbers(self, classes: Sequence[str]) -> NDArray[np.int64]:
        """Returns the numbers of the classes (rows,)."""
        numbers = {name: number for number, name in enumerate(classes)}
        if unknown := [name for name in self.targets if name not in numbers]:
            remedy = f"the classes are {', '.join(list(numbers)[:20])}"
            raise self.error(f"the class {unknown[0][:80]} is unknown", remedy)
        return np.array([numbers[name] for name in self.targets], np.int64)

    def error(self, text: str, remedy: str) -> InputError:
        """Makes an error about the split."""
        return InputError(f"split `{self.split}`: {text}", path=self.folder, remedy=remedy)


def read_labelled(
    folder: str | Path,
    split: str,
    *,
    column: str | None,
    kind: str = CLASSES,
    names: Sequence[str] = (),
    text_column: str | None = None,
) -> LabelledTexts:
    """Reads a split with the columns `sentence1` and perhaps `sentence2`, or `text` or another column of texts.

    Without a column there are no targets. `names` are those of classes that are given as numbers from 0, e.g. from the
    folder's card; without them a class is named by its number.
    """
    opened = DataFolder(folder)
    schema = opened.schema(split)
    sides = ["sentence1"] if {"sentence1", "sentence2"} & set(schema.names) else ["text"]
    sides += ["sentence2"] if "sentence2" in schema.names else []
    sides = sides if text_column is None else [text_column]
    require_texts(schema, str(folder), sides)
    table = opened.table(split, [*sides, *([] if column is None else [column])])
    first, *second = (table.column(name).to_pylist() for name in sides)
    texts = LabelledTexts(Path(folder), split, first, second[0] if second else None, [])
    if not len(texts):
        raise texts.error("no rows", "give a split with rows")
    for name in sides:
        if table.column(name).null_count:
            row = table.column(name).to_pylist().index(None)
            raise texts.error(f"row {row} has no text in column {name}", "fix or remove the row")
    if column is not None:
        values = table.column(column).to_pylist()
        texts.targets = [_target(texts, row, value, column, kind, names) for row, value in enumerate(values)]
    return texts


def _target(texts: LabelledTexts, row: int, value: Any, column: str, kind: str, names: Sequence[str]) -> str | float:
    """Checks a class or score; the name of a class, or the number of one without a name."""
    is_number = isinstance(value, (int, float)) and np.isfinite(value)
    if kind == SCORES:
        if not is_number:
            raise texts.error(f"row {row}: the {column} is {value}, not a number", "fix or remove the row")
        return float(value)
    if isinstance(value, str):
        return value
    if not is_number or value != int(value) or not 0 <= value < (len(names) or np.inf):
        remedy = "fix the row; a task of scores is --task similarity or regression"
        raise texts.error(f"row {row}: the {column} is {value!r}, not a class", remedy)
    return names[int(value)] if names else str(int(value))


def draw_apart(texts: LabelledTexts, share: float, seed: int) -> tuple[LabelledTexts, LabelledTexts]:
    """Draws a share of the rows, of which those whose sentences are equal but for case and space stay together.

    Returns:
        What is left, and what was drawn, both in their old order.
    """
    drawn = hold_out(texts.keys, round(share * len(texts)), seed)
    if drawn.all() or not drawn.any():
        raise texts.error(
            f"{len(texts)} rows are too few to draw {share:.0%} of them", "give more data, or --dev-split"
        )
    return texts.take(np.flatnonzero(~drawn)), texts.take(np.flatnonzero(drawn))


def without_rows_of(texts: LabelledTexts, others: Sequence[LabelledTexts]) -> LabelledTexts:
    """Leaves out the rows whose sentences, but for case and space, are a row of another part."""
    return texts.take(np.flatnonzero(~np.isin(texts.keys, np.concatenate([part.keys for part in others]))))
