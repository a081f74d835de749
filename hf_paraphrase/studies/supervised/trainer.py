"""Trains a head and its encoder together on classes or scores, held close to the encoder's own parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from torch import Tensor, nn
from transformers import PreTrainedModel

from ...training.batches import EpochBatches, Item
from ...training.epoch_trainer import EpochTrainer, EpochTrainingArguments
from .scores import Scores, class_scores, criterion, graded_scores
from .sentence_classification import ClassifierInputs, predicted_classes, predicted_logits, predicted_scores

_WORD_VECTORS = "embeddings"
CRITERION = "criterion"
"""The key of what the epoch is chosen by: accuracy in per cent, or Pearson's r × 100."""


@dataclass
class SupervisedTrainingArguments(EpochTrainingArguments):
    """`TrainingArguments` of supervised training.

    A batch is `per_device_train_batch_size` rows on each process.
    """

    per_device_train_batch_size: int = field(default=25, metadata={"help": "rows in a batch on each process"})
    learning_rate: float = field(default=1e-3, metadata={"help": "learning rate of Adam"})
    num_train_epochs: float = field(default=10.0, metadata={"help": "passes over the training part"})
    lambda_w: float = field(default=0.0, metadata={"help": "weight of the word vectors' distance from their start"})
    lambda_c: float = field(default=0.0, metadata={"help": "weight of the encoder's other parameters' distance"})


class SupervisedTrainer(EpochTrainer):
    """Trains a `SentenceClassifier`, its encoder included, by the loss of its objective and two penalties.

        0.5 λ_w ‖W − W₀‖² + 0.5 λ_c ‖θ_c − θ_c₀‖²

    are added, where W are the encoder's word vectors, θ_c its other parameters, and W₀ and θ_c₀ their values when the
    trainer was made: "Regularize to Unsupervised Representations" of paper 001; the form is that of Wieting et al.
    2016. Encoder parameters without gradient are left alone.

    After each epoch the dev part is evaluated; the weights of the best epoch by accuracy or Pearson's r are in the
    model when :meth:`train` returns, the earliest of equals.
    """

    criterion = CRITERION

    def __init__(
        self,
        model: PreTrainedModel,
        args: SupervisedTrainingArguments,
        train: ClassifierInputs,
        dev: ClassifierInputs,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self.inputs = train
        self.dev = dev
        batches = EpochBatches(len(train), args.per_device_train_batch_size, args.seed, args.world_size)
        super().__init__(model, args, batches, self._collate, dev_size=len(dev), report=report)
        # On the device by now.
        self.start = {name: value.detach().clone() for name, _, value in self._penalized()}

    def _collate(self, items: Sequence[Item]) -> dict[str, Tensor]:
        rows = np.array([row for _, row in items], np.int64)
        return self.inputs.batch(rows, self.model.config.pad_token_id or 0)

    def _penalized(self) -> Iterator[tuple[str, float, Tensor]]:
        """Yields name, weight and value of the parameters with a penalty."""
        model = self.accelerator.unwrap_model(self.model)
        for name, value in model.encoder.named_parameters():
            weight = self.args.lambda_w if name == _WORD_VECTORS else self.args.lambda_c
            if weight > 0 and value.requires_grad:
                yield name, weight, value

    def penalty(self) -> Tensor | float:
        """Computes the penalties for the parameters as they are now."""
        total: Tensor | float = 0.0
        for name, weight, value in self._penalized():
            total = total + 0.5 * weight * (value - self.start[name]).square().sum()
        return total

    def loss_of(self, output: Any, model: nn.Module, inputs: dict[str, Any]) -> Tensor:
        """Returns the loss of the objective with the penalties."""
        return super().loss_of(output, model, inputs) + self.penalty()

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Evaluates the dev part and reports it."""
        scores = self.measure(self.dev)
        found = criterion(scores)
        metrics = {f"eval_{name}": value for name, value in {CRITERION: found, **scores}.items()}
        name = "accuracy" if "accuracy" in scores else "Pearson × 100"
        return self.report_scores(metrics, f"epoch {self.state.epoch or 0:g}: dev {name} {found:.2f}")

    def measure(self, inputs: ClassifierInputs) -> Scores:
        """Evaluates a part whose targets are known."""
        assert inputs.targets is not None
        model = self.accelerator.unwrap_model(self.model)
        logits = predicted_logits(model, inputs)
        if model.config.objective == "classification":
            return class_scores(predicted_classes(logits)[0], inputs.targets, model.config.num_labels)
        return graded_scores(predicted_scores(model, logits), inputs.targets.astype(np.float64))
