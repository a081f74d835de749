"""Token ids to vectors in padded batches, those of similar length in one."""

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
"""Padded tokens in a batch at most (a single longer text is a batch of its own), so that long texts fit in memory."""
_TOKENS_OF_A_TRANSFORMER = 1 << 12
"""The same for a transformer on the CPU, whose cache more of them would leave."""


def embed_in_padded_batches(
    forward: Callable[[Tensor, Tensor], Tensor],
    ids: TokenIds,
    vectors: NDArray[np.float32],
    *,
    batch_size: int,
    pad_token_id: int | None,
    device: torch.device,
    finish: Callable[[NDArray[np.float32]], NDArray[np.float32]] | None = None,
    is_transformer: bool = False,
) -> Iterator[int]:
    """Fill `vectors` (texts, dim), but for texts without tokens, and yield how many rows are done each time.

    `forward` computes the vectors (batch, dim) of ids (batch, length) with their mask, in several threads, without
    gradients, and under `torch.autocast` where the caller is; then `finish` is applied.
    """
    import torch

    autocast = torch.is_autocast_enabled(device.type)
    dtype = torch.get_autocast_dtype(device.type)

    def embed(rows: list[int]) -> int:
        tokens, mask = ids.padded(np.array(rows), pad_token_id or 0)
        # These settings hold for one thread only.
        with torch.inference_mode(), torch.autocast(device.type, dtype, enabled=autocast):
            part = forward(torch.from_numpy(tokens).to(device), torch.from_numpy(mask).to(device))
        embedded = part.float().cpu().numpy()
        vectors[rows] = finish(embedded) if finish else embedded
        return len(rows)

    # A recurrent step is too small to be worth sharing among processors; a batch is not.
    threads = torch.get_num_threads() if device.type == "cpu" else 1
    tokens = _TOKENS_OF_A_TRANSFORMER if is_transformer and device.type == "cpu" else TOKENS_PER_BATCH
    yield from in_threads(embed, list(batches_of_like_length(ids.lengths, batch_size, tokens)), threads)


def batches_of_like_length(
    lengths: Sequence[int] | NDArray[np.int64], batch_size: int, tokens: int = TOKENS_PER_BATCH
) -> Iterator[list[int]]:
    """Group rows of similar length, the longest first; rows of length 0 are left out."""
    batch: list[int] = []
    order = np.argsort(-np.asarray(lengths, np.int64), kind="stable")
    for row in order.tolist():
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
    """Keep a model of PyTorch in evaluation mode in the block, however that ends."""
    if not getattr(model, "training", False):
        yield
        return
    model.eval()
    try:
        yield
    finally:
        model.train()


def with_progress_bar(steps: Iterable[int], total: int) -> Iterator[int]:
    """Show the progress, in texts, on standard error, while it passes on how many texts are done each time."""
    from tqdm.auto import tqdm

    with tqdm(total=total, unit=" texts", desc="encode") as bar:
        for done in steps:
            bar.update(done)
            yield done
        bar.update(total - bar.n)
