"""The settings of encoder training beyond those of the Trainer."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from ..training.epoch_trainer import EpochTrainingArguments
from .train_settings import LossSettings


@dataclass
class EncoderTrainingArguments(LossSettings, EpochTrainingArguments):
    """`TrainingArguments` with the settings of the loss; defaults as in paper 000, section 5.2.

    A batch is `per_device_train_batch_size` pairs on each process. Negatives come from the batches of all processes,
    or from the mega-batch of `mega_batch_size` such batches. The learning rate is constant, and gradients are not
    clipped. Where `eval_strategy` and `save_strategy` are `epoch`, the end of an epoch and `evaluations_per_epoch` - 1
    equal fractions of it count. With an evaluator, or with `compute_metrics`, `metric_for_best_model` chooses the
    weights among its scores (`dev_mean`, or its only one, if none is named).
    """

    per_device_train_batch_size: int = field(default=100, metadata={"help": "pairs in a batch on each process"})
    learning_rate: float = field(default=1e-3, metadata={"help": "learning rate of Adam"})
    save_total_limit: int | None = field(default=2, metadata={"help": "checkpoints kept: the best and the last one"})
    logging_nan_inf_filter: bool = field(
        default=False,
        metadata={"help": "hide a loss that is not finite; a GPU is waited for in every step to find one"},
    )
    ddp_find_unused_parameters: bool | None = field(
        default=False, metadata={"help": "look for parameters without gradient; no encoder here has any"}
    )

    def __post_init__(self) -> None:
        LossSettings(**{item.name: getattr(self, item.name) for item in fields(LossSettings)}).check()
        super().__post_init__()
