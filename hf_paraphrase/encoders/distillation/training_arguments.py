"""The settings of a distillation beyond those of the Trainer."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from ...errors import UsageError
from ...settings import Settings, setting
from ...training.epoch_trainer import EpochTrainingArguments


@dataclass(kw_only=True)
class ObjectiveSettings(Settings):
    """What a student learns from its teachers, and how fast."""

    GROUP: ClassVar[str] = "loss"

    cosine_weight: float = setting(
        "weight of 1 - cos(student, teachers), the mean over texts; where the sizes differ, through a projection with "
        "orthonormal columns, which changes no cosine and is thrown away",
        1.0,
        at_least=0,
    )
    pairwise_weight: float = setting(
        "weight of the mean squared difference between the cosines of two students and of their teachers, over all "
        "pairs of a batch",
        0.0,
        at_least=0,
    )
    matryoshka: list[int] = setting(
        "train the first N components, too, so that vectors can be cut to them: e.g. 32 64 128", [], at_least=1
    )
    network_learning_rate: float = setting(
        "learning rate of what is not a table: recurrent layers, the projection", 1e-3, above=0
    )
    evaluations_per_epoch: int = setting("dev scores and checkpoints in an epoch", 1, at_least=1)

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if self.cosine_weight == self.pairwise_weight == 0:
            raise UsageError("--cosine-weight and --pairwise-weight are both 0", remedy="give one of them a weight")


@dataclass
class DistillationTrainingArguments(ObjectiveSettings, EpochTrainingArguments):
    """`TrainingArguments` with the settings of the objectives.

    The learning rate falls to zero in a straight line, and gradients are not clipped. Where `eval_strategy` and
    `save_strategy` are `epoch`, the end of an epoch and `evaluations_per_epoch` - 1 equal fractions of it count.
    """

    per_device_train_batch_size: int = field(default=1024, metadata={"help": "texts in a batch"})
    learning_rate: float = field(default=1e-2, metadata={"help": "learning rate of tables of vectors"})
    num_train_epochs: float = field(default=6.0, metadata={"help": "passes over the texts"})
    lr_scheduler_type: Any = field(default="linear", metadata={"help": "schedule of the learning rates"})
    # With 0.999 the first steps of a rare row are three times as long: its moments start from nothing.
    adam_beta2: float = field(default=0.99, metadata={"help": "decay of the second moment"})
    save_total_limit: int | None = field(default=2, metadata={"help": "checkpoints kept: the best and the last one"})

    def __post_init__(self) -> None:
        ObjectiveSettings(**{item.name: getattr(self, item.name) for item in fields(ObjectiveSettings)}).check()
        super().__post_init__()
