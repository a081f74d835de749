"""What a measure is."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ..pair_batch import PairBatch


class Measure(Protocol):
    """Computes one or more columns from a batch of pairs, each row by itself.

    A measure is a frozen dataclass. A field named like a setting of `score` (`language_model`, `encoder`, …) gets that
    setting's value. What such a measure loads it loads when it first computes, so that it travels to other processes
    as its settings. A measure that cannot do without a setting names it in a class variable `setting`; one that adds
    columns of text lists those in a class variable `texts`.

    Attributes:
        columns: The columns it adds.
        requires: The columns it reads.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it adds, in order."""
        ...

    @property
    def requires(self) -> tuple[str, ...]:
        """The columns it reads."""
        ...

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Computes the columns: for each name an array (pairs,) of int64, float64 or text, NaN where undefined."""
        ...


def required_setting(measure: Measure) -> str | None:
    """Returns the setting that a measure cannot do without and that it lacks; None if it can compute."""
    name = getattr(measure, "setting", None)
    return name if name is not None and getattr(measure, name) is None else None


def numeric_columns(measure: Measure) -> list[str]:
    """Lists those columns of a measure that hold numbers."""
    return [column for column in measure.columns if column not in getattr(measure, "texts", ())]
