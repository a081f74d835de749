"""The pairs of a folder, of which `tune` draws what each of its filters selects."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...data.folder import DataFolder
from ..filter_steps import FilterSteps
from ..pair_batch import SIDES
from ..row_choice import NothingLeftError, choose_rows
from .settings import FilterRange


class SelectionPool:
    """Chooses the rows that `filter` keeps, among those that can be trained on, once for each range and seed.

    A row with an empty side, or with a label other than 1, is in no selection, so that a sample is of the size that
    was asked for wherever enough rows are left.

    Attributes:
        usable: Selections with which `filter` leaves those out too, as text; none where there are none.
        unusable: How many rows they leave out.
    """

    def __init__(self, folder: Path, one_per_reference: str | None, sample: int) -> None:
        self.folder, self.one_per_reference, self.sample = folder, one_per_reference, sample
        self._pairs = DataFolder(folder)
        self._selected: dict[tuple[str, int], tuple[NDArray[np.int64], int]] = {}
        has_labels = "label" in self._pairs.schema().names
        usable = ["length_reference>0", "length>0", *(["label==1"] if has_labels else [])]
        funnel = choose_rows(self._pairs, "train", FilterSteps(keep=usable)).funnel
        self.usable = [step for (_, before), (step, left) in pairwise(funnel.items()) if left < before]
        self.num_rows = funnel["read"]
        self.unusable = self.num_rows - min(funnel.values())

    @cached_property
    def sentences(self) -> pa.Table:
        """Both sides of all rows."""
        return self._pairs.table(columns=list(SIDES))

    def pairs(self, rows: NDArray[np.int64]) -> list[dict[str, str]]:
        """Returns some rows."""
        pairs: list[dict[str, str]] = self.sentences.take(pa.array(rows)).to_pylist()
        return pairs

    def select(self, point: FilterRange, seed: int) -> tuple[NDArray[np.int64], int]:
        """Takes the steps of `filter`: the selections, one translation a reference, the sample.

        Returns:
            The rows that are kept, ascending; and how many there were to draw from.
        """
        if (point.label, seed) not in self._selected:
            self._selected[point.label, seed] = self._select(point, seed)
        return self._selected[point.label, seed]

    def _select(self, point: FilterRange, seed: int) -> tuple[NDArray[np.int64], int]:
        keep = [*self.usable, *(selection.text for selection in point.selections)]
        steps = FilterSteps(keep=keep, one_per_reference=self.one_per_reference, sample=self.sample, seed=seed)
        try:
            choice = choose_rows(self._pairs, "train", steps)
        except NothingLeftError:
            return np.empty(0, dtype=np.int64), 0
        # The last step is the sample.
        return np.flatnonzero(choice.kept), list(choice.funnel.values())[-2]
