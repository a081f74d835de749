"""Length-bucketed mini-batches of a tokenised bitext."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch.utils.data import Sampler
from transformers import PreTrainedTokenizerBase

from ..errors import InputError

_BATCHES_PER_MAXI_BATCH = 20
"""That of the reference."""


TokenizedPair = dict[str, list[int]]
"""A sentence pair as unit numbers, `input_ids` and `labels`, both with the end token."""


def tokenize_bitext(
    tokenizer: PreTrainedTokenizerBase,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    max_units: int | None = None,
) -> list[TokenizedPair]:
    """Turns sentence pairs into unit numbers.

    Pairs with a side of more than `max_units` (the reference: 50), the end token not counted, or of more than the
    tokenizer's own limit are left out.
    """
    longest = min(tokenizer.model_max_length, tokenizer.model_max_length if max_units is None else max_units + 1)
    input_ids = tokenizer(list(sources), verbose=False)["input_ids"]
    labels = tokenizer(text_target=list(targets), verbose=False)["input_ids"]
    pairs = [{"input_ids": source, "labels": target} for source, target in zip(input_ids, labels, strict=True)]
    kept = [pair for pair in pairs if max(map(len, pair.values())) <= longest]
    if not kept:
        raise InputError(
            f"none of the {len(labels)} sentence pairs has at most {longest - 1} units on both sides",
            remedy="raise --max-units or --vocab-size",
        )
    return kept


def lengths_of(pairs: Sequence[TokenizedPair]) -> np.ndarray:
    """Returns the length of the longer side of every pair, in units, int64 (pairs,)."""
    return np.array([max(map(len, pair.values())) for pair in pairs], dtype=np.int64)


class MaxiBatchSampler(Sampler[list[int]]):
    """Mini-batches of similar length: maxi-batches are shuffled, sorted by length and cut (the reference's way).

    Every epoch draws a new order from `seed` and the epoch's number alone, so a resumed run sees the same batches.
    Several processes take every so many-th mini-batch each, and all the same number, or those that are done would
    leave the others waiting for ever: some of the first come again at the end.
    """

    def __init__(self, lengths: np.ndarray, pairs_per_batch: int, *, seed: int = 0, processes: int = 1) -> None:
        self.lengths = lengths
        self.pairs_per_batch = pairs_per_batch
        self.seed = seed
        self.processes = processes
        self.epoch = 0
        # Accelerate looks for `set_epoch` here when it has wrapped this sampler to skip batches after a resume.
        self.sampler = self

    def set_epoch(self, epoch: int) -> None:
        """Chooses the order of the given epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        batches = math.ceil(len(self.lengths) / self.pairs_per_batch)
        return math.ceil(batches / self.processes) * self.processes

    def __iter__(self) -> Iterator[list[int]]:
        generator = np.random.default_rng([self.seed, self.epoch])
        order = generator.permutation(len(self.lengths))
        size = self.pairs_per_batch * _BATCHES_PER_MAXI_BATCH
        batches: list[np.ndarray] = []
        for start in range(0, len(order), size):
            maxi_batch = order[start : start + size]
            maxi_batch = maxi_batch[np.argsort(self.lengths[maxi_batch], kind="stable")]
            batches += [
                maxi_batch[cut : cut + self.pairs_per_batch] for cut in range(0, len(maxi_batch), self.pairs_per_batch)
            ]
        shuffled = generator.permutation(len(batches))
        for position in range(len(self)):
            yield batches[shuffled[position % len(batches)]].tolist()


def padded(rows: Sequence[Sequence[int]], value: int) -> torch.Tensor:
    """Pads rows of units on the right to the longest, (rows, length)."""
    filled = np.full((len(rows), max(map(len, rows))), value, dtype=np.int64)
    for index, row in enumerate(rows):
        filled[index, : len(row)] = row
    return torch.from_numpy(filled)
