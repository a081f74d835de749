"""Measures of pairs; :data:`~hf_paraphrase.registry.MEASURES` names them.

A measure reads columns of a batch of pairs and adds columns. `wording` has those of words alone, `models` those that
load something, with their options.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..pair_batch import SIDES, PairBatch


@dataclass(frozen=True)
class Measure(ABC):
    """Compute one or more columns from a batch of pairs, each row by itself.

    A measure is a frozen dataclass that is registered in :data:`~hf_paraphrase.registry.MEASURES`. Its fields are its
    options, each made by :func:`~hf_paraphrase.settings.setting` with a default: `score` has a flag for each of them.
    What such a measure loads it loads when it first computes, so that it travels to other processes as its options.
    The first line of its docstring is its description on a card.

    Attributes:
        requires: The columns it reads.
        texts: Those of its columns that hold text.
        for_bitext: Whether it is computed unasked for a bitext, of which the sides are in two languages.
        by_default: Whether it is computed unasked, where the columns it reads and the option it needs are there.
        needs: The option that it cannot do without.
        models: Those of its options that name model folders, or repositories of the Hub.
    """

    texts: ClassVar[tuple[str, ...]] = ()
    for_bitext: ClassVar[bool] = False
    by_default: ClassVar[bool] = True
    needs: ClassVar[str | None] = None
    models: ClassVar[tuple[str, ...]] = ()

    @property
    def requires(self) -> tuple[str, ...]:
        """The columns it reads."""
        return SIDES

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns it adds, in order."""

    @abstractmethod
    def compute(self, batch: PairBatch) -> Mapping[str, np.ndarray]:
        """Compute the columns: for each name an array (pairs,) of int64, float64 or text, NaN where undefined."""

    @property
    def lacks(self) -> str | None:
        """The option that it cannot do without and that it was not given; None if it can compute."""
        return self.needs if self.needs is not None and getattr(self, self.needs) is None else None

    @classmethod
    def option_names(cls) -> list[str]:
        """The names of its options."""
        return [field.name for field in dataclasses.fields(cls)]
