"""Cuts a mini-batch of long sentences into pieces that go through the model one after the other."""

from __future__ import annotations

import math

from torch import Tensor


def split_batch(batch: dict[str, Tensor], largest: int) -> list[dict[str, Tensor]]:
    """Cuts a padded mini-batch into pieces of equally many pairs, so that each meets a limit on memory.

    What a training step keeps of the attention grows with pairs * source length * target length. The gradients of the
    pieces, each weighted by its share of the target units, add up to that of the whole mini-batch.

    Args:
        batch: `input_ids` and `attention_mask`, (pairs, source length), and `labels`, (pairs, target length), padded
            on the right.
        largest: Most attention weights a piece may have: pairs * source length * target length. A single pair may
            have more.

    Returns:
        The mini-batch itself if it is small enough; otherwise its pieces in order, without the padding that none of
        their pairs needs.
    """
    pairs, source_length = batch["input_ids"].shape
    most = max(1, largest // (source_length * batch["labels"].shape[1]))
    if pairs <= most:
        return [batch]
    size = math.ceil(pairs / math.ceil(pairs / most))
    return [
        _without_padding({name: tensor[start : start + size] for name, tensor in batch.items()})
        for start in range(0, pairs, size)
    ]


def _without_padding(batch: dict[str, Tensor]) -> dict[str, Tensor]:
    source_length = int(batch["attention_mask"].sum(1).max())
    target_length = int((batch["labels"] != -100).sum(1).max())
    return {name: tensor[:, : target_length if name == "labels" else source_length] for name, tensor in batch.items()}
