"""Keeps evaluation sentences out of training data: the settings, and the batch function that leaves out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from ..errors import UsageError
from ..registry import BUILTIN
from ..settings import Settings, setting
from .batch_function import BatchFunction, Progress, Report, no_progress
from .evaluation_sets import load_fingerprints
from .fingerprints import SHORTEST_NGRAM, Fingerprints


@dataclass(kw_only=True)
class DecontaminationSettings(Settings):
    """Which evaluation sets must not overlap with training data."""

    GROUP: ClassVar[str] = "decontamination"

    decontaminate: list[str] = setting(
        "evaluation files or folders, or lists of fingerprints: training rows of which a sentence is in them go (of "
        "bitext the target side)",
        [],
        path=True,
    )
    decontaminate_ngrams: int = setting(
        "words in an n-gram: rows of which a side shares 70 percent of its n-grams with an evaluation set, or has a "
        "sentence of one in it, go as well; 8 is usual, 0 = whole sentences only",
        0,
        at_least=0,
        only_with="decontaminate",
    )
    decontaminate_similarity: float | None = setting(
        "least cosine of a side to a sentence of an evaluation set with which its row goes as well, however it is "
        "worded; 0.9 is usual",
        None,
        above=0,
        at_most=1,
        only_with="decontaminate",
    )
    decontaminate_encoder: str = setting(
        "sentence encoder of --decontaminate-similarity; multilingual knows several languages",
        BUILTIN,
        path=True,
        only_with="decontaminate_similarity",
    )

    def check(self) -> None:
        """Refuses n-grams that are too short to tell anything."""
        super().check()
        size = self.decontaminate_ngrams
        if 0 < size < SHORTEST_NGRAM:
            raise UsageError(
                f"--decontaminate-ngrams {size}: n-grams must have {SHORTEST_NGRAM} words or more",
                remedy="8 is usual; 0 compares whole sentences only",
            )

    def decontaminator(self, *columns: str) -> Decontaminator | None:
        """Returns what leaves out the rows of which a column is matched; None if there are no evaluation sets."""
        if not self.decontaminate:
            return None
        return Decontaminator(
            tuple(self.decontaminate),
            columns,
            self.decontaminate_ngrams,
            self.decontaminate_similarity,
            self.decontaminate_encoder,
        )


@dataclass(frozen=True)
class Decontaminator(BatchFunction):
    """Leaves out the rows of which a sentence is in an evaluation set.

    Sets, n-grams, similarity and encoder are those of :func:`~.evaluation_sets.load_fingerprints`.
    """

    sets: tuple[str, ...]
    columns: tuple[str, ...] = ("sentence1", "sentence2")
    ngrams: int = 0
    similarity: float | None = None
    encoder: str = BUILTIN

    @cached_property
    def fingerprints(self) -> Fingerprints:
        """The sets, read when they are first needed."""
        return load_fingerprints(self.sets, ngrams=self.ngrams, similarity=self.similarity, encoder=self.encoder)

    def reported(self, table: pa.Table, progress: Progress = no_progress) -> tuple[pa.Table, Report]:
        """Returns the rows that stay, in order, and as `contamination` the counts of :meth:`Fingerprints.match`."""
        matched, counts = self.matched(table)
        progress(table.num_rows)
        return (table.filter(pa.array(~matched)) if matched.any() else table), {"contamination": counts}

    def matched(self, table: pa.Table, columns: Sequence[str] | None = None) -> tuple[np.ndarray, dict[str, int]]:
        """Finds the rows that an evaluation set matches, as :meth:`Fingerprints.match` does, by these columns."""
        return self.fingerprints.match([table.column(name) for name in columns or self.columns])
