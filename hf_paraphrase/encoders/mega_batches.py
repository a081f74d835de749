"""Mega-batches: pools of mini-batches whose negatives are chosen together, before their updates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor

from ..training.batches import EpochBatches
from ..training.processes import gather_rows, num_processes, process_index
from .encoded_pairs import PairCollator, Sentences
from .negatives import NONE, choose_negatives

_FILE = "mega_batch.safetensors"


@dataclass
class MegaBatch:
    """A pool of mini-batches with the negatives that were chosen in it.

    Attributes:
        epoch: The epoch, from 0.
        start: The number in the epoch of the first mini-batch.
        end: The number of the first mini-batch that is no longer of the pool.
        first: The place of the first pair in the order of the epoch.
        pairs: The number of pairs.
        sentences: The sentences as the updates see them, i.e. scrambled: first all first sentences, then their
            partners in the same order, then the negatives that they were given.
        chosen: The number of each sentence's negative among them (2 * pairs,), or :data:`~.negatives.NONE`.
    """

    epoch: int
    start: int
    end: int
    first: int
    pairs: int
    sentences: Sentences
    chosen: NDArray[np.int64]

    @classmethod
    def of(cls, batches: EpochBatches, collator: PairCollator, epoch: int, start: int, end: int) -> MegaBatch:
        """Pools the mini-batches from `start` up to `end`, whose negatives are to be chosen."""
        first, last = batches.joint(start)[0], batches.joint(end - 1)[1]
        pairs = batches.order(epoch)[first:last]
        sentences = collator.sentences([epoch] * len(pairs), pairs)
        return cls(epoch, start, end, first, len(pairs), sentences, np.full(2 * len(pairs), NONE, np.int64))

    @torch.no_grad()
    def choose(
        self,
        embed: Callable[[Tensor, Tensor], Tensor],
        *,
        batch_size: int,
        pad_token_id: int | None,
        negatives_from: str,
    ) -> None:
        """Encodes the sentences and chooses the negative of each; the processes share both."""
        processes, process, size = num_processes(), process_index(), 2 * self.pairs
        by_length = np.diff(self.sentences.offsets).argsort(kind="stable")
        own = by_length[process::processes]
        parts = []
        for begin in range(0, max(len(own), 1), batch_size):
            parts.append(embed(*self.sentences.padded(own[begin : begin + batch_size], pad_token_id)))
        encoded = gather_rows(torch.cat(parts))
        vectors = torch.empty_like(encoded)
        dealt = np.concatenate([by_length[turn::processes] for turn in range(processes)])
        vectors[torch.from_numpy(dealt).to(vectors.device)] = encoded
        share = range(size * process // processes, size * (process + 1) // processes)
        keys = self.sentences.keys
        chosen = choose_negatives(vectors, keys, pairs=self.pairs, negatives_from=negatives_from, rows=share)
        self.chosen = gather_rows(chosen).cpu().numpy()

    def part(self, begin: int, end: int, pad_token_id: int | None) -> tuple[Tensor, Tensor, Tensor]:
        """Makes a mini-batch of some pairs, from one place in the order of the epoch to another.

        Returns `input_ids` and `attention_mask` (2 * pairs + others, length), each sentence once: first sentences,
        partners, and the negatives that are neither; and the row of each sentence's negative (2 * pairs,), or NONE.
        """
        pairs = np.arange(begin, end) - self.first
        own = np.concatenate([pairs, pairs + self.pairs])
        negatives = self.chosen[own]
        exists = negatives != NONE
        rows = np.concatenate([own, np.setdiff1d(negatives[exists], own)])
        order = rows.argsort()
        chosen = np.full(len(own), NONE, np.int64)
        chosen[exists] = order[np.searchsorted(rows, negatives[exists], sorter=order)]
        ids, mask = self.sentences.padded(rows, pad_token_id)
        return ids, mask, torch.from_numpy(chosen)

    def save(self, folder: Path) -> None:
        """Writes what a resumed run could not choose again, because the weights have moved on since."""
        bounds = torch.tensor([self.epoch, self.start, self.end])
        folder.mkdir(parents=True, exist_ok=True)
        save_file({"bounds": bounds, "chosen": torch.from_numpy(self.chosen)}, folder / _FILE)


def load_mega_batch(folder: Path, batches: EpochBatches, collator: PairCollator) -> MegaBatch | None:
    """Reads the mega-batch that was running when a checkpoint was written; None if none was."""
    path = folder / _FILE
    if not path.is_file():
        return None
    saved = load_file(path)
    pool = MegaBatch.of(batches, collator, *saved["bounds"].tolist())
    pool.chosen = saved["chosen"].numpy()
    return pool
