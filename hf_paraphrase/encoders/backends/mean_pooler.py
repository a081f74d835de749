"""Computes the means of token vectors with NumPy or PyTorch.

`embedding_bag` of PyTorch is two to three times as fast as NumPy, but takes two seconds to import. It is used once
PyTorch is imported, and PyTorch is imported when NumPy has computed for about that time. Both functions add the rows
of a text in the order of its tokens and divide by their number, so their results are equal bit by bit.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...artefacts.weights import StoredMatrix
from ...threads import available_threads, in_threads, one_thread
from ...tokenization.ragged_ids import TokenIds, ends_of
from .base import EmbeddingJob

_TEXTS_PER_MEAN = 1024
Means = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]
"""Computes the means (texts, columns) of texts from their concatenated ids (tokens,) and offsets (texts + 1,)."""
_ROWS_PER_TEXT = 16
"""A table of integers is converted to floats as a whole if its texts may need as many rows as it has."""
_TOKENS_THAT_PAY = 1 << 24
"""Adding this number of rows of 300 components with PyTorch saves about as much time as its import takes."""


class MeanPooler:
    """Computes the embeddings of an averaging encoder from its table (vocabulary, columns) and its configuration.

    With `skip_unknown`, unknown words count only in texts without other words. A concatenation, with `vocab_sizes`,
    concatenates the means of its parts; `part_weights` are the weights of the parts in a cosine.
    """

    def __init__(self, table: NDArray[np.float32] | StoredMatrix, config: Mapping[str, Any]) -> None:
        self._stored = table if isinstance(table, StoredMatrix) else StoredMatrix(table)
        self.skipped_id = config.get("unk_token_id", 1) if config.get("skip_unknown") else None
        self.part_sizes = list(config.get("vocab_sizes") or ())
        self.part_weights = config.get("part_weights")
        self._texts = self._tokens = 0

    def prepared(self, num_texts: int) -> Means:
        """Return a function that computes means in several threads, chosen for a number of texts."""
        self._texts += num_texts
        if self._texts > len(self._stored.values) // _ROWS_PER_TEXT:
            self._stored = StoredMatrix(self._stored.rounded())
        mean = compute_row_means
        if "torch" in sys.modules or self._tokens > _TOKENS_THAT_PAY:
            # Before any of our threads starts, because a thread adopts PyTorch's present number of threads.
            import_module("torch")
            mean = _compute_row_means_by_torch

        def means(ids: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.float32]:
            self._tokens += len(ids)
            if self.part_sizes:
                return self._of_parts(mean, ids, offsets)
            ids, offsets = self._without_skipped(ids, offsets)
            return mean(*self._rows(ids), offsets)

        return means

    def _rows(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the table and ids; for a table of integers only the rows in use, and ids that index them."""
        # Read once, because another thread may replace it.
        stored = self._stored
        if stored.scales is None:
            return stored.values, ids
        rows, row_ids = np.unique(ids, return_inverse=True)
        return StoredMatrix(stored.values[rows], stored.scales[rows]).rounded(), row_ids

    def _without_skipped(
        self, ids: NDArray[np.int64], offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Leave unknown words out, unless a text has no other."""
        if self.skipped_id is None or (is_known := ids != self.skipped_id).all():
            return ids, offsets
        lengths = np.diff(offsets)
        text = np.repeat(np.arange(len(lengths)), lengths)
        counts = np.bincount(text[is_known], minlength=len(lengths))
        return ids[is_known | (counts == 0)[text]], ends_of(np.where(counts == 0, lengths, counts))

    def _of_parts(
        self, mean: Callable[..., NDArray[np.float32]], ids: NDArray[np.int64], offsets: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Compute and concatenate the means of the parts, as `ConcatenationModel` does."""
        texts, parts = len(offsets) - 1, len(self.part_sizes)
        part = np.searchsorted(np.cumsum(self.part_sizes), ids, side="right")
        bag = np.repeat(np.arange(texts) * parts, np.diff(offsets)) + part
        if (bag[1:] < bag[:-1]).any():
            order = np.argsort(bag, kind="stable")
            bag, ids = bag[order], ids[order]
        means = mean(*self._rows(ids), ends_of(np.bincount(bag, minlength=texts * parts)))
        means = means.reshape(texts, parts, -1)
        if self.part_weights is not None:
            scales = np.sqrt(np.array(self.part_weights) / sum(self.part_weights)).astype(np.float32)
            norms = np.sqrt(np.einsum("tpc,tpc->tp", means, means))
            means *= (scales / np.where(norms > 0, norms, np.float32(1)))[:, :, None]
        return means.reshape(texts, -1)


def embed_averages(
    pooler: MeanPooler, tokenize: Callable[[slice], TokenIds], blocks: list[slice], job: EmbeddingJob
) -> Iterator[int]:
    """Fill the vectors of a job with means, and yield the number of finished texts per block."""
    means = pooler.prepared(len(job.vectors))

    def embed(rows: slice) -> int:
        ids = tokenize(rows)
        for start in range(0, rows.stop - rows.start, _TEXTS_PER_MEAN):
            end = min(start + _TEXTS_PER_MEAN, rows.stop - rows.start)
            job.write(slice(rows.start + start, rows.start + end), means(*ids.part(start, end)))
        return rows.stop - rows.start

    yield from map(embed, blocks) if len(blocks) == 1 else in_threads(embed, blocks, available_threads())


def make_pooler(model: Any) -> MeanPooler | None:
    """Return the pooler of an averaging model of this package in single precision on the CPU, else None."""
    import torch

    from ...models.modeling_avg import AvgModel
    from ...models.modeling_concatenation import ConcatenationModel

    if type(model) not in (AvgModel, ConcatenationModel):
        return None
    # The properties `device` and `dtype` of a model take longer than embedding a short text.
    weights = model.embeddings.detach()
    is_plain = weights.device.type == "cpu" and weights.dtype == torch.float32
    return MeanPooler(weights.numpy(), vars(model.config)) if is_plain else None


def compute_row_means(
    table: NDArray[np.float32], ids: NDArray[np.int64], offsets: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Compute the means (texts, columns) of rows of a table; the mean of a text without tokens is zero.

    The texts are sorted by length, and the n-th rows of all texts are added at once.
    """
    lengths = np.diff(offsets)
    means = np.zeros((len(lengths), table.shape[1]), np.float32)
    order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)]
    if not len(order):
        return means
    begins, lengths = offsets[order], lengths[order]
    sums, added = np.empty((2, len(order), table.shape[1]), np.float32)
    np.take(table, ids[begins], axis=0, out=sums, mode="clip")
    num_longer = len(order) - np.searchsorted(lengths[::-1], np.arange(1, lengths[0]), side="right")
    for position, num_texts in enumerate(num_longer, 1):
        np.take(table, ids[begins[:num_texts] + position], axis=0, out=added[:num_texts], mode="clip")
        sums[:num_texts] += added[:num_texts]
    sums /= lengths[:, None].astype(np.float32)
    means[order] = sums
    return means


def _compute_row_means_by_torch(
    table: NDArray[np.float32], ids: NDArray[np.int64], offsets: NDArray[np.int64]
) -> NDArray[np.float32]:
    import torch

    if not len(ids):
        return np.zeros((len(offsets) - 1, table.shape[1]), np.float32)
    with torch.inference_mode(), one_thread():
        # PyTorch's mean takes a quarter longer than its sum and a division by NumPy.
        sums: NDArray[np.float32] = torch.nn.functional.embedding_bag(
            torch.from_numpy(ids), torch.from_numpy(table), torch.from_numpy(offsets[:-1]), mode="sum"
        ).numpy()
    # The sum of a text without tokens stays zero.
    sums /= np.maximum(np.diff(offsets), 1)[:, None].astype(np.float32)
    return sums
