"""All pairs of a folder with the numbers that filters look at, so that many filters read and measure them once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...data.folder import DataFolder
from ...errors import InputError
from ..filter_steps import WAYS, FilterSteps, check_steps, with_columns
from ..pair_batch import SIDES, numeric_column
from ..row_choice import choose_one_per_reference, columns_to_read, draw_shared, reference_keys
from ..selections import Selection, apply_selection, parse_selection


class SelectionPool:
    """Chooses the same rows as `filter` does, for any number of filters, among those that can be trained on.

    A row with an empty side, or with a label other than 1, is in no selection, so that a sample is of the size that
    was asked for wherever enough rows are left. Measures that need no model are computed where they are not columns.

    Attributes:
        usable_texts: Selections with which `filter` leaves those out too, as text; none where there are none.
        unusable: How many rows they leave out.
    """

    def __init__(self, folder: Path, selections: Sequence[Selection], one_per_reference: str | None) -> None:
        self.folder, self.one_per_reference = folder, one_per_reference
        pairs = DataFolder(folder)
        schema = pairs.schema()
        usable = ["length_reference>0", "length>0", *(["label==1"] if "label" in schema.names else [])]
        keep = [*usable, *(selection.text for selection in selections)]
        steps = FilterSteps(keep=keep, one_per_reference=one_per_reference)
        check_steps(steps, schema, str(folder))
        self.num_rows = pairs.count()
        if not self.num_rows:
            raise InputError("there are no pairs", path=folder, remedy="give a folder of pairs")
        ranking = () if one_per_reference is None else WAYS[one_per_reference]
        masks: dict[Selection, list[NDArray[np.bool_]]] = {selection: [] for selection in steps.selections}
        values: list[list[NDArray[np.float64]]] = [[] for _ in ranking]
        references: list[int] = []
        for batch in pairs.batches(columns=columns_to_read(steps, schema)):
            table = with_columns(pa.Table.from_batches([batch]), steps.columns)
            for selection, parts in masks.items():
                parts.append(apply_selection(selection, table))
            for name, numbers in zip(ranking, values, strict=True):
                numbers.append(numeric_column(table, name))
            if one_per_reference is not None:
                references += reference_keys(table)
        self._masks = {selection: np.concatenate(parts) for selection, parts in masks.items()}
        self._values = [np.concatenate(numbers) for numbers in values]
        self._references = np.array(references, dtype=np.int64)
        usable_masks = {text: self._masks[parse_selection(text)] for text in usable}
        self.usable_texts = [text for text, mask in usable_masks.items() if not mask.all()]
        self._usable = np.logical_and.reduce(list(usable_masks.values()))
        self.unusable = self.num_rows - int(self._usable.sum())
        if self.unusable == self.num_rows:
            raise InputError(
                "no pair can be trained on: a side is empty, or the label is not 1",
                path=folder,
                remedy="give pairs of sentences that are paraphrases",
            )

    @cached_property
    def sentences(self) -> pa.Table:
        """Both sides of all rows."""
        return DataFolder(self.folder).table(columns=list(SIDES))

    def pairs(self, rows: NDArray[np.int64]) -> list[dict[str, str]]:
        """Returns some rows."""
        pairs: list[dict[str, str]] = self.sentences.take(pa.array(rows)).to_pylist()
        return pairs

    def select(self, selections: Sequence[Selection], sample: int | None, seed: int) -> tuple[NDArray[np.int64], int]:
        """Takes the steps of `filter`: the selections, one translation a reference, the sample.

        Returns:
            The rows that are kept, ascending; and how many there were to draw from.
        """
        kept = self._usable.copy()
        for selection in selections:
            kept &= self._masks[selection]
        rows = np.flatnonzero(kept)
        if self.one_per_reference is not None and len(rows):
            values = self._values[0][rows] if self._values else None
            rows = rows[choose_one_per_reference(self._references[rows], self.one_per_reference, values, seed)]
        available = len(rows)
        if sample is not None and available > sample:
            rows = draw_shared(rows, sample, self.num_rows, seed)
        return rows, available
