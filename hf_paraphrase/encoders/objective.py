"""What a trainer of encoders minimises: the interface, and the loss of pairs of a batch or a mega-batch.

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
from .negatives import NO_NEGATIVE, PairGroups, admissible_negatives, choose_negatives

_FILE = "objective.safetensors"


class Objective(nn.Module, ABC):
    """What :class:`~.trainer.EncoderTrainer` minimises: which items an epoch has, what a batch of them is, its loss.

    Weights of its own are trained with the model, in one process, and kept in checkpoints, not in the model.

    Attributes:
        batches: Which items are in which batch.
    """

    batches: EpochBatches

    @abstractmethod
    def collate(self, items: Sequence[Item]) -> dict[str, Any]:
        """Make a batch from the epoch and the number of each item."""

    @abstractmethod
    def compute(self, trainer: Any, model: nn.Module, inputs: dict[str, Any]) -> tuple[Tensor, Tensor]:
        """Compute the loss of a batch, with gradient, and the embeddings of this process.

        In training a batch has its `place`: the epoch and its number in the epoch.
        """

    def begin(self) -> None:
        """Is called when a training starts."""

    def after_update(self) -> None:
        """Is called when the weights have changed."""

    def save(self, folder: Path) -> None:
        """Write into a checkpoint what a resumed run needs of it."""
        if state := self.state_dict():
            save_file({name: value.contiguous() for name, value in state.items()}, folder / _FILE)

    def load(self, folder: Path) -> None:
        """Read from a checkpoint what :meth:`save` wrote."""
        if (folder / _FILE).is_file():
            self.load_state_dict(load_file(folder / _FILE))


@dataclass
class MegaBatch:
    """A pool of mini-batches with the negatives that were chosen in it.

    Attributes:
        place: The epoch, and the number of its first mini-batch.
        first: The place of its first pair in the order of the epoch.
        sentences: First sentences, scrambled or not, then their partners, then the negatives that they were given.
        chosen: The number of each sentence's negative among them (2 * pairs,), or :data:`~.negatives.NO_NEGATIVE`.
    """

    place: tuple[int, int]
    first: int
    sentences: Sentences
    chosen: NDArray[np.int64]

    def part(self, begin: int, end: int, pad_token_id: int | None) -> tuple[Tensor, Tensor, Tensor]:
        """Make a mini-batch of some pairs, from one place in the order of the epoch to another.

        Returns `input_ids` and `attention_mask` (2 * pairs + others, length), each sentence once: first sentences,
        partners, and the negatives that are neither; and the row of each sentence's negative (2 * pairs,).
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
    """The loss of pairs (paper 000, equations 2 to 5), with negatives from the batch or from a mega-batch.

    With several processes the batch is the joint one of all processes, and so are the negatives: all return the loss
    of the joint batch, and the mean of their gradients is its gradient. `lambda_w` draws word vectors back to `start`.
    """

    mega_batch: MegaBatch | None = None

    def __init__(self, collator: PairCollator, loss: nn.Module, args: Any, start: Tensor | None = None) -> None:
        super().__init__()
        self.collator = collator
        self.loss = loss
        self.args = args
        self.asked = {name for name in (NEGATIVES, CANDIDATES, LABELS, GIVEN_NEGATIVES) if loss_requires(loss, name)}
        self.batches = EpochBatches(len(collator.pairs), args.per_device_train_batch_size, args.seed, args.world_size)
        self._initial = None if start is None else start.detach().clone()
        if args.mega_batch_size > 1 and (NEGATIVES not in self.asked or CANDIDATES in self.asked):
            raise UsageError("the loss searches no negatives: mega_batch_size must be 1", remedy="leave it out")
        if LABELS in self.asked and collator.pairs.labels is None:
            raise InputError("the loss needs labels, but the pairs have none", remedy="give labelled pairs")
        if GIVEN_NEGATIVES in self.asked and collator.pairs.negatives is None:
            remedy = "give a column `negative`, or --hard-negatives"
            raise InputError("the loss needs negatives, but the pairs have none", remedy=remedy)
        if GIVEN_NEGATIVES in self.asked and num_processes() > 1:
            raise UsageError("this loss trains in one process only", remedy="start one process, or use another loss")

    def collate(self, items: Sequence[Item]) -> dict[str, Any]:
        """Make a batch from the epoch and the number of each pair."""
        return self.collator(items)

    def begin(self) -> None:
        """Forget the mega-batch: its place may come again, with other weights."""
        self.mega_batch = None

    def compute(self, trainer: Any, model: nn.Module, inputs: dict[str, Any]) -> tuple[Tensor, Tensor]:
        """Compute the loss of one batch; one without a place is not part of a mega-batch."""
        place: tuple[int, int] | None = inputs.get("place")
        size = self.args.mega_batch_size
        start = 0 if place is None else place[1] // size * size
        end = min(start + size, self.batches.joint_batches)
        if place is None or end - start == 1:
            loss, vectors = self._in_batch(trainer, model, inputs)
        else:
            loss, vectors = self._in_mega_batch(trainer, model, inputs, start, end)
        bare = trainer.accelerator.unwrap_model(model)
        if self.args.lambda_c > 0:
            # The factor 0.5 stands in the reference code, not in paper 000 (equation 3), where the weight is 0.
            others = [item.square().sum() for name, item in bare.named_parameters() if name != "embeddings"]
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
        clean = trainer.vectors_without_dropout(model, ids, mask, vectors) if NEGATIVES in self.asked else vectors
        keys, joint_pairs, counted = inputs["keys"], pairs, pairs
        if num_processes() > 1:
            begin, end = self.batches.share(inputs["place"][1], process_index())
            start, stop = self.batches.joint(inputs["place"][1])
            counted, joint_pairs = end - begin, stop - start

            def of_all(rows: Tensor) -> Tensor:
                """Make the rows of the joint batch: first sentences, partners, given negatives."""
                joint = joint_sides(rows[: 2 * pairs], counted)
                if self.collator.pairs.negatives is None:
                    return joint
                return torch.cat([joint, gather_rows(rows[2 * pairs :] if counted else rows[:0])])

            joint, clean = of_all(vectors), of_all(clean)
            keys = of_all(torch.from_numpy(keys).to(vectors.device)).cpu().numpy()
        given: dict[str, Tensor] = {}
        if LABELS in self.asked:
            given[LABELS] = gather_rows(inputs["labels"][:counted])
        if GIVEN_NEGATIVES in self.asked:
            given[GIVEN_NEGATIVES] = inputs[GIVEN_NEGATIVES].to(vectors.device)
        if CANDIDATES in self.asked:
            relations = PairGroups(keys, joint_pairs)
            given[CANDIDATES] = admissible_negatives(
                relations, len(keys), 0, 2 * joint_pairs, negatives_from="both", device=vectors.device
            )
        if NEGATIVES in self.asked:
            given[NEGATIVES] = choose_negatives(
                clean.detach(), keys, pairs=joint_pairs, negatives_from=self.args.negatives_from
            )
        return self.loss(joint, **given), vectors

    def _in_mega_batch(
        self, trainer: Any, model: nn.Module, inputs: dict[str, Any], start: int, end: int
    ) -> tuple[Tensor, Tensor]:
        """Compute the loss of a mini-batch with negatives from its mega-batch, and its embeddings."""
        epoch, number = inputs["place"]
        pool, pad_token_id = self.mega_batch, self.collator.pad_token_id
        if pool is None or pool.place != (epoch, start):
            pool = self.mega_batch = self._mega_batch(trainer, model, epoch, start, end)
        begin, stop = self.batches.share(number, process_index())
        ids, mask, chosen = pool.part(begin, max(stop, begin + 1), pad_token_id)
        if begin == stop:
            chosen = torch.full_like(chosen, NO_NEGATIVE)
        vectors = trainer.embed(model, ids, mask)
        given = {LABELS: inputs["labels"]} if LABELS in self.asked else {}
        loss = self.loss(vectors, negatives=chosen.to(vectors.device), **given)
        # The gradients that the processes average, each weighted by the size of its part, are those of the joint loss.
        loss = loss * self.batches.weight(number, process_index())
        if num_processes() > 1:
            loss = loss + (mean_over_processes(loss) - loss.detach())
        return loss, vectors

    @torch.no_grad()
    def _mega_batch(self, trainer: Any, model: nn.Module, epoch: int, start: int, end: int) -> MegaBatch:
        """Encode the sentences of mini-batches and choose the negative of each; the processes share both."""
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
        share = range(total * process // processes, total * (process + 1) // processes)
        chosen = choose_negatives(
            vectors, sentences.keys, pairs=len(pairs), negatives_from=self.args.negatives_from, rows=share
        )
        return MegaBatch((epoch, start), first, sentences, gather_rows(chosen).cpu().numpy())
