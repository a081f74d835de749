"""Which items make which batch: an order of its own for every epoch, shared by all processes."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Dataset, Sampler

from ..errors import UsageError

Item = tuple[int, int]
"""An epoch (from 0) and the number of a pair."""
_BATCHES_PER_MAXI_BATCH = 20
"""Batches that are sorted together, as many as in the reference code of the translation model (paper 000)."""


class PairItems(Dataset[Item]):
    """A data set that hands each request through to the collator, which reads a whole batch at once."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, item: Item) -> Item:
        return item


class EpochBatches:
    """Batches of shuffled pairs; every epoch has its own order, which depends on the seed and the epoch alone.

    Processes share one order: it is cut into joint batches of `batch_pairs` pairs for each process, whose parts are as
    equal as can be. A process without a pair of the last joint batch gets one of weight 0.
    """

    def __init__(self, size: int, batch_pairs: int, seed: int, num_processes: int = 1) -> None:
        self.size = size
        # Not `batch_size`: accelerate takes a sampler with that attribute to have batches of one size.
        self.batch_pairs = batch_pairs
        self.seed = seed
        self.num_processes = num_processes
        self.epoch = 0
        self.drop_last = False
        self._order: tuple[int, NDArray[np.int64]] | None = None

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch (from 0) whose order is given next."""
        self.epoch = epoch

    @property
    def joint_batches(self) -> int:
        """The number of joint batches in an epoch, i.e. of batches on each process."""
        whole, rest = divmod(self.size, self.batch_pairs * self.num_processes)
        return whole + (rest > 0 and not self.drop_last)

    def leave_out_last(self) -> None:
        """Leaves out the last joint batch of every epoch where it is smaller than the others."""
        if self.size < self.batch_pairs * self.num_processes:
            raise UsageError(f"dataloader_drop_last leaves nothing of {self.size} examples", remedy="leave it out")
        self.drop_last = True

    def order(self, epoch: int) -> NDArray[np.int64]:
        """Returns the numbers of the pairs in the order of an epoch (pairs,)."""
        if self._order is None or self._order[0] != epoch:
            self._order = epoch, np.random.default_rng([self.seed, epoch]).permutation(self.size)
        return self._order[1]

    def joint(self, number: int) -> tuple[int, int]:
        """Returns where a joint batch begins and ends in the order of the epoch."""
        start = number * self.batch_pairs * self.num_processes
        return start, min(start + self.batch_pairs * self.num_processes, self.size)

    def share(self, number: int, process: int) -> tuple[int, int]:
        """Returns where the part of one process of a joint batch begins and ends in the order; they may be equal."""
        start, end = self.joint(number)
        pairs = end - start
        return start + pairs * process // self.num_processes, start + pairs * (process + 1) // self.num_processes

    def weight(self, number: int, process: int) -> float:
        """Returns the factor of a process's mean loss that makes the mean over processes that over the batch."""
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


class MaxiBatchSampler(Sampler[list[int]]):
    """Mini-batches of similar length: maxi-batches are shuffled, sorted by length and cut (the reference's way).

    Every epoch draws a new order from `seed` and the epoch's number alone, so a resumed run sees the same batches.
    Several processes take turns at the mini-batches. All take the same number, or the last ones would wait for ever:
    some of the first mini-batches come again at the end.
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
