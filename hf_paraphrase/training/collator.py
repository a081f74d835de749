"""Which pairs make which batch, and what a batch looks like."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from .pairs import EncodedPairs

Item = tuple[int, int]
"""An epoch (from 0) and the number of a pair."""


class PairItems(Dataset[Item]):
    """A data set that hands each request through to the collator, which reads a whole batch at once.

    Args:
        size: The number of pairs.
    """

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, item: Item) -> Item:
        return item


class EpochBatches:
    """Batches of shuffled pairs; every epoch has its own order, which depends on the seed and the epoch alone.

    The last batch holds what is left over. With several processes the first batches are repeated until each process
    has equally many, because a process without a batch would keep the others waiting.

    Args:
        size: The number of pairs.
        batch_pairs: The number of pairs in a batch.
        seed: The seed.
        num_processes: The number of processes that take turns.
    """

    def __init__(self, size: int, batch_pairs: int, seed: int, num_processes: int = 1) -> None:
        self.size = size
        # Not `batch_size`: accelerate takes a sampler with that attribute to have batches of one size.
        self.batch_pairs = batch_pairs
        self.seed = seed
        self.num_processes = num_processes
        self.epoch = 0
        self.drop_last = False

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch (from 0) whose order is given next."""
        self.epoch = epoch

    def __len__(self) -> int:
        batches = -(-self.size // self.batch_pairs)
        return -(-batches // self.num_processes) * self.num_processes

    def __iter__(self) -> Iterator[list[Item]]:
        epoch = self.epoch
        order = np.random.default_rng([self.seed, epoch]).permutation(self.size)
        batches = -(-self.size // self.batch_pairs)
        for number in range(len(self)):
            start = number % batches * self.batch_pairs
            yield [(epoch, int(pair)) for pair in order[start : start + self.batch_pairs]]


class PairCollator:
    """Makes a batch of token ids from numbers of pairs, scrambling the words of some pairs.

    Scrambling: with probability `scramble`, drawn once for each pair and epoch, the words of both its sentences are
    put in random order, each independently of the other (section 4.2 of Wieting and Gimpel 2017). The draws depend on
    the seed, the epoch and the pair alone, so neither worker processes nor a resumed run change them.

    Args:
        pairs: The pairs.
        pad_token_id: Fills up short sentences.
        scramble: The probability.
        seed: The seed.
    """

    def __init__(self, pairs: EncodedPairs, *, pad_token_id: int, scramble: float = 0.0, seed: int = 0) -> None:
        self.pairs = pairs
        self.pad_token_id = pad_token_id
        self.scramble = scramble
        self.seed = seed

    def __call__(self, items: Sequence[Item]) -> dict[str, Tensor]:
        """Makes a batch.

        Args:
            items: The epoch and the number of each pair.

        Returns:
            `input_ids` and `attention_mask` (2 * pairs, length), int64, first all first sentences, then their
            partners in the same order, and `keys` (2 * pairs,), the numbers of the unscrambled token sequences.
        """
        pairs = np.array([pair for _, pair in items], np.int64)
        rows = np.concatenate([2 * pairs, 2 * pairs + 1])
        starts = self.pairs.offsets[rows]
        lengths = self.pairs.offsets[rows + 1] - starts
        sentence = np.repeat(np.arange(len(rows)), lengths)
        position = np.arange(len(sentence)) - np.repeat(lengths.cumsum() - lengths, lengths)
        tokens = self.pairs.tokens[np.repeat(starts, lengths) + position]
        if self.scramble > 0:
            tokens = tokens[self._order([epoch for epoch, _ in items], pairs, lengths)]
        ids = np.full((len(rows), int(lengths.max())), self.pad_token_id, np.int64)
        ids[sentence, position] = tokens
        mask = np.arange(ids.shape[1]) < lengths[:, None]
        return {
            "input_ids": torch.from_numpy(ids),
            "attention_mask": torch.from_numpy(mask.astype(np.int64)),
            "keys": torch.from_numpy(self.pairs.keys[rows]),
        }

    def _order(self, epochs: list[int], pairs: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Computes the order of the tokens (total,) in which scrambled sentences are permuted and others are not."""
        ends = lengths.cumsum()
        order = np.arange(ends[-1])
        for place, (epoch, pair) in enumerate(zip(epochs, pairs, strict=True)):
            generator = np.random.default_rng([self.seed, epoch, int(pair)])
            if generator.random() >= self.scramble:
                continue
            for row in (place, place + len(pairs)):
                generator.shuffle(order[ends[row] - lengths[row] : ends[row]])
        return order
