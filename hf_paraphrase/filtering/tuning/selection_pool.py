"""All pairs of a folder with the numbers that filters look at, so that many filters read and measure them once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...data.folder import DataFolder
from ...errors import InputError
from ..best_rows import WAYS, choose_one_per_reference, draw_shared
from ..filter_steps import FilterSteps, check_steps, with_columns
from ..measuring import measures_of, required_columns
from ..pair_batch import numeric_column
from ..row_choice import reference_keys
from ..selections import Selection, apply_selection

_LABEL = "label"


class SelectionPool:
    """Chooses the same rows as `filter` does, for any number of filters, among those that can be trained on.

    A row with an empty side, or with a label other than 1, is in no selection, so that a sample is of the size that
    was asked for wherever enough rows are left.

    Columns that the pairs have are taken as they are; those that can be measured without a model are computed once.
    In memory are one number a row for every column looked at, and the results of named selections.

    Attributes:
        unusable: How many of them have an empty side or a label other than 1.
        usable_texts: Selections with which `filter` leaves those out too, as text; none where there are none.
    """

    def __init__(
        self, folder: Path, columns: Sequence[Selection], one_per_reference: str | None, split: str = "train"
    ) -> None:
        self.folder, self.split, self.one_per_reference = folder, split, one_per_reference
        steps = FilterSteps(keep=[selection.text for selection in columns], one_per_reference=one_per_reference)
        pairs = DataFolder(folder)
        schema = pairs.schema(split)
        check_steps(steps, schema, str(folder))
        self.num_rows = pairs.count(split)
        if not self.num_rows:
            raise InputError("there are no pairs", path=folder)
        # The result of a named selection is kept instead of its inputs, which may be text.
        named = {selection for selection in steps.selections if not selection.compares}
        compared = FilterSteps(
            keep=[selection.text for selection in steps.selections if selection.compares],
            one_per_reference=one_per_reference,
        ).columns
        lacking = [name for name in steps.columns if name not in schema.names]
        inputs = {"sentence1", "sentence2", "id", _LABEL, *steps.columns, *required_columns(measures_of(lacking))}
        parts: dict[str, list[np.ndarray]] = {name: [] for name in compared}
        masks: dict[Selection, list[NDArray[np.bool_]]] = {selection: [] for selection in named}
        references: list[int] = []
        filled: list[np.ndarray] = []
        labelled: list[np.ndarray] = []
        for batch in pairs.batches(split, [name for name in schema.names if name in inputs]):
            filled.append(_has_text(batch.column("sentence1")) & _has_text(batch.column("sentence2")))
            if _LABEL in schema.names:
                labelled.append(np.array([value == 1 for value in batch.column(_LABEL).to_pylist()], dtype=bool))
            table = with_columns(pa.Table.from_batches([batch]), steps.columns)
            for name in compared:
                parts[name].append(numeric_column(table, name))
            for selection in named:
                masks[selection].append(apply_selection(selection, table))
            if one_per_reference is not None:
                references += reference_keys(table)
        self._masks = {selection: np.concatenate(values) for selection, values in masks.items()}
        self._columns = {name: np.concatenate(values) for name, values in parts.items()}
        self._references = np.array(references, dtype=np.int64)
        predicates: list[str] = []
        self._usable = np.concatenate(filled)
        if not self._usable.all():
            predicates += ["length_reference>0", "length>0"]
        if labelled:
            paraphrases = np.concatenate(labelled)
            predicates += [] if paraphrases.all() else [f"{_LABEL}==1"]
            self._usable &= paraphrases
        self.usable_texts = tuple(predicates)
        self.unusable = self.num_rows - int(self._usable.sum())
        if self.unusable == self.num_rows:
            raise InputError(
                "no pair can be trained on: a side is empty, or the label is not 1",
                path=folder,
                remedy="give pairs of sentences that are paraphrases",
            )

    def select(self, selections: Sequence[Selection], sample: int | None, seed: int) -> tuple[NDArray[np.int64], int]:
        """Takes the steps of `filter`: the selections, one translation a reference, the sample.

        Returns:
            The rows that are kept, ascending; and how many there were to draw from.
        """
        kept = self._usable.copy()
        for selection in selections:
            (column,) = selection.columns if selection.compares else (None,)
            kept &= self._masks[selection] if column is None else selection.mask(self._columns[column])
        rows = np.flatnonzero(kept)
        if self.one_per_reference is not None and len(rows):
            ranking = [self._columns[name][rows] for name in WAYS[self.one_per_reference]]
            values = ranking[0] if ranking else None
            rows = rows[choose_one_per_reference(self._references[rows], self.one_per_reference, values, seed)]
        available = len(rows)
        if sample is not None and available > sample:
            rows = draw_shared(rows, sample, self.num_rows, seed)
        return rows, available


def _has_text(column: pa.Array) -> NDArray[np.bool_]:
    """Returns which values are more than white space (rows,); a missing one is not."""
    lengths = pc.utf8_length(pc.utf8_trim_whitespace(column)).fill_null(0)
    return np.asarray(pc.greater(lengths, 0).to_numpy(zero_copy_only=False), dtype=bool)
