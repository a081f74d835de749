"""Batches of examples, in a new order for every epoch that all processes share."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Dataset, Sampler

from ..errors import UsageError

Item = tuple[int, int]
"""An epoch (from 0) and the row of a pair."""
_BATCHES_PER_POOL = 20
"""The number of batches that are sorted together, as in the reference code of the translation model."""


class PairItems(Dataset[Item]):
    """A data set that passes requests to the collator, which reads a whole batch at once."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, item: Item) -> Item:
        return item


class EpochBatches:
    """Batches of shuffled pairs, in an order that depends on the seed and the epoch alone.

    Processes share one order. It is cut into joint batches of `batch_pairs` pairs per process, and each joint batch
    into parts of nearly equal size. A process without a pair of the last joint batch gets a pair of weight 0.
    """

    def __init__(self, size: int, batch_pairs: int, seed: int, num_processes: int = 1) -> None:
        self.size = size
        # Not `batch_size`: accelerate expects a sampler with that attribute to have batches of one size.
        self.batch_pairs = batch_pairs
        self.seed = seed
        self.num_processes = num_processes
        self.epoch = 0
        self.drop_last = False
        self._order: tuple[int, NDArray[np.int64]] | None = None

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch (from 0) of the next iteration."""
        self.epoch = epoch

    @property
    def joint_batches(self) -> int:
        """The number of joint batches in an epoch, i.e. of batches on each process."""
        whole, rest = divmod(self.size, self.batch_pairs * self.num_processes)
        return whole + (rest > 0 and not self.drop_last)

    def leave_out_last(self) -> None:
        """Drop an incomplete last joint batch from every epoch."""
        if self.size < self.batch_pairs * self.num_processes:
            raise UsageError(f"dataloader_drop_last drops all {self.size} examples", remedy="leave it out")
        self.drop_last = True

    def order(self, epoch: int) -> NDArray[np.int64]:
        """Return the rows of the pairs in the order of an epoch (pairs,)."""
        if self._order is None or self._order[0] != epoch:
            self._order = epoch, np.random.default_rng([self.seed, epoch]).permutation(self.size)
        return self._order[1]

    def joint(self, number: int) -> tuple[int, int]:
        """Return the start and end of a joint batch in the order of the epoch."""
        start = number * self.batch_pairs * self.num_processes
        return start, min(start + self.batch_pairs * self.num_processes, self.size)

    def share(self, number: int, process: int) -> tuple[int, int]:
        """Return the start and end of one process's part of a joint batch in the order; it may be empty."""
        start, end = self.joint(number)
        pairs = end - start
        return start + pairs * process // self.num_processes, start + pairs * (process + 1) // self.num_processes

    def weight(self, number: int, process: int) -> float:
        """Return the weight of a process's mean loss in the mean loss of a joint batch."""
        start, end = self.joint(number)
        begin, stop = self.share(number, process)
        return self.num_processes * (stop - begin) / (end - start)

    def __len__(self) -> int:
        return self.joint_batches * self.num_processes

    def __iter__(self) -> Iterator[list[Item]]:
        epoch = self.epoch
        order = self.order(epoch)
        for number in range(len(self)):
            start, end = self.share(*divmod(number, self.num_processes))
            yield [(epoch, int(pair)) for pair in order[start : max(end, start + 1)]]


class LengthBatches(EpochBatches):
    """Batches of examples of similar length, in an order that depends on the seed and the epoch alone.

    Joint batches are cut from :func:`order_by_length` and shuffled. The last batch has the remainder.
    """

    def __init__(self, lengths: NDArray[np.int64], batch_pairs: int, seed: int, num_processes: int = 1) -> None:
        super().__init__(len(lengths), batch_pairs, seed, num_processes)
        self.lengths = lengths

    def order(self, epoch: int) -> NDArray[np.int64]:
        """Return the row of each example in the order of an epoch (examples,)."""
        if self._order is None or self._order[0] != epoch:
            generator = np.random.default_rng([self.seed, epoch])
            joint = self.batch_pairs * self.num_processes
            order = order_by_length(self.lengths, joint, generator)
            whole = self.size // joint * joint
            batches = order[:whole].reshape(-1, joint)
            order[:whole] = batches[generator.permutation(len(batches))].reshape(-1)
            self._order = epoch, order
        return self._order[1]


class MaxiBatchSampler(Sampler[list[int]]):
    """Batches of pairs of similar length, as the reference code of the translation model makes them.

    Batches are cut from :func:`order_by_length` and shuffled, the remainder among them. The order depends on the
    seed and the epoch alone, so a resumed run reads the same batches. Several processes take turns at the batches.
    Some of the first batches come again at the end, so that all processes take the same number of steps.
    """

    def __init__(self, lengths: np.ndarray, pairs_per_batch: int, *, seed: int = 0, processes: int = 1) -> None:
        self.lengths = lengths
        self.pairs_per_batch = pairs_per_batch
        self.seed = seed
        self.processes = processes
        self.epoch = 0
        # Accelerate calls `set_epoch` here if it wraps this sampler to skip batches after a resume.
        self.sampler = self

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of the given epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        batches = math.ceil(len(self.lengths) / self.pairs_per_batch)
        return math.ceil(batches / self.processes) * self.processes

    def __iter__(self) -> Iterator[list[int]]:
        generator = np.random.default_rng([self.seed, self.epoch])
        order = order_by_length(self.lengths, self.pairs_per_batch, generator)
        batches = np.split(order, range(self.pairs_per_batch, len(order), self.pairs_per_batch))
        shuffled = generator.permutation(len(batches))
        for position in range(len(self)):
            yield batches[shuffled[position % len(batches)]].tolist()


def order_by_length(lengths: NDArray[np.int64], batch_size: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Shuffle examples and sort each 20 batches of them by length; return their rows (examples,)."""
    order = generator.permutation(len(lengths))
    for start in range(0, len(order), batch_size * _BATCHES_PER_POOL):
        pool = order[start : start + batch_size * _BATCHES_PER_POOL]
        pool[:] = pool[np.argsort(lengths[pool], kind="stable")]
    return order
