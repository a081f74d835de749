"""What the trainers of classifiers and autoencoders have in common: arguments, batches by epoch, Adam, dev scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader
from transformers import PreTrainedModel, Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from .accelerators import take_one_gpu_aloud
from .arguments import ADAM, BATCHES_AND_LOSS, EVERY_EPOCH, refuse_without_effect
from .batches import EpochBatches, PairItems
from .callbacks import keep_standard_output
from .loader import training_batches
from .processes import process_index


@dataclass
class EpochTrainingArguments(TrainingArguments):
    """`TrainingArguments` of Adam at a constant rate, with dev scores and a checkpoint at the end of every epoch.

    Attributes:
        criterion: The dev score by which the best epoch is kept, the earliest of equals; None to keep the last one.

    Raises:
        ValueError: If a setting would have no effect.
    """

    lr_scheduler_type: Any = field(default="constant", metadata={"help": "schedule of the learning rate"})
    max_grad_norm: float = field(default=0.0, metadata={"help": "clip the gradient's norm to this; 0 does not clip"})
    criterion: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        refuse_without_effect(self, {**EVERY_EPOCH, **ADAM, **BATCHES_AND_LOSS})
        self.logging_strategy = self.save_strategy = "epoch"
        self.save_total_limit = 1
        if self.criterion is not None:
            self.keep_best(self.criterion)
        super().__post_init__()

    def keep_best(self, criterion: str) -> None:
        """Has the dev part measured at the end of every epoch, and the weights of the best one kept."""
        self.eval_strategy = "epoch"
        self.load_best_model_at_end = True
        self.metric_for_best_model = f"eval_{criterion}"
        self.greater_is_better = True


class EpochTrainer(Trainer):
    """A Trainer whose batches, orders and draws depend on the seed and the epoch alone.

    A run that is continued from a checkpoint therefore ends with the weights of an undisturbed one. A class says what
    a batch is and how `evaluate` measures the dev part, and hands what it found to :meth:`report_scores`.

    Several processes share joint batches; each weighs its loss by the size of its part, so that the mean of their
    gradients is that of the mean over all items of the joint batch.

    Args:
        model: The model.
        args: The settings.
        batches: The batches of the training part, by number of the item.
        collate: Makes a batch of (epoch, number) of items.
        dev_size: How many items the dev part has; None without one.
        report: Called with a line of text after each evaluation.

    Attributes:
        criterion: The name of the score that every evaluation has; the epoch is chosen by it where one is.
        forward_options: What else the model's `forward` is told.
    """

    criterion: ClassVar[str]
    forward_options: ClassVar[dict[str, Any]] = {}
    loss_is_scaled_for_ga = False
    optimizer: Any
    control: Any

    def __init__(
        self,
        model: PreTrainedModel,
        args: TrainingArguments,
        batches: EpochBatches,
        collate: Callable[..., dict[str, Tensor]],
        *,
        dev_size: int | None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self.batches = batches
        self.report = report
        take_one_gpu_aloud(args)
        super().__init__(
            model=model,
            args=args,
            data_collator=collate,
            train_dataset=PairItems(batches.size),
            # The Trainer insists on a set before it calls `evaluate`, which reads the dev part itself.
            eval_dataset=None if dev_size is None else PairItems(dev_size),
        )
        keep_standard_output(self)
        self.add_callback(_EpochBegin(self))

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Returns the batches of this process; they are made in it, because draws may change with the epoch."""
        return training_batches(self, self.train_dataset, self.batches)

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        """Makes Adam over all parameters that have a gradient."""
        if self.optimizer is None:
            parameters = [item for item in (model or self.model).parameters() if item.requires_grad]
            self.optimizer = self.adam(
                parameters,
                lr=self.args.learning_rate,
                betas=(self.args.adam_beta1, self.args.adam_beta2),
                eps=self.args.adam_epsilon,
            )
        return self.optimizer

    @property
    def adam(self) -> Callable[..., torch.optim.Optimizer]:
        """The kind of Adam."""
        return torch.optim.Adam

    @property
    def updates_of_epoch(self) -> int:
        """Updates of the model in an epoch."""
        return -(-self.batches.joint_batches // self.args.gradient_accumulation_steps)

    def get_batch_samples(
        self, epoch_iterator: Iterator[dict[str, Any]], num_batches: int, device: torch.device
    ) -> tuple[list[dict[str, Any]], Tensor | int | None]:
        """Takes the batches of one update; of several processes each notes the `weight` of its parts."""
        samples, items = super().get_batch_samples(epoch_iterator, num_batches, device)
        if self.batches.num_processes > 1:
            first = self.state.global_step % self.updates_of_epoch * self.args.gradient_accumulation_steps
            for number, sample in enumerate(samples, first):
                sample["weight"] = self.batches.weight(number, process_index())
        return samples, items

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """Computes the mean loss of a batch, by its `weight` if it has one; `num_items_in_batch` is unused."""
        weight = inputs.get("weight")
        inputs = {name: value for name, value in inputs.items() if name != "weight"}
        output = model(**inputs, **self.forward_options)
        loss = self.loss_of(output, model, inputs)
        loss = loss if weight is None else loss * weight
        return (loss, output) if return_outputs else loss

    def loss_of(self, output: Any, model: nn.Module, inputs: dict[str, Any]) -> Tensor:
        """Returns the loss of a batch; classes add their penalties to that of the model.

        Args:
            output: What the model gave for the batch.
            model: The model, possibly wrapped.
            inputs: The batch.
        """
        loss: Tensor = output.loss
        return loss

    def begin_epoch(self, epoch: int) -> None:
        """Sets the order of an epoch, counted from 0."""
        self.batches.set_epoch(epoch)

    def report_scores(self, metrics: dict[str, float], line: str) -> dict[str, float]:
        """Logs dev scores, lets the Trainer choose by them, and reports them in a line; returns the scores.

        Args:
            metrics: The scores by their names with `eval_` before them.
            line: What they are, for the user.
        """
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        if self.report is not None and self.is_world_process_zero():
            self.report(line)
        return metrics

    def scores(self) -> list[dict[str, float]]:
        """Lists for every evaluation `epoch`, `step` and the dev scores."""
        found = [entry for entry in self.state.log_history if f"eval_{self.criterion}" in entry]
        return [{name.removeprefix("eval_"): value for name, value in entry.items()} for entry in found]

    def best_scores(self) -> dict[str, float] | None:
        """Returns the entry of :meth:`scores` whose weights are kept, the earliest of equals; None without any."""
        return max(self.scores(), key=lambda entry: entry[self.criterion], default=None)


class _EpochBegin(TrainerCallback):
    def __init__(self, trainer: EpochTrainer) -> None:
        self.trainer = trainer

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self.trainer.begin_epoch(state.global_step // self.trainer.updates_of_epoch)
