"""How a step of encoder training computes its loss: from a batch of all processes, or from a mega-batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import InputError
from ..training.processes import gather_rows, joint_sides, mean_over_processes, num_processes, process_index
from .collator import PairCollator
from .losses import LABELS, NEGATIVES, asks_for, compositional_penalty, drift_penalty
from .mega_batches import MegaBatch, MegaBatchSchedule, pooled_sentences, search_pool
from .negatives import NONE, choose_negatives
from .scored_trainer import ScoredTrainer

DROPOUTS = ("dropout", "word_dropout", "variational_dropout")
"""The settings of encoders' configurations that make training mode random."""


class BatchLossTrainer(ScoredTrainer):
    """A trainer whose steps compute a loss of pairs; :class:`~.trainer.EncoderTrainer` gives it what it needs.

    Attributes:
        initial_embeddings: Where the word vectors started, if they are drawn back there.
        forward_options: Further arguments of the model's `forward`.
    """

    loss: nn.Module
    collator: PairCollator
    schedule: MegaBatchSchedule
    mega_batch: MegaBatch | None = None
    initial_embeddings: Tensor | None = None
    forward_options: dict[str, Any]

    def get_batch_samples(
        self, epoch_iterator: Iterator[dict[str, Any]], num_batches: int, device: torch.device
    ) -> tuple[list[dict[str, Any]], Tensor | int | None]:
        """Takes the batches of one update and notes the `place` of each: the epoch and its number in the epoch."""
        samples, items = super().get_batch_samples(epoch_iterator, num_batches, device)
        epoch, update = divmod(self.state.global_step, self.updates_of_epoch)
        for number, sample in enumerate(samples, update * self.args.gradient_accumulation_steps):
            sample["place"] = (epoch, number)
        return samples, items

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """Computes the loss of one batch: paper 000, equations 2 to 5.

        With several processes all return the loss of the joint batch, and the mean of their gradients is its gradient.

        Args:
            model: The encoder, possibly wrapped.
            inputs: A batch of :class:`~.collator.PairCollator`, with its `place` (epoch, number) in the epoch. A batch
                without a place is not part of a mega-batch: its negatives come from itself.
            return_outputs: Also return the sentence embeddings (2 * pairs, dim) of this process.
            num_items_in_batch: Unused: the loss is a mean over the pairs of a batch.
        """
        place: tuple[int, int] | None = inputs.get("place")
        start, end = (0, 1) if place is None else self.schedule.bounds(*place)
        if place is None or end - start == 1:
            loss, vectors = self._loss_in_batch(model, inputs)
        else:
            loss, vectors = self._loss_in_mega_batch(model, inputs, *place, start, end)
        augmentation = self.collator.augmentation
        if augmentation.weight > 0:
            term = augmentation.loss(lambda ids, mask: self._embed(model, ids, mask), inputs, vectors)
            if place is not None and num_processes() > 1:
                term = self._shared_out(term, place[1])
            loss = loss + augmentation.weight * term
        if self.args.lambda_c > 0:
            compositional = [item for name, item in self.model.named_parameters() if name != "embeddings"]
            loss = loss + compositional_penalty(compositional, self.args.lambda_c)
        if self.initial_embeddings is not None:
            embeddings = self.model.get_parameter("embeddings")
            self.initial_embeddings = self.initial_embeddings.to(embeddings.device)
            loss = loss + drift_penalty(embeddings, self.initial_embeddings, self.args.lambda_w)
        return (loss, vectors) if return_outputs else loss

    def _embed(self, model: nn.Module, ids: Tensor, mask: Tensor) -> Tensor:
        """Computes the embeddings (sentences, dim) of padded sentences (sentences, length)."""
        vectors: Tensor = model(input_ids=ids, attention_mask=mask, **self.forward_options).pooler_output
        return vectors

    def _loss_in_batch(self, model: nn.Module, inputs: dict[str, Any]) -> tuple[Tensor, Tensor]:
        """Computes the loss of the joint batch, with negatives from it, and the embeddings of this process."""
        tokens = {name: inputs[name] for name in ("input_ids", "attention_mask")}
        vectors = joint = model(**tokens, **self.forward_options).pooler_output
        keys, labels = inputs["keys"], inputs.get("labels")
        pairs = len(keys) // 2
        if num_processes() > 1:
            if "place" in inputs:
                begin, end = self.batches.share(inputs["place"][1], process_index())
                pairs = end - begin
            joint, keys = joint_sides(vectors, pairs), joint_sides(keys, pairs)
        given: dict[str, Tensor] = {}
        if asks_for(self.loss, LABELS):
            assert labels is not None
            given[LABELS] = gather_rows(labels[:pairs])
        if asks_for(self.loss, NEGATIVES):
            clean = self._vectors_without_dropout(model, tokens, vectors)
            given[NEGATIVES] = choose_negatives(
                clean if num_processes() == 1 else joint_sides(clean, pairs),
                keys,
                negatives=self.args.negatives,
                negatives_from=self.args.negatives_from,
                generator=torch.Generator().manual_seed((self.args.seed << 32) + self.state.global_step),
            )
        return self.loss(joint, **given), vectors

    def _loss_in_mega_batch(
        self, model: nn.Module, inputs: dict[str, Any], epoch: int, number: int, start: int, end: int
    ) -> tuple[Tensor, Tensor]:
        """Computes the loss of a mini-batch with negatives from its mega-batch, and its embeddings."""
        pool = self.mega_batch
        if pool is None or (pool.epoch, pool.start, pool.end) != (epoch, start, end):
            if number != start:
                raise InputError(
                    f"the checkpoint lacks the negatives of mini-batches {start} to {end}, which were running",
                    path=self.args.output_dir,
                    remedy="resume with the settings of the interrupted run, or start from scratch",
                )
            pool = self.mega_batch = self._pool(model, epoch, start, end)
        begin, stop = self.batches.share(number, process_index())
        ids, mask, chosen = pool.part(begin, max(stop, begin + 1), self.collator.pad_token_id)
        if begin == stop:
            chosen = torch.full_like(chosen, NONE)
        device = self.args.device
        vectors = model(ids.to(device), mask.to(device), **self.forward_options).pooler_output
        given = {LABELS: inputs[LABELS]} if asks_for(self.loss, LABELS) else {}
        loss = self._shared_out(self.loss(vectors, negatives=chosen.to(device), **given), number)
        return loss, vectors[: len(chosen)]

    def _pool(self, model: nn.Module, epoch: int, start: int, end: int) -> MegaBatch:
        """Encodes the mini-batches from `start` up to `end` and chooses negatives; the processes share the work."""
        first, sentences = pooled_sentences(self.batches, self.collator, epoch, start, end)
        bare = self.accelerator.unwrap_model(model)
        training = bare.training
        bare.eval()
        try:
            chosen = search_pool(
                sentences,
                lambda ids, mask: self._embed(bare, ids.to(self.args.device), mask.to(self.args.device)),
                batch_size=2 * self.batches.batch_pairs,
                pad_token_id=self.collator.pad_token_id,
                negatives=self.args.negatives,
                negatives_from=self.args.negatives_from,
                seed=(self.args.seed << 32) + epoch * self.batches.joint_batches + start,
            )
        finally:
            bare.train(training)
        return MegaBatch(epoch, start, end, first, sentences, chosen)

    def _shared_out(self, loss: Tensor, number: int) -> Tensor:
        """Turns the mean over this process's part of a joint batch into that over the whole."""
        # The gradients that the processes average, each weighted by the size of its part, are those of the joint loss.
        loss = loss * self.batches.weight(number, process_index())
        if num_processes() > 1:
            loss = loss + (mean_over_processes(loss) - loss.detach())
        return loss

    @torch.no_grad()
    def _vectors_without_dropout(self, model: nn.Module, tokens: dict[str, Tensor], vectors: Tensor) -> Tensor:
        if not model.training or not any(getattr(self.model.config, name, 0.0) for name in DROPOUTS):
            return vectors.detach()
        bare = self.accelerator.unwrap_model(model)
        bare.eval()
        try:
            return bare(**tokens, **self.forward_options).pooler_output
        finally:
            bare.train()
