"""Trains the reference classifier on the Trainer of transformers, with negatives chosen again in every epoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from torch import Tensor, nn
from transformers import PreTrainedModel

from ...training.batches import EpochBatches, Item
from ...training.epoch_trainer import EpochTrainer, EpochTrainingArguments
from .reference_examples import Accuracy, ReferenceExamples, measure_accuracy
from .reference_lists import NEGATIVES

DEV_SCORE = "accuracy"
"""The key of the criterion by which the epoch is chosen."""
# Beside the epochs' own draws, which are numbered from 0.
_DEV_DRAW = 1 << 32


@dataclass
class ClassifierTrainingArguments(EpochTrainingArguments):
    """`TrainingArguments` of the reference classifier; defaults as in paper 000, section 5.6.1, where it gives them.

    A batch is `per_device_train_batch_size` sentences on each process; the paper does not say how many.
    """

    per_device_train_batch_size: int = field(default=100, metadata={"help": "sentences in a batch on each process"})
    learning_rate: float = field(default=1e-3, metadata={"help": "learning rate of Adam"})
    num_train_epochs: float = field(default=10.0, metadata={"help": "passes over the references"})
    negatives: str = field(default="random", metadata={"help": "how a translation is chosen: random or hardest"})
    embedding_penalty: float = field(default=0.0, metadata={"help": "weight of the word vectors' squared norm"})

    def __post_init__(self) -> None:
        if self.negatives not in NEGATIVES:
            raise ValueError(f"negatives must be one of {', '.join(NEGATIVES)}, not {self.negatives!r}")
        if self.embedding_penalty < 0:
            raise ValueError(f"embedding_penalty must not be negative, not {self.embedding_penalty}")
        super().__post_init__()


class ClassifierTrainer(EpochTrainer):
    """Trains a reference classifier by cross-entropy (paper 000, section 5.6.1).

    An epoch sees every reference once and, for each, one translation of its n-best list: drawn at random, or the one
    that looked most human to the model when the epoch began (in the first epoch the model knows nothing, and it is
    drawn). The loss of a batch is the mean cross-entropy plus 0.5 · `embedding_penalty` · ‖W‖², W being all word
    vectors: the paper's L2 regulariser, with the factor 0.5 of the authors' other code.

    After each epoch the accuracy on the dev part is measured, on one translation a reference that was drawn once; the
    weights of the best epoch are in the model when :meth:`train` returns, the earliest of equals.

    The order and all draws depend on the seed and the epoch alone, so a run that is continued from a checkpoint ends
    with the weights of an undisturbed one.
    """

    criterion = DEV_SCORE

    def __init__(
        self,
        model: PreTrainedModel,
        args: ClassifierTrainingArguments,
        train: ReferenceExamples,
        dev: ReferenceExamples,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self.examples = train
        self.dev = dev
        self.dev_choice = dev.choose("random", [args.seed, _DEV_DRAW])
        self.chosen = train.choose("random", [args.seed, 0])
        batches = EpochBatches(2 * len(train), args.per_device_train_batch_size, args.seed, args.world_size)
        super().__init__(model, args, batches, self._collate, dev_size=len(dev), report=report)

    def begin_epoch(self, epoch: int) -> None:
        """Sets the order and the translations of an epoch, counted from 0."""
        super().begin_epoch(epoch)
        model = self.accelerator.unwrap_model(self.model) if epoch else None
        self.chosen = self.examples.choose(self.args.negatives, [self.args.seed, epoch], model)

    def _collate(self, items: list[Item]) -> dict[str, Tensor]:
        numbers = np.array([number for _, number in items], np.int64)
        size = len(self.examples)
        rows = np.where(numbers < size, numbers, self.chosen[numbers % size])
        return self.examples.batch(rows, self.model.config.pad_token_id or 0)

    def loss_of(self, output: Any, model: nn.Module, inputs: dict[str, Any]) -> Tensor:
        """Returns the mean cross-entropy with the penalty on the word vectors."""
        loss = super().loss_of(output, model, inputs)
        if self.args.embedding_penalty > 0:
            embeddings = self.accelerator.unwrap_model(model).get_parameter("embeddings")
            loss = loss + 0.5 * self.args.embedding_penalty * embeddings.square().sum()
        return loss

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Measures the accuracy on the dev part and reports it."""
        accuracy = measure_accuracy(self.accelerator.unwrap_model(self.model), self.dev, self.dev_choice)
        metrics = {f"eval_{name}": float(value) for name, value in vars(accuracy).items()}
        return self.report_scores(metrics, f"epoch {self.state.epoch or 0:g}: dev accuracy {accuracy.accuracy:.2f}")

    def test(self, examples: ReferenceExamples) -> Accuracy:
        """Measures the accuracy on another part, on one translation a reference that is drawn with the seed."""
        chosen = examples.choose("random", [self.args.seed, _DEV_DRAW])
        return measure_accuracy(self.accelerator.unwrap_model(self.model), examples, chosen)
