"""Batches of examples, in a new order for every epoch that all processes share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Dataset

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
    def joint_size(self) -> int:
        """The number of pairs in a joint batch."""
        return self.batch_pairs * self.num_processes

    @property
    def joint_batches(self) -> int:
        """The number of joint batches in an epoch, i.e. of batches on each process."""
        whole, rest = divmod(self.size, self.joint_size)
        return whole + (rest > 0 and not self.drop_last)

    def leave_out_last(self) -> None:
        """Drop an incomplete last joint batch from every epoch."""
        if self.size < self.joint_size:
            raise UsageError(f"dataloader_drop_last drops all {self.size} examples", remedy="leave it out")
        self.drop_last = True

    def order(self, epoch: int) -> NDArray[np.int64]:
        """Return the rows of the pairs in the order of an epoch (pairs,)."""
        if self._order is None or self._order[0] != epoch:
            self._order = epoch, self._draw_order(np.random.default_rng([self.seed, epoch]))
        return self._order[1]

    def _draw_order(self, generator: np.random.Generator) -> NDArray[np.int64]:
        return generator.permutation(self.size)

    def joint(self, index: int) -> tuple[int, int]:
        """Return the start and end of a joint batch in the order of the epoch."""
        start = index * self.joint_size
        return start, min(start + self.joint_size, self.size)

    def share(self, index: int, process: int) -> tuple[int, int]:
        """Return the start and end of one process's part of a joint batch in the order; it may be empty."""
        start, end = self.joint(index)
        pairs = end - start
        return start + pairs * process // self.num_processes, start + pairs * (process + 1) // self.num_processes

    def weight(self, index: int, process: int) -> float:
        """Return the weight of a process's mean loss in the mean loss of a joint batch."""
        start, end = self.joint(index)
        begin, stop = self.share(index, process)
        return self.num_processes * (stop - begin) / (end - start)

    def __len__(self) -> int:
        return self.joint_batches * self.num_processes

    def __iter__(self) -> Iterator[list[Item]]:
        epoch = self.epoch
        order = self.order(epoch)
        for index in range(len(self)):
            start, end = self.share(*divmod(index, self.num_processes))
            yield [(epoch, int(pair)) for pair in order[start : max(end, start + 1)]]


class LengthBatches(EpochBatches):
    """Batches of examples of similar length, in an order that depends on the seed and the epoch alone.

    Examples are shuffled, and each 20 joint batches of them sorted by length. The joint batches are shuffled again,
    except for the last, which has the remainder.
    """

    def __init__(self, lengths: NDArray[np.int64], batch_pairs: int, seed: int, num_processes: int = 1) -> None:
        super().__init__(len(lengths), batch_pairs, seed, num_processes)
        self.lengths = lengths

    def _draw_order(self, generator: np.random.Generator) -> NDArray[np.int64]:
        order = generator.permutation(self.size)
        for start in range(0, self.size, self.joint_size * _BATCHES_PER_POOL):
            pool = order[start : start + self.joint_size * _BATCHES_PER_POOL]
            pool[:] = pool[np.argsort(self.lengths[pool], kind="stable")]
        whole = self.size // self.joint_size * self.joint_size
        batches = order[:whole].reshape(-1, self.joint_size)
        order[:whole] = batches[generator.permutation(len(batches))].reshape(-1)
        return order
