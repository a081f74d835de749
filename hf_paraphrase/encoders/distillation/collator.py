"""What a batch of texts looks like: local token ids, and what the teachers say of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...training.batches import EpochBatches, Item
from ..token_rows import token_places
from .encoded_texts import EncodedTexts
from .letters import Letters
from .local_table import LocalIds
from .teacher_vectors import TeacherVectors


@dataclass
class DistillationTexts:
    """What a student is trained on.

    Attributes:
        targets: What the teachers say of the same texts.
        neighbours: The numbers of the texts that the teachers take for the nearest to each (texts, k), int64, if
            texts shall be trained with them.
    """

    texts: EncodedTexts
    targets: TeacherVectors
    neighbours: NDArray[np.integer] | None = None

    def __len__(self) -> int:
        return len(self.texts)


class TextCollator:
    """Makes a batch from numbers of texts.

    Args:
        data: The texts and their targets.
        vocabulary_size: The number of rows of the student's table.
        pad_token_id: Fills up short texts; None for the first token of the batch.
        unk_token_id: The id of unknown words, if there is one: models may look for it, so it keeps its number.
        letters: The n-grams of the tokens.
    """

    def __init__(
        self,
        data: DistillationTexts,
        *,
        vocabulary_size: int,
        pad_token_id: int | None,
        unk_token_id: int | None,
        letters: Letters | None = None,
    ) -> None:
        self.data = data
        self.pad_token_id = pad_token_id or 0
        self.letters = letters
        fixed_ids = [token for token in (pad_token_id, unk_token_id) if token is not None]
        self._ids = LocalIds(vocabulary_size, max(fixed_ids, default=-1) + 1)
        self._buckets = None if letters is None else LocalIds(len(letters.table))

    def __call__(self, items: Sequence[Item]) -> dict[str, Tensor]:
        """Makes a batch.

        Args:
            items: The epoch and the number of each text.

        Returns:
            `rows` (tokens of the batch,), the ids of the different tokens; `input_ids` and `attention_mask`
            (texts, length), by their places in `rows`; `targets` (texts, target dim); and with letters `ngram_rows`
            (n-grams of the batch,), the different buckets, `ngrams` (total,) by their places in these, and
            `ngram_offsets` (tokens of the batch,), where those of each token begin.
        """
        numbers = np.array([number for _, number in items], np.int64)
        tokens, lengths = self.data.texts.take(numbers)
        rows, local = self._ids(tokens)
        text, position = token_places(lengths)
        ids = np.full((len(numbers), max(1, int(lengths.max(initial=0)))), self.pad_token_id, np.int64)
        ids[text, position] = local
        batch = {
            "rows": rows,
            "input_ids": ids,
            "attention_mask": (np.arange(ids.shape[1]) < lengths[:, None]).astype(np.int64),
            "targets": self.data.targets.take(numbers),
        }
        if self.letters is not None and self._buckets is not None:
            buckets, batch["ngram_offsets"] = self.letters.of_rows(rows)
            batch["ngram_rows"], batch["ngrams"] = self._buckets(buckets)
        return {name: torch.from_numpy(part) for name, part in batch.items()}


class NeighbourBatches(EpochBatches):
    """Batches in which random texts stand together with their nearest neighbours.

    In each epoch one text of k + 1 is drawn and followed by its k neighbours, so that an epoch has as many texts as
    without; in k + 1 epochs every text is drawn once.

    Args:
        neighbours: The neighbours of each text (texts, k).
        batch_texts: The number of texts in a batch.
        seed: The seed.
    """

    def __init__(self, neighbours: NDArray[np.integer], batch_texts: int, seed: int) -> None:
        super().__init__(len(neighbours), batch_texts, seed)
        self.neighbours = neighbours

    def order(self, epoch: int) -> NDArray[np.int64]:
        """Returns the numbers of the texts in the order of an epoch (texts,)."""
        if self._order is None or self._order[0] != epoch:
            group = self.neighbours.shape[1] + 1
            drawn = -(-self.size // group)
            cycle, part = divmod(epoch, group)
            permutation = np.random.default_rng([self.seed, cycle]).permutation(self.size)
            texts = np.take(permutation, np.arange(part * drawn, (part + 1) * drawn), mode="wrap")
            order = np.column_stack([texts, self.neighbours[texts]]).ravel()[: self.size]
            self._order = epoch, order.astype(np.int64)
        return self._order[1]
