"""Measures of pairs; :data:`~hf_paraphrase.registry.MEASURES` names them.

A measure reads columns of a batch of pairs and adds columns. The measures in `wording` compare words, the measures in
`models` load a model.
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
    A measure loads its model at first use, so that only its options travel to other processes.
    The first line of its docstring is its description on a card.

    Attributes:
        requires: The columns it reads.
        texts: Its columns of text.
        for_bitext: Whether it is computed by default for a bitext.
        by_default: Whether it is computed by default if its columns and its option are given.
        needs: The option that it requires.
        models: The options that name model folders, or repositories of the Hub.
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
        """The required option that is missing; None if the measure can be computed."""
        return self.needs if self.needs is not None and getattr(self, self.needs) is None else None

    @classmethod
    def option_names(cls) -> list[str]:
        """The names of its options."""
        return [field.name for field in dataclasses.fields(cls)]
