"""Computes vectors from token ids in padded batches of texts of similar length."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...threads import in_threads
from ...tokenization.ragged_ids import TokenIds

if TYPE_CHECKING:
    import torch
    from torch import Tensor

TOKENS_PER_BATCH = 1 << 16
"""Maximum number of padded tokens per batch, so that long texts fit in memory; a longer text is a batch of its own."""
_TRANSFORMER_TOKENS_PER_BATCH = 1 << 12
"""The maximum for a transformer on the CPU, whose cache a larger batch exceeds."""


def embed_in_padded_batches(
    forward: Callable[[Tensor, Tensor], Tensor],
    ids: TokenIds,
    write: Callable[[list[int], NDArray[np.float32]], None],
    *,
    batch_size: int,
    pad_token_id: int | None,
    device: torch.device,
    is_transformer: bool = False,
) -> Iterator[int]:
    """Compute the vectors of all texts with tokens, and yield the number of finished texts per batch.

    `forward` computes the vectors (batch, dim) from ids and mask (batch, length), in several threads, without
    gradients, and under `torch.autocast` if the caller is; `write` gets the rows of a batch and their vectors.
    """
    import torch

    autocast = torch.is_autocast_enabled(device.type)
    dtype = torch.get_autocast_dtype(device.type)

    def embed(rows: list[int]) -> int:
        tokens, mask = ids.padded(np.array(rows), pad_token_id or 0)
        # Both contexts apply to the present thread only.
        with torch.inference_mode(), torch.autocast(device.type, dtype, enabled=autocast):
            part = forward(torch.from_numpy(tokens).to(device), torch.from_numpy(mask).to(device))
        write(rows, part.float().cpu().numpy())
        return len(rows)

    # One thread per batch, because a recurrent step is too small to divide among threads.
    threads = torch.get_num_threads() if device.type == "cpu" else 1
    tokens = _TRANSFORMER_TOKENS_PER_BATCH if is_transformer and device.type == "cpu" else TOKENS_PER_BATCH
    yield from in_threads(embed, list(batch_by_length(ids.lengths, batch_size, tokens)), threads)


def batch_by_length(
    lengths: Sequence[int] | NDArray[np.int64], batch_size: int, tokens: int = TOKENS_PER_BATCH
) -> Iterator[list[int]]:
    """Group rows of similar length, the longest first; leave rows of length 0 out."""
    batch: list[int] = []
    for row in np.argsort(-np.asarray(lengths, np.int64), kind="stable").tolist():
        if lengths[row] == 0:
            break
        if batch and (len(batch) == batch_size or (len(batch) + 1) * lengths[batch[0]] > tokens):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


@contextmanager
def evaluation_mode(model: Any) -> Iterator[None]:
    """Keep a PyTorch model in evaluation mode within the block."""
    was_training = getattr(model, "training", False)
    if was_training:
        model.eval()
    try:
        yield
    finally:
        if was_training:
            model.train()


def show_progress(steps: Iterable[int], total: int) -> Iterator[int]:
    """Pass on the numbers of finished texts, and show the progress on standard error."""
    from tqdm.auto import tqdm

    with tqdm(total=total, unit=" texts", desc="encode") as bar:
        for done in steps:
            bar.update(done)
            yield done
        bar.update(total - bar.n)
