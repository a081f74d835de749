"""The settings of encoder training beyond those of the Trainer."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from transformers import TrainingArguments

from ..training.arguments import ADAM, BATCHES_AND_LOSS, Settled, refuse_without_effect
from .train_settings import LossSettings

_NEVER = 1 << 60
_SAVING = "a checkpoint is written at every mark, of which an epoch has `evaluations_per_epoch`"
_SCORING = (
    "give EncoderTrainer an evaluator, which is asked at every mark, of which an epoch has `evaluations_per_epoch`"
)
_KEEPING = "give EncoderTrainer an evaluator: the weights of its best score are then kept"
_SETTLED: Settled = {
    **ADAM,
    **BATCHES_AND_LOSS,
    "load_best_model_at_end": ((False,), _KEEPING),
    "save_strategy": (("steps",), _SAVING),
    "save_steps": ((500, _NEVER), _SAVING),
    "eval_strategy": (("no",), _SCORING),
    "eval_steps": ((None,), _SCORING),
}
"""What `EncoderTrainer` settles itself."""


def leave_saving_to_the_trainer(arguments: TrainingArguments) -> None:
    """Settles when a trainer of encoders measures and keeps weights: it decides that itself.

    Raises:
        ValueError: If a setting would have no effect.
    """
    refuse_without_effect(arguments, _SETTLED)
    # An interval that nobody reaches leaves it the choice.
    arguments.save_strategy = "steps"
    arguments.save_steps = _NEVER
    arguments.eval_strategy = "no"


@dataclass
class EncoderTrainingArguments(LossSettings, TrainingArguments):
    """`TrainingArguments` with the settings of the loss; defaults as in paper 000, section 5.2.

    A batch is `per_device_train_batch_size` pairs on each process. Negatives come from the batches of all processes,
    or from the mega-batch of `mega_batch_size` such batches. The learning rate is constant, and gradients are not
    clipped. When weights are kept and scored is not up to `save_strategy`, `eval_strategy` and the like but to
    `evaluations_per_epoch` and the trainer's evaluator, of whose scores `metric_for_best_model` chooses the weights
    (`dev_mean`, or its only one, if none is named); another value than the default of such a setting is refused, and
    so are settings that ask for another optimizer than Adam or for another loss, and `dataloader_drop_last`.

    Raises:
        ValueError: If a setting is out of its range or would have no effect.
    """

    per_device_train_batch_size: int = field(default=100, metadata={"help": "pairs in a batch on each process"})
    learning_rate: float = field(default=1e-3, metadata={"help": "learning rate of Adam"})
    lr_scheduler_type: Any = field(default="constant", metadata={"help": "schedule of the learning rate"})
    max_grad_norm: float = field(default=0.0, metadata={"help": "clip the gradient's norm to this; 0 does not clip"})
    logging_strategy: Any = field(default="epoch", metadata={"help": "when the loss is logged"})
    logging_nan_inf_filter: bool = field(
        default=False,
        metadata={"help": "hide a loss that is not finite; a GPU is waited for in every step to find one"},
    )
    ddp_find_unused_parameters: bool | None = field(
        default=False, metadata={"help": "look for parameters without gradient; no encoder here has any"}
    )

    def __post_init__(self) -> None:
        LossSettings(**{item.name: getattr(self, item.name) for item in fields(LossSettings)}).check()
        leave_saving_to_the_trainer(self)
        super().__post_init__()
