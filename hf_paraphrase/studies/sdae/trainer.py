"""Trains the sequential denoising autoencoder on the Trainer of transformers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, Trainer

from ...encoders.negatives import normalize_rows
from ...training.batches import LengthBatches
from ...training.callbacks import LastStep, finished_state
from ...training.epoch_trainer import EpochTrainer, EpochTrainingArguments
from .batches import DEV_EPOCH, SdaeCollator

_DEV_BATCH = 64


class SdaeTrainer(EpochTrainer):
    """Train a denoising autoencoder for a number of updates; the last weights are kept.

    The loss is the reconstruction loss (the sum over a sentence, the mean over the sentences). Where batches hold
    originals and expansions, λ · mean(1 - cos(original, expanded)) is added (Moskvichev & Steyvers, section 2.1,
    which does not
    say what λ is). Order and noise depend on the seed and the epoch alone.
    """

    criterion = "loss"
    forward_options = {"return_token_vectors": False}  # noqa: RUF012
    # The one that the arguments name, which runs over all parameters at once.
    create_optimizer = Trainer.create_optimizer

    def __init__(
        self,
        model: PreTrainedModel,
        args: EpochTrainingArguments,
        train: SdaeCollator,
        dev: SdaeCollator,
        *,
        compositionality_weight: float = 1.0,
        report: Callable[[str], None] | None = None,
    ) -> None:
        batches = LengthBatches(
            train.sentences.tokens.lengths, args.per_device_train_batch_size, args.seed, args.world_size
        )
        self.dev, self.compositionality_weight = dev, compositionality_weight
        super().__init__(model, args, batches, train, dev_size=len(dev.sentences), report=report)
        self.add_callback(LastStep())

    def train(self, resume_from_checkpoint: str | bool | None = None, **kwargs: Any) -> Any:
        """Train; a checkpoint after the last update is only opened, where the Trainer would make one more."""
        state = finished_state(resume_from_checkpoint)
        if state is not None:
            self._load_from_checkpoint(resume_from_checkpoint)
            self.state = state
            return None
        return super().train(resume_from_checkpoint=resume_from_checkpoint, **kwargs)

    def loss_of(self, output: Any, model: nn.Module, inputs: dict[str, Any]) -> Tensor:
        """Return the reconstruction loss, with the compositionality loss where there are expansions."""
        loss = super().loss_of(output, model, inputs)
        compared = output.pooler_output[len(inputs["labels"]) :]
        if len(compared):
            loss = loss + self.compositionality_weight * expansion_distance(compared)
        return loss

    @torch.no_grad()
    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Measure the reconstruction loss on the dev sentences, in nats a word (the end counts as one)."""
        model = self.accelerator.unwrap_model(self.model)
        training = model.training
        model.eval()
        loss = 0.0
        size, device = len(self.dev.sentences), self.args.device
        numbers = self.dev.sentences.tokens.lengths.argsort(kind="stable").tolist()
        for start in range(0, size, _DEV_BATCH):
            items = [(DEV_EPOCH, number) for number in numbers[start : start + _DEV_BATCH]]
            batch = {name: item.to(device) for name, item in self.dev(items).items()}
            with torch.autocast(device.type, torch.bfloat16, enabled=self.args.bf16):
                output = model(**batch, **self.forward_options)
            loss += output.loss.item() * len(items)
        model.train(training)
        loss /= int(self.dev.sentences.tokens.lengths.sum()) + size
        perplexity = f"{math.exp(min(loss, 700.0)):,.1f}"
        line = f"step {self.state.global_step:,}: dev loss {loss:.3f} nats per word (perplexity {perplexity})"
        return self.report_scores({"eval_loss": loss}, line)


def expansion_distance(vectors: Tensor) -> Tensor:
    """Compute the compositionality loss, the mean of 1 - cos(original, expanded) (section 2.1).

    The originals come first, their expansions follow (2 * sentences, dim).
    """
    originals, expanded = (normalize_rows(side) for side in vectors.float().chunk(2))
    return (1.0 - (originals * expanded).sum(1)).mean()
