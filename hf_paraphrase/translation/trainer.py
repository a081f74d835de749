"""A Trainer that trains a translation model and chooses the checkpoint by BLEU on the dev set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import DataLoader
from transformers import (
    DataCollatorForSeq2Seq,
    EvalPrediction,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from ..messages import log
from ..training.callbacks import EpochOfBatches, LastStep, keep_standard_output
from ..training.devices import take_one_gpu
from ..training.epoch_trainer import training_batches
from ..training.processes import refuse_sharding
from .batching import MaxiBatchSampler, TokenizedPair, lengths_of, tokenize_bitext
from .beam_search import translate
from .bitext import BitextSides, trainable_rows
from .evaluate import corpus_scores

if TYPE_CHECKING:
    from datasets import Dataset

ALL_WORDS = 10_000
"""Words of the longest dev sentence that is translated."""


@dataclass
class TranslationTrainingArguments(TrainingArguments):
    """`TrainingArguments` with the defaults of `train-nmt`, and what becomes of a bitext before it is trained on.

    Adam with a linear warm-up and a cosine decay to zero. The loss is the mean over the target units of a batch, and
    the global norm of its gradient is clipped to 1. Twenty times, the last one behind the last update, the dev set is
    translated and a checkpoint written; the weights of the highest BLEU are loaded at the end.

    Attributes:
        warmup_steps: None is for 400, or a tenth of the run if that is shorter.
    """

    per_device_train_batch_size: int = 80
    learning_rate: float = 1e-3
    lr_scheduler_type: Any = "cosine"
    warmup_steps: float | None = None
    optim: Any = "adamw_torch_fused"
    max_grad_norm: float = 1.0
    eval_strategy: Any = "steps"
    eval_steps: float | None = 0.05
    save_strategy: Any = "steps"
    save_steps: float = 0.05
    save_total_limit: int | None = 1
    load_best_model_at_end: bool = True
    metric_for_best_model: str | None = "bleu"
    greater_is_better: bool | None = True
    logging_steps: float = 50
    logging_nan_inf_filter: bool = False
    # The columns are turned into units.
    remove_unused_columns: bool = False
    accelerator_config: Any = field(default_factory=lambda: {"even_batches": False})
    ddp_find_unused_parameters: bool | None = False
    max_words: int = field(default=80, metadata={"help": "pairs with a longer side are left out, in words"})
    max_units: int | None = field(default=None, metadata={"help": "the same in sub-word units"})

    def __post_init__(self) -> None:
        """Checks and completes the settings as `TrainingArguments` do, which know no warm-up that is not given."""
        refuse_sharding(self)
        given = self.warmup_steps
        self.warmup_steps = 0.0 if given is None else given
        super().__post_init__()
        self.warmup_steps = given

    def get_warmup_steps(self, num_training_steps: int) -> int:
        """Returns the steps of warm-up of a run of so many steps."""
        if self.warmup_steps is None:
            # A run that ends in its warm-up has hardly learned.
            return min(400, math.ceil(num_training_steps / 10))
        return super().get_warmup_steps(num_training_steps)


class TranslationTrainer(Trainer):
    """A Trainer with length-bucketed batches whose evaluation is BLEU of greedy translations.

    Data sets have the columns `source` and `target` (and `source_lang` and `target_lang`, where they are known); they
    are cleaned and turned into units once. `compute_metrics` is called with the translations as `predictions` and the
    references as `label_ids`, lists of texts; what it returns joins BLEU, so that `metric_for_best_model` may name it.
    The arguments may be :class:`TranslationTrainingArguments` or the Trainer's own; all else is as for the Trainer.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        args: TrainingArguments,
        *,
        train_dataset: Dataset | list[TokenizedPair] | None = None,
        eval_dataset: Dataset | BitextSides | None = None,
        processing_class: PreTrainedTokenizerBase,
        callbacks: Sequence[TrainerCallback] | None = None,
        **settings: Any,
    ) -> None:
        if train_dataset is not None and not isinstance(train_dataset, list):
            sides = trainable_rows(train_dataset, max_words=getattr(args, "max_words", ALL_WORDS))
            train_dataset = tokenize_bitext(
                processing_class,
                sides.sources,
                sides.targets,
                max_units=getattr(args, "max_units", None),
            )
        every = [LastStep()] if eval_dataset is not None and args.eval_strategy == "steps" else []
        take_one_gpu(args)
        super().__init__(
            model=model,
            args=args,
            data_collator=DataCollatorForSeq2Seq(processing_class),
            train_dataset=train_dataset,
            eval_dataset=_sides(eval_dataset),
            processing_class=processing_class,
            callbacks=[*every, *(callbacks or [])],
            **settings,
        )
        keep_standard_output(self)

    def train(self, resume_from_checkpoint: str | bool | None = None, **kwargs: Any) -> Any:
        """Trains; from a checkpoint behind the last update, where the Trainer might make one more, loads the best."""
        if isinstance(resume_from_checkpoint, str):
            state = TrainerState.load_from_json(str(Path(resume_from_checkpoint) / "trainer_state.json"))
            if state.global_step >= state.max_steps > 0 and state.best_model_checkpoint is not None:
                self.state = state
                self._load_best_model()
                return None
        return super().train(resume_from_checkpoint=resume_from_checkpoint, **kwargs)

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Returns batches of similar length, shuffled again every epoch by the seed."""
        dataset = self.train_dataset
        assert isinstance(dataset, list)
        sampler = MaxiBatchSampler(
            lengths_of(dataset),
            self.args.per_device_train_batch_size,
            seed=self.args.seed,
            processes=self.args.world_size,
            drops_last=self.args.dataloader_drop_last,
        )
        batches = len(sampler) // self.args.world_size
        self.pop_callback(EpochOfBatches)
        self.add_callback(
            EpochOfBatches(sampler.set_epoch, math.ceil(batches / self.args.gradient_accumulation_steps))
        )
        return training_batches(self, dataset, sampler)

    def evaluate(
        self,
        eval_dataset: Dataset | BitextSides | None = None,
        ignore_keys: list[str] | None = None,
        metric_key_prefix: str = "eval",
    ) -> dict[str, float]:
        """Translates the dev set greedily and returns `eval_bleu` (case-insensitive, in percent) and other metrics."""
        dev = self.eval_dataset if eval_dataset is None else _sides(eval_dataset)
        if dev is None:
            raise ValueError("there is no eval_dataset to translate")
        model = self.accelerator.unwrap_model(self.model, keep_torch_compile=False)
        with torch.autocast(model.device.type, torch.bfloat16, enabled=self.args.bf16):
            translations = translate(model, self.processing_class, dev.sources, num_beams=1)
        scores = {"bleu": corpus_scores(translations, dev.targets)["bleu"]}
        if self.compute_metrics is not None:
            scores |= self.compute_metrics(EvalPrediction(predictions=translations, label_ids=dev.targets))
        metrics = {f"{metric_key_prefix}_{name.removeprefix('eval_')}": value for name, value in scores.items()}
        self.log(metrics)
        control: TrainerControl = self.control  # type: ignore[has-type]
        self.control = self.callback_handler.on_evaluate(self.args, self.state, control, metrics)
        log(f"epoch {self.state.epoch or 0:.2f}: dev BLEU {scores['bleu']:.2f}")
        return metrics

    def _issue_warnings_after_load(self, load_result: Any) -> None:
        # A tied weight is stored once and so is never missing; transformers warns of it all the same.
        tied = set(getattr(self.model, "all_tied_weights_keys", None) or {})
        missing = [key for key in load_result.missing_keys if key not in tied]
        super()._issue_warnings_after_load(load_result._replace(missing_keys=missing))


def _sides(bitext: Dataset | BitextSides | None) -> BitextSides | None:
    if bitext is None or isinstance(bitext, BitextSides):
        return bitext
    return trainable_rows(bitext, max_words=ALL_WORDS)
