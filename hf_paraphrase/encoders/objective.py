"""The objective of a trainer of encoders: its interface, and the loss of pairs of a batch or a mega-batch.

A mega-batch is a pool of mini-batches whose negatives are chosen together, before their updates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from ..errors import InputError, UsageError
from ..training.batches import EpochBatches, Item
from ..training.processes import gather_rows, joint_sides, mean_over_processes, num_processes, process_index
from .backends.padded_batches import evaluation_mode
from .encoded_pairs import PairCollator, Sentences
from .losses import CANDIDATES, GIVEN_NEGATIVES, LABELS, NEGATIVES, loss_requires
from .negatives import NO_NEGATIVE, PairGroups, choose_negatives

_FILE = "objective.safetensors"


class Objective(nn.Module, ABC):
    """Defines the batches of an epoch and their loss for :class:`~.trainer.EncoderTrainer`.

    Its own weights are trained with the model, in one process, and saved in checkpoints, but not in the model folder.

    Attributes:
        batches: The items of each batch.
    """

    batches: EpochBatches

    @abstractmethod
    def collate(self, items: Sequence[Item]) -> dict[str, Any]:
        """Make a batch from the epoch and the index of each item."""

    @abstractmethod
    def compute(self, trainer: Any, model: nn.Module, inputs: dict[str, Any]) -> tuple[Tensor, Tensor]:
        """Compute the loss of a batch, with gradient, and the embeddings of this process.

        In training, `inputs["position"]` is the epoch and the index of the batch in the epoch.
        """

    def begin(self) -> None:
        """Prepare for the start of a training."""

    def after_update(self) -> None:
        """Respond to an update of the weights."""

    def save(self, folder: Path) -> None:
        """Write the weights into a checkpoint, if it has any."""
        if state := self.state_dict():
            save_file({name: value.contiguous() for name, value in state.items()}, folder / _FILE)

    def load(self, folder: Path) -> None:
        """Read the weights from a checkpoint."""
        if (folder / _FILE).is_file():
            self.load_state_dict(load_file(folder / _FILE))


@dataclass
class MegaBatch:
    """A pool of mini-batches with the negatives that were chosen in it.

    Attributes:
        position: The epoch, and the index of its first mini-batch.
        first: The index of its first pair in the order of the epoch.
        sentences: First sentences, scrambled or not, then their partners, then their negatives in the data.
        chosen: The row of each sentence's negative (2 * pairs,), or :data:`~.negatives.NO_NEGATIVE`.
    """

    position: tuple[int, int]
    first: int
    sentences: Sentences
    chosen: NDArray[np.int64]

    def part(self, begin: int, end: int, pad_token_id: int | None) -> tuple[Tensor, Tensor, Tensor]:
        """Make a mini-batch of the pairs `begin` to `end` in the order of the epoch.

        Returns `input_ids` and `attention_mask` (2 * pairs + others, length) with each sentence once: first sentences,
        partners, and the negatives outside the mini-batch; and the row of each sentence's negative (2 * pairs,).
        """
        pairs = np.arange(begin, end) - self.first
        own = np.concatenate([pairs, pairs + len(self.chosen) // 2])
        negatives = self.chosen[own]
        exists = negatives != NO_NEGATIVE
        rows = np.concatenate([own, np.setdiff1d(negatives[exists], own)])
        order = rows.argsort()
        chosen = np.full(len(own), NO_NEGATIVE, np.int64)
        chosen[exists] = order[np.searchsorted(rows, negatives[exists], sorter=order)]
        ids, mask = self.sentences.padded(rows, pad_token_id)
        return ids, mask, torch.from_numpy(chosen)


class PairObjective(Objective):
    """The loss of pairs (Wieting et al. 2017, equations 2 to 5), with negatives from the batch or a mega-batch.

    Several processes share the batch and its negatives: all return the loss of the joint batch, and the mean of their
    gradients is its gradient. `lambda_w` pulls word vectors back to `start`.
    """

    mega_batch: MegaBatch | None = None

    def __init__(self, collator: PairCollator, loss: nn.Module, args: Any, start: Tensor | None = None) -> None:
        super().__init__()
        self.collator = collator
        self.loss = loss
        self.args = args
        self.required = {
            name for name in (NEGATIVES, CANDIDATES, LABELS, GIVEN_NEGATIVES) if loss_requires(loss, name)
        }
        self.batches = EpochBatches(len(collator.pairs), args.per_device_train_batch_size, args.seed, args.world_size)
        self._initial = None if start is None else start.detach().clone()
        if args.mega_batch_size > 1 and (NEGATIVES not in self.required or CANDIDATES in self.required):
            raise UsageError("the loss searches no negatives: mega_batch_size must be 1", remedy="leave it out")
        if LABELS in self.required and collator.pairs.labels is None:
            raise InputError("the loss needs labels, but the pairs have none", remedy="give labelled pairs")
        if GIVEN_NEGATIVES in self.required and collator.pairs.negatives is None:
            remedy = "give a column `negative`, or --hard-negatives"
            raise InputError("the loss needs negatives, but the pairs have none", remedy=remedy)
        if GIVEN_NEGATIVES in self.required and num_processes() > 1:
            raise UsageError("this loss trains in one process only", remedy="start one process, or use another loss")

    def collate(self, items: Sequence[Item]) -> dict[str, Any]:
        """Make a batch from the epoch and the index of each pair."""
        return self.collator(items)

    def begin(self) -> None:
        """Drop the mega-batch, whose negatives were chosen with other weights."""
        self.mega_batch = None

    def compute(self, trainer: Any, model: nn.Module, inputs: dict[str, Any]) -> tuple[Tensor, Tensor]:
        """Compute the loss of a batch, in its mega-batch if it has a position."""
        position: tuple[int, int] | None = inputs.get("position")
        size = self.args.mega_batch_size
        start = 0 if position is None else position[1] // size * size
        end = min(start + size, self.batches.joint_batches)
        if position is None or end - start == 1:
            loss, vectors = self._in_batch(trainer, model, inputs)
        else:
            loss, vectors = self._in_mega_batch(trainer, model, inputs, start, end)
        bare = trainer.accelerator.unwrap_model(model)
        if self.args.lambda_c > 0:
            # The reference code has the factor 0.5; equation 3 of Wieting et al. (2017) does not.
            others = [weight.square().sum() for name, weight in bare.named_parameters() if name != "embeddings"]
            loss = loss + 0.5 * self.args.lambda_c * sum(others)
        if self._initial is not None:
            embeddings = bare.get_parameter("embeddings")
            self._initial = self._initial.to(embeddings.device)
            loss = loss + 0.5 * self.args.lambda_w * (embeddings - self._initial).square().sum()
        return loss, vectors

    def _in_batch(self, trainer: Any, model: nn.Module, inputs: dict[str, Any]) -> tuple[Tensor, Tensor]:
        """Compute the loss of the joint batch, with negatives from it, and the embeddings of this process."""
        ids, mask, pairs = inputs["input_ids"], inputs["attention_mask"], inputs["pairs"]
        vectors = joint = trainer.embed(model, ids, mask)
        clean = trainer.vectors_without_dropout(model, ids, mask, vectors) if NEGATIVES in self.required else vectors
        keys, joint_pairs, counted = inputs["keys"], pairs, pairs
        if num_processes() > 1:
            begin, end = self.batches.share(inputs["position"][1], process_index())
            start, stop = self.batches.joint(inputs["position"][1])
            counted, joint_pairs = end - begin, stop - start

            def of_all(rows: Tensor) -> Tensor:
                """Gather the rows of the joint batch: first sentences, partners, negatives in the data."""
                joint = joint_sides(rows[: 2 * pairs], counted)
                if self.collator.pairs.negatives is None:
                    return joint
                return torch.cat([joint, gather_rows(rows[2 * pairs :] if counted else rows[:0])])

            joint, clean = of_all(vectors), of_all(clean)
            keys = of_all(torch.from_numpy(keys).to(vectors.device)).cpu().numpy()
        given: dict[str, Tensor] = {}
        if LABELS in self.required:
            given[LABELS] = gather_rows(inputs["labels"][:counted])
        if GIVEN_NEGATIVES in self.required:
            given[GIVEN_NEGATIVES] = inputs[GIVEN_NEGATIVES].to(vectors.device)
        if CANDIDATES in self.required:
            given[CANDIDATES] = PairGroups(keys, joint_pairs).admissible(range(2 * joint_pairs), vectors.device)
        if NEGATIVES in self.required:
            given[NEGATIVES] = choose_negatives(
                clean.detach(), keys, pairs=joint_pairs, negatives_from=self.args.negatives_from
            )
        return self.loss(joint, **given), vectors

    def _in_mega_batch(
        self, trainer: Any, model: nn.Module, inputs: dict[str, Any], start: int, end: int
    ) -> tuple[Tensor, Tensor]:
        """Compute the loss of a mini-batch with negatives from its mega-batch, and its embeddings."""
        epoch, index = inputs["position"]
        pool, pad_token_id = self.mega_batch, self.collator.pad_token_id
        if pool is None or pool.position != (epoch, start):
            pool = self.mega_batch = self._mega_batch(trainer, model, epoch, start, end)
        begin, stop = self.batches.share(index, process_index())
        ids, mask, chosen = pool.part(begin, max(stop, begin + 1), pad_token_id)
        if begin == stop:
            chosen = torch.full_like(chosen, NO_NEGATIVE)
        vectors = trainer.embed(model, ids, mask)
        given = {LABELS: inputs["labels"]} if LABELS in self.required else {}
        loss = self.loss(vectors, negatives=chosen.to(vectors.device), **given)
        # The processes average their gradients, so each is weighted by the size of its part of the batch.
        loss = loss * self.batches.weight(index, process_index())
        if num_processes() > 1:
            loss = loss + (mean_over_processes(loss) - loss.detach())
        return loss, vectors

    @torch.no_grad()
    def _mega_batch(self, trainer: Any, model: nn.Module, epoch: int, start: int, end: int) -> MegaBatch:
        """Encode the sentences of mini-batches and choose their negatives, each in one of the processes."""
        first, last = self.batches.joint(start)[0], self.batches.joint(end - 1)[1]
        pairs = self.batches.order(epoch)[first:last]
        sentences = self.collator.sentences([epoch] * len(pairs), pairs)
        processes, process = num_processes(), process_index()
        by_length = np.diff(sentences.offsets).argsort(kind="stable")
        dealt = [by_length[turn::processes] for turn in range(processes)]
        own, size = dealt[process], 2 * self.batches.batch_pairs
        bare = trainer.accelerator.unwrap_model(model)
        with evaluation_mode(bare):
            parts = [
                trainer.embed(bare, *sentences.padded(own[begin : begin + size], self.collator.pad_token_id))
                for begin in range(0, max(len(own), 1), size)
            ]
        encoded = gather_rows(torch.cat(parts))
        vectors = torch.empty_like(encoded)
        vectors[torch.from_numpy(np.concatenate(dealt)).to(vectors.device)] = encoded
        total = 2 * len(pairs)
        own_rows = range(total * process // processes, total * (process + 1) // processes)
        chosen = choose_negatives(
            vectors, sentences.keys, pairs=len(pairs), negatives_from=self.args.negatives_from, rows=own_rows
        )
        return MegaBatch((epoch, start), first, sentences, gather_rows(chosen).cpu().numpy())
