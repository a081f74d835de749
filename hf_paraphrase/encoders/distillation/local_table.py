"""The batches of a distillation, and the rows of large tables that they need, as a small table with its own gradient.

A step gathers the rows of the tokens that occur in its batch, renumbers the tokens, and runs the model with
that table in place of its own, whatever the model does with it. Only these rows get a gradient, and
:class:`~...training.row_adam.RowAdam` changes only them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import functional_call
from torch.nn import functional
from transformers import PreTrainedModel

from ...tokenization.token_ids import TokenIds
from ...training.batches import Item
from .letters import Letters
from .teacher_vectors import TeacherVectors

TABLE = "embeddings"
"""The name of the table of token vectors in every encoder."""


class _Rows(torch.autograd.Function):
    """The rows of a table by their numbers, each once and in rising order; its gradient has these rows alone."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.shape = table.shape
        return table.index_select(0, rows)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        return torch.sparse_coo_tensor(
            rows.unsqueeze(0), gradients[0], ctx.shape, is_coalesced=True, check_invariants=False
        ), None


class LocalIds:
    """Renumbers ids, of which there are `size`, by the distinct ones that occur."""

    def __init__(self, size: int) -> None:
        self._occurs = np.zeros(size, bool)
        self._local = np.zeros(size, np.int64)

    def __call__(self, ids: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Returns the different ids in rising order (different,), and for each of `ids` its place among them."""
        self._occurs[ids] = True
        rows = np.flatnonzero(self._occurs)
        self._occurs[rows] = False
        self._local[rows] = np.arange(len(rows))
        return rows, self._local[ids]


def local_table(embeddings: Tensor, inputs: dict[str, Tensor], letters: Letters | None) -> Tensor:
    """Gathers the rows (tokens of the batch, dimension) of a batch, with the sums of their n-grams."""
    rows: Tensor = _Rows.apply(embeddings, inputs["rows"])
    if letters is None or not len(inputs["ngrams"]):
        return rows
    ngrams: Tensor = _Rows.apply(letters.table, inputs["ngram_rows"])
    return rows + functional.embedding_bag(inputs["ngrams"], ngrams, inputs["ngram_offsets"], mode="sum")


def call_with_table(
    model: torch.nn.Module, encoder: PreTrainedModel, table: Tensor, inputs: dict[str, Tensor], **options: Any
) -> Tensor:
    """Computes sentence embeddings (texts, dim) with a table of a batch in place of the model's own."""
    words = {"input_ids": inputs["input_ids"], "attention_mask": inputs["attention_mask"], **options}
    with _local_parts(encoder, inputs["rows"]):
        vectors: Tensor = functional_call(model, {TABLE: table}, (), words).pooler_output
    return vectors


@contextmanager
def _local_parts(encoder: PreTrainedModel, rows: Tensor) -> Iterator[None]:
    """Tells an encoder the local id of unknown words, and where the parts of a local table of several parts end."""
    config = encoder.config
    before = {name: getattr(config, name) for name in ("vocab_sizes", "unk_token_id") if hasattr(config, name)}
    local = dict(before)
    if before.get("vocab_sizes") is not None:
        ends = torch.searchsorted(rows, torch.tensor(before["vocab_sizes"], device=rows.device).cumsum(0))
        local["vocab_sizes"] = torch.diff(ends, prepend=ends.new_zeros(1)).tolist()
    if before.get("unk_token_id") is not None:
        places = (rows == before["unk_token_id"]).nonzero()
        local["unk_token_id"] = int(places[0, 0]) if len(places) else -1
    try:
        for name, value in local.items():
            setattr(config, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(config, name, value)


@dataclass
class DistillationTexts:
    """What a student is trained on.

    Attributes:
        texts: Their token ids, which may be a map of a file.
        targets: What the teachers say of the same texts.
        numbers: The texts of an epoch, some perhaps repeatedly (items,), int64; all of them, once, by default.
    """

    texts: TokenIds
    targets: TeacherVectors
    numbers: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.targets if self.numbers is None else self.numbers)


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
        numbers = numbers if self.data.numbers is None else self.data.numbers[numbers]
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
