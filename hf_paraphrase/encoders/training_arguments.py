"""The settings of encoder training beyond those of the Trainer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from transformers import TrainingArguments

from ..training.arguments import ADAM, BATCHES_AND_LOSS, Settled, refuse_without_effect
from .losses import LOSSES
from .negatives import NEGATIVES, NEGATIVES_FROM

_NEVER = 1 << 60
_SAVING = "a checkpoint is written at every mark, of which an epoch has `evaluations_per_epoch`"
_SCORING = "give EncoderTrainer a scorer, which is asked at every mark, of which an epoch has `evaluations_per_epoch`"
_CHOOSING = "the weights of the greatest `dev_mean` that EncoderTrainer's scorer returns are kept"
_KEEPING = "give EncoderTrainer a scorer: the weights of the greatest `dev_mean` that it returns are then kept"
_SETTLED: Settled = {
    **ADAM,
    **BATCHES_AND_LOSS,
    "load_best_model_at_end": ((False,), _KEEPING),
    "save_strategy": (("steps",), _SAVING),
    "save_steps": ((500, _NEVER), _SAVING),
    "eval_strategy": (("no",), _SCORING),
    "eval_steps": ((None,), _SCORING),
    "metric_for_best_model": ((None, "eval_dev_mean"), _CHOOSING),
    "greater_is_better": ((None, True), _CHOOSING),
}
"""What `EncoderTrainer` settles itself."""


@dataclass
class EncoderTrainingArguments(TrainingArguments):
    """`TrainingArguments` with the settings of the margin loss; defaults as in paper 000, section 5.2.

    A batch is `per_device_train_batch_size` pairs on each process. Negatives come from the batches of all processes,
    or from the mega-batch of `mega_batch_size` such batches. The learning rate is constant, and gradients are not
    clipped. When weights are kept and scored is not up to `save_strategy`, `eval_strategy` and the like but to
    `evaluations_per_epoch` and the trainer's scorer; another value than the default of such a setting is refused, and
    so are settings that ask for another optimizer than Adam or for another loss, and `dataloader_drop_last`.

    Raises:
        ValueError: If a setting is out of its range or would have no effect.
    """

    per_device_train_batch_size: int = field(default=100, metadata={"help": "pairs in a batch on each process"})
    learning_rate: float = field(default=1e-3, metadata={"help": "learning rate of Adam"})
    lr_scheduler_type: Any = field(default="constant", metadata={"help": "schedule of the learning rate"})
    max_grad_norm: float = field(default=0.0, metadata={"help": "clip the gradient's norm to this; 0 does not clip"})
    logging_strategy: Any = field(default="epoch", metadata={"help": "when the loss is logged"})
    ddp_find_unused_parameters: bool | None = field(
        default=False, metadata={"help": "look for parameters without gradient; no encoder here has any"}
    )
    loss: str = field(default="margin", metadata={"help": "the loss: margin or contrastive"})
    margin: float | None = field(
        default=None, metadata={"help": "margin of the loss, a difference of cosines; None for the loss's own"}
    )
    negatives: str = field(default="max", metadata={"help": "how a negative is chosen: max, random or mix"})
    negatives_from: str = field(default="both", metadata={"help": "where from: both sides or the opposite side"})
    mega_batch_size: int = field(
        default=1, metadata={"help": "mini-batches among whose sentences negatives are chosen; 1 is the batch itself"}
    )
    mega_batch_anneal: int = field(
        default=0, metadata={"help": "mini-batches after which the mega-batch grows by one, from 1; 0: constant size"}
    )
    scramble: float = field(default=0.0, metadata={"help": "probability that the words of a pair are scrambled"})
    lambda_c: float = field(default=0.0, metadata={"help": "weight of the compositional parameters' squared norm"})
    lambda_w: float = field(default=0.0, metadata={"help": "weight of the squared drift of the word vectors"})
    expansion_weight: float = field(
        default=0.0, metadata={"help": "weight of the compositionality loss between sentences and their expansions"}
    )
    evaluations_per_epoch: int = field(default=1, metadata={"help": "how often an epoch the dev set is scored"})
    dense_optimizer: bool = field(default=False, metadata={"help": "plain Adam over the whole table of word vectors"})

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            raise ValueError(f"loss must be one of {', '.join(LOSSES)}, not {self.loss!r}")
        if LOSSES[self.loss].needs_labels and self.mega_batch_size > 1:
            raise ValueError(f"the loss `{self.loss}` searches no negatives: mega_batch_size must be 1")
        if self.negatives not in NEGATIVES:
            raise ValueError(f"negatives must be one of {', '.join(NEGATIVES)}, not {self.negatives!r}")
        if self.negatives_from not in NEGATIVES_FROM:
            raise ValueError(f"negatives_from must be one of {', '.join(NEGATIVES_FROM)}, not {self.negatives_from!r}")
        if not 0.0 <= self.scramble <= 1.0:
            raise ValueError(f"scramble must be a probability, not {self.scramble}")
        if not self.expansion_weight >= 0:
            raise ValueError(f"expansion_weight must not be negative, not {self.expansion_weight}")
        if self.evaluations_per_epoch < 1:
            raise ValueError(f"evaluations_per_epoch must be at least 1, not {self.evaluations_per_epoch}")
        if self.mega_batch_size < 1:
            raise ValueError(f"mega_batch_size must be at least 1, not {self.mega_batch_size}")
        if self.mega_batch_anneal < 0:
            raise ValueError(f"mega_batch_anneal must not be negative, not {self.mega_batch_anneal}")
        if self.mega_batch_anneal and self.mega_batch_size == 1:
            raise ValueError("mega_batch_anneal needs a mega_batch_size above 1 to grow to")
        refuse_without_effect(self, _SETTLED)
        # `EncoderTrainer` decides when to keep weights; an interval that nobody reaches leaves it the choice.
        self.save_strategy = "steps"
        self.save_steps = _NEVER
        self.eval_strategy = "no"
        super().__post_init__()
