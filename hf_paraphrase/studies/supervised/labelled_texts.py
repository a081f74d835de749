"""Sentences and sentence pairs with classes or scores, from a data folder, and their parts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...data.folder import DataFolder
from ...data.row_selection import hold_out, text_keys
from ...errors import InputError

CLASSES, SCORES = "classes", "scores"


@dataclass
class LabelledTexts:
    """The rows of a split.

    Attributes:
        rows: The index of each row in its split (rows,).
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

    @property
    def keys(self) -> NDArray[np.uint64]:
        """A number for each row, the same for sentences that differ in case and superfluous space only (rows,)."""
        sides = [self.first, self.second or [""] * len(self)]
        return text_keys(*(pa.array([" ".join(text.lower().split()) for text in side]) for side in sides))

    def class_numbers(self, numbers: Mapping[str, int]) -> NDArray[np.int64]:
        """Returns the numbers of the classes (rows,)."""
        targets: list[Any] = self.targets or []
        for place, name in enumerate(targets):
            if name not in numbers:
                remedy = f"the classes are {', '.join(list(numbers)[:20])}"
                raise self.error(place, f"the class {str(name)[:80]} is unknown", remedy)
        return np.array([numbers[name] for name in targets], np.int64)


def read_labelled(
    folder: str | Path,
    split: str,
    *,
    column: str | None,
    kind: str = CLASSES,
    names: Sequence[str] = (),
) -> LabelledTexts:
    """Reads a split with the columns `sentence1` and perhaps `sentence2`, or `text`.

    Without a column there are no targets. `names` are those of classes that are given as numbers from 0, e.g. from the
    folder's card; without them a class is named by its number.
    """
    folder = Path(folder)
    present = DataFolder(folder).schema(split).names
    sides = (
        ["sentence1", "sentence2"] if "sentence2" in present else ["sentence1" if "sentence1" in present else "text"]
    )
    table = DataFolder(folder).table(split, [*sides, *([] if column is None else [column])])
    if not table.num_rows:
        raise InputError(f"split `{split}` has no rows", path=folder)
    columns = [table.column(name).to_pylist() for name in sides]
    texts = LabelledTexts(folder, split, np.arange(table.num_rows), columns[0], None, None)
    for name, side in zip(sides, columns, strict=True):
        for place, text in enumerate(side):
            if not isinstance(text, str):
                raise texts.error(place, f"no text in column {name}", "fix or remove the row")
    texts.second = columns[1] if len(sides) > 1 else None
    if column is not None:
        values = table.column(column).to_pylist()
        texts.targets = [_target(texts, place, value, column, kind, names) for place, value in enumerate(values)]
    return texts


def _target(texts: LabelledTexts, place: int, value: Any, column: str, kind: str, names: Sequence[str]) -> str | float:
    """Checks a class or score; the name of a class, or the number of one without a name."""
    if kind == SCORES:
        if not isinstance(value, (int, float)) or not math.isfinite(value):
            raise texts.error(place, f"the {column} is {value}, not a number", "fix or remove the row")
        return float(value)
    if isinstance(value, str) and value.strip():
        return value
    if not isinstance(value, (int, float)) or value != value // 1:
        remedy = "fix the row; a task of scores is --task similarity or regression"
        raise texts.error(place, f"the {column} is {value!r}, not a class", remedy)
    if value < 0 or (names and value >= len(names)):
        remedy = "fix the row, or give a split with classes"
        raise texts.error(place, f"the {column} is {int(value)}: no class is known", remedy)
    return names[int(value)] if names else str(int(value))


def draw_apart(texts: LabelledTexts, share: float, seed: int) -> tuple[LabelledTexts, LabelledTexts]:
    """Draws a share of the rows, of which those whose sentences are equal but for case and space stay together.

    Returns:
        What is left, and what was drawn, both in their old order.
    """
    drawn = hold_out(texts.keys, round(share * len(texts)), seed)
    if drawn.all() or not drawn.any():
        raise InputError(
            f"split `{texts.split}` has {len(texts)} rows, too few to draw {share:.0%} of them",
            path=texts.folder,
            remedy="give more data, or splits of its own",
        )
    return texts.take(np.flatnonzero(~drawn)), texts.take(np.flatnonzero(drawn))


def without_rows_of(texts: LabelledTexts, others: Sequence[LabelledTexts]) -> LabelledTexts:
    """Leaves out the rows whose sentences, but for case and space, are a row of another part."""
    return texts.take(np.flatnonzero(~np.isin(texts.keys, np.concatenate([part.keys for part in others]))))
