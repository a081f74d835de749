"""What a batch of texts looks like: local token ids, and what the teachers say of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ...tokenization.token_ids import TokenIds
from ...training.batches import Item
from .letters import Letters
from .local_table import LocalIds
from .teacher_vectors import TeacherVectors


@dataclass
class DistillationTexts:
    """What a student is trained on.

    Attributes:
        texts: Their token ids, which may be a map of a file.
        targets: What the teachers say of the same texts.
    """

    texts: TokenIds
    targets: TeacherVectors

    def __len__(self) -> int:
        return len(self.targets)


class TextCollator:
    """Makes a batch from numbers of texts."""

    def __init__(self, data: DistillationTexts, *, vocabulary_size: int, letters: Letters | None = None) -> None:
        self.data = data
        self.letters = letters
        self._ids = LocalIds(vocabulary_size)
        self._buckets = None if letters is None else LocalIds(len(letters.table))

    def __call__(self, items: Sequence[Item]) -> dict[str, Tensor]:
        """Makes a batch from the epoch and the number of each text.

        Padding is the first of the tokens that occur: a row that does not occur would go on moving by its momentum.

        Returns:
            `rows` (tokens of the batch,), the ids of the different tokens; `input_ids` and `attention_mask`
            (texts, length), by their places in `rows`; `targets` (texts, target dim); and with letters `ngram_rows`
            (n-grams of the batch,), the different buckets, `ngrams` (total,) by their places in these, and
            `ngram_offsets` (tokens of the batch,), where those of each token begin.
        """
        numbers = np.array([number for _, number in items], np.int64)
        texts = self.data.texts.take(numbers)
        rows, local = self._ids(texts.ids if len(texts.ids) else np.zeros(1, np.int32))
        ids, mask = TokenIds(local, texts.offsets).padded(np.arange(len(numbers)), 0)
        batch = {
            "rows": rows,
            "input_ids": ids,
            "attention_mask": mask.astype(np.int64),
            "targets": self.data.targets.take(numbers),
        }
        if self.letters is not None and self._buckets is not None:
            buckets, batch["ngram_offsets"] = self.letters.of_rows(rows)
            batch["ngram_rows"], batch["ngrams"] = self._buckets(buckets)
        return {name: torch.from_numpy(part) for name, part in batch.items()}
