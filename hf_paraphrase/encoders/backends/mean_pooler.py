"""What averaging encoders compute, with NumPy alone: means of the rows of a table, and of several parts of it.

`embedding_bag` of PyTorch is two to three times as fast, but takes two seconds to import. So it does this work where
somebody has imported it, and it is imported as soon as what was computed without it took about as long. Both add the
rows of a text in the order of its tokens and divide by their number, so that they give the same bits.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...artefacts.weights import StoredMatrix
from ...threads import available_threads, in_threads, one_thread
from ...tokenization.ragged_ids import TokenIds, ends_of

_ROWS_PER_MEAN = 1024
_FEW_TEXTS = 24
"""So many texts are done sooner one by one than any better way has begun."""
_FEW_TOKENS = 1 << 14
"""The number of tokens whose rows may be in memory together."""
Means = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]
"""Computes the means (texts, columns) of texts from their ids (tokens,), laid end to end, and offsets (texts + 1,)."""
_ROWS_OF_A_TEXT = 16
"""A table is turned into floats as a whole when its texts may need as many rows as it has."""
_TOKENS_THAT_PAY = 1 << 24
"""About so many rows of 300 components are added with PyTorch in the time that it saves and its import takes."""


class MeanPooler:
    """The embeddings of an averaging encoder whose table (vocabulary, columns) is an array, or stored as one.

    Unknown words, of `skipped_id`, count in texts of nothing else only; None counts them all. The means of the parts
    of a concatenation are laid side by side, each with its share of the cosine of two sentences, if `part_weights` has
    them.
    """

    def __init__(
        self,
        table: NDArray[np.float32] | StoredMatrix,
        *,
        skipped_id: int | None = None,
        part_sizes: Sequence[int] = (),
        part_weights: Sequence[float] | None = None,
    ) -> None:
        self._stored = table if isinstance(table, StoredMatrix) else StoredMatrix(table)
        self.skipped_id = skipped_id
        self.part_sizes = list(part_sizes)
        self.part_weights = part_weights
        self._texts = self._tokens = 0

    def prepared(self, texts: int) -> Means:
        """Return the function of ids and offsets that several threads may call now, for so many texts."""
        self._texts += texts
        if self._texts > len(self._stored.values) // _ROWS_OF_A_TEXT:
            # Of a table of integers few texts need few rows.
            self._stored = StoredMatrix(self._stored.rounded())
        mean = row_means
        if "torch" in sys.modules or self._tokens > _TOKENS_THAT_PAY:
            # Before any of our threads starts: each takes over the number of threads that PyTorch has then.
            import_module("torch")
            mean = _row_means_by_torch

        def means(ids: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.float32]:
            self._tokens += len(ids)
            if self.part_sizes:
                return self._of_parts(mean, ids, offsets)
            few = len(offsets) <= _FEW_TEXTS + 1 and len(ids) <= _FEW_TOKENS and self._stored.values.shape[1] > 1
            ids, offsets = self._counted(ids, offsets)
            return (_few_row_means if few else mean)(*self._rows(ids), offsets)

        return means

    def _rows(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the table and ids; of a table of integers the rows in use, and the place of each id among them."""
        # Read once: another thread may replace it.
        stored = self._stored
        if stored.scales is None:
            return stored.values, ids
        rows, places = np.unique(ids, return_inverse=True)
        return StoredMatrix(stored.values[rows], stored.scales[rows]).rounded(), places

    def _counted(
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
        """Compute the means of the parts side by side; see `ConcatenationModel`."""
        texts, parts = len(offsets) - 1, len(self.part_sizes)
        part = np.searchsorted(np.cumsum(self.part_sizes), ids, side="right")
        bag = np.repeat(np.arange(texts) * parts, np.diff(offsets)) + part
        if (bag[1:] < bag[:-1]).any():
            order = np.argsort(bag, kind="stable")
            bag, ids = bag[order], ids[order]
        means = mean(*self._rows(ids), ends_of(np.bincount(bag, minlength=texts * parts)))
        means = means.reshape(texts, parts, -1)
        if self.part_weights is not None:
            shares = [math.sqrt(weight / sum(self.part_weights)) for weight in self.part_weights]
            norms = np.sqrt(np.einsum("tpc,tpc->tp", means, means))
            means *= (np.array(shares, np.float32) / np.where(norms > 0, norms, np.float32(1)))[:, :, None]
        return means.reshape(texts, -1)


def embed_averages(
    averages: MeanPooler,
    tokenize: Callable[[slice], TokenIds],
    blocks: list[slice],
    vectors: NDArray[np.float32],
    finish: Callable[[NDArray[np.float32]], NDArray[np.float32]],
) -> Iterator[int]:
    """Fill `vectors` (texts, dim) with what `finish` makes of means; yield how many rows are done each time."""
    means = averages.prepared(len(vectors))

    def embed(rows: slice) -> int:
        ids = tokenize(rows)
        for first in range(0, rows.stop - rows.start, _ROWS_PER_MEAN):
            part = finish(means(*ids.part(first, first + _ROWS_PER_MEAN)))
            start = rows.start + first
            vectors[start : start + len(part)] = part
        return rows.stop - rows.start

    yield from map(embed, blocks) if len(blocks) == 1 else in_threads(embed, blocks, available_threads())


def averages_of_model(model: Any) -> MeanPooler | None:
    """Return what computes the embeddings of an averaging model of ours in single precision on the CPU."""
    import torch

    from ...models.modeling_avg import AvgModel
    from ...models.modeling_concatenation import ConcatenationModel

    if type(model) not in (AvgModel, ConcatenationModel):
        return None
    # What a model itself says of its device and type takes longer than a short text.
    weights = model.embeddings.detach()
    is_plain = weights.device.type == "cpu" and weights.dtype == torch.float32
    return averages_of(vars(model.config), weights.numpy()) if is_plain else None


def averages_of(config: Mapping[str, Any], table: NDArray[np.float32] | StoredMatrix) -> MeanPooler:
    """Make what computes the embeddings of an average, or of a concatenation of averages."""
    if (sizes := config.get("vocab_sizes")) is not None:
        return MeanPooler(table, part_sizes=sizes, part_weights=config.get("part_weights"))
    return MeanPooler(table, skipped_id=config.get("unk_token_id", 1) if config.get("skip_unknown") else None)


def row_means(table: NDArray[np.float32], ids: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.float32]:
    """Compute the means (texts, columns) of rows of a table; a text without tokens has zeros.

    The texts are ordered by length; the first rows of all are taken, the second rows are added to them, and so on.
    """
    lengths = np.diff(offsets)
    means = np.zeros((len(lengths), table.shape[1]), np.float32)
    order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)]
    if not len(order):
        return means
    begins, lengths = offsets[order], lengths[order]
    sums, added = np.empty((2, len(order), table.shape[1]), np.float32)
    np.take(table, ids[begins], axis=0, out=sums, mode="clip")
    for place, texts in enumerate(
        len(order) - np.searchsorted(lengths[::-1], np.arange(1, lengths[0]), side="right"), 1
    ):
        np.take(table, ids[begins[:texts] + place], axis=0, out=added[:texts], mode="clip")
        sums[:texts] += added[:texts]
    sums /= lengths[:, None].astype(np.float32)
    means[order] = sums
    return means


def _few_row_means(
    table: NDArray[np.float32], ids: NDArray[np.int64], offsets: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Compute what :func:`row_means` does, one text at a time; of one column NumPy would add in another order."""
    rows = table.take(ids, axis=0)
    sums = np.empty((len(offsets) - 1, table.shape[1]), np.float32)
    for total, (first, last) in zip(sums, pairwise(offsets.tolist()), strict=True):
        # Row by row, in their order; the sum of none is zero.
        np.add.reduce(rows[first:last], axis=0, out=total)
    return _divided(sums, offsets)


def _row_means_by_torch(
    table: NDArray[np.float32], ids: NDArray[np.int64], offsets: NDArray[np.int64]
) -> NDArray[np.float32]:
    import torch

    if not len(ids):
        return np.zeros((len(offsets) - 1, table.shape[1]), np.float32)
    with torch.inference_mode(), one_thread():
        # Its own means take a quarter longer than sums that NumPy divides, to the same bits.
        sums: NDArray[np.float32] = torch.nn.functional.embedding_bag(
            torch.from_numpy(ids), torch.from_numpy(table), torch.from_numpy(offsets[:-1]), mode="sum"
        ).numpy()
    return _divided(sums, offsets)


def _divided(sums: NDArray[np.float32], offsets: NDArray[np.int64]) -> NDArray[np.float32]:
    """Divide the sum of each text by the number of its tokens, in place; those of none stay zero."""
    sums /= np.maximum(offsets[1:] - offsets[:-1], 1)[:, None].astype(np.float32)
    return sums
