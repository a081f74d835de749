"""Candidate vocabularies: the few target units that a batch of sentences may be translated with (Jean et al. 2015)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch

from .lexical_table import LexicalTable


class CandidateVocabulary:
    """Chooses the target units for a batch: frequent ones, and likely translations of its source units.

    Args:
        table: The lexical table of the model's units.
        frequent: How many of the most frequent target units are always among them (K; paper 000: 10,000).
        per_unit: How many translations of every source unit are (K'; paper 000: 25).
        always: Units that are among them in any case: the special ones.
    """

    def __init__(self, table: LexicalTable, *, frequent: int, per_unit: int, always: Iterable[int]) -> None:
        self.table = table
        self.per_unit = per_unit
        # Stable, so that of equally frequent units the smaller numbers come first.
        most_frequent = np.argsort(-table.target_counts, kind="stable")[:frequent]
        self.always = np.union1d(most_frequent, np.fromiter(always, dtype=np.int64))

    def for_batch(
        self, input_ids: Sequence[Sequence[int]], references: Sequence[Sequence[int]] | None = None
    ) -> torch.Tensor:
        """Returns the candidates of a batch, one list for all its sentences, in ascending order, (candidates,).

        Args:
            input_ids: Source units of every sentence.
            references: Target units of every reference, if they shall be among the candidates. This is what paper 000
                does, and it tells the search which rare words the reference has.
        """
        found = [self.always]
        for unit in {unit for ids in input_ids for unit in ids}:
            begin, end = self.table.offsets[unit], self.table.offsets[unit + 1]
            found.append(self.table.targets[begin : min(end, begin + self.per_unit)].astype(np.int64))
        for units in references or []:
            found.append(np.asarray(units, dtype=np.int64))
        return torch.from_numpy(np.unique(np.concatenate(found)))
