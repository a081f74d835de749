"""A Trainer that trains a translation model and chooses the checkpoint by BLEU on the dev set."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader
from transformers import (
    DataCollatorForSeq2Seq,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    Trainer,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from ..messages import log
from ..training.callbacks import EpochOfBatches, LastStep, keep_standard_output
from ..training.devices import take_one_gpu
from ..training.epoch_trainer import training_batches
from .batching import MaxiBatchSampler, TokenizedPair, lengths_of
from .beam_search import translate
from .bitext import BitextSides
from .evaluate import corpus_scores

_USUAL_WARMUP_STEPS = 400


class TranslationTrainer(Trainer):
    """A Trainer with length-bucketed batches of a tokenised bitext, whose evaluation is BLEU of greedy translations.

    Where the arguments have no `warmup_steps`, `usual_warmup` is for 400, or a tenth of the run if that is shorter.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        args: TrainingArguments,
        bitext: list[TokenizedPair],
        dev: BitextSides,
        tokenizer: PreTrainedTokenizerBase,
        *,
        usual_warmup: bool = False,
        **settings: Any,
    ) -> None:
        self.usual_warmup = usual_warmup
        take_one_gpu(args)
        super().__init__(
            model=model,
            args=args,
            data_collator=DataCollatorForSeq2Seq(tokenizer),
            train_dataset=bitext,
            eval_dataset=dev,
            processing_class=tokenizer,
            callbacks=[LastStep()],
            **settings,
        )
        keep_standard_output(self)

    def train(self, resume_from_checkpoint: str | bool | None = None, **kwargs: Any) -> Any:
        """Trains; from a checkpoint behind the last update, where the Trainer might make one more, loads the best."""
        if isinstance(resume_from_checkpoint, str):
            state = TrainerState.load_from_json(str(Path(resume_from_checkpoint) / "trainer_state.json"))
            if state.global_step >= state.max_steps > 0 and state.best_model_checkpoint is not None:
                self.state = state
                self._settle_warmup(state.max_steps)
                self._load_best_model()
                return None
        return super().train(resume_from_checkpoint=resume_from_checkpoint, **kwargs)

    def create_scheduler(self, num_training_steps: int, optimizer: torch.optim.Optimizer | None = None) -> Any:
        """Makes the schedule of the learning rate for a run of so many steps."""
        self._settle_warmup(num_training_steps)
        return super().create_scheduler(num_training_steps, optimizer)

    def _settle_warmup(self, steps: int) -> None:
        if self.usual_warmup:
            # A run that ends in its warm-up has hardly learned.
            self.args.warmup_steps = min(_USUAL_WARMUP_STEPS, math.ceil(steps / 10))

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Returns batches of similar length, shuffled again every epoch by the seed."""
        pairs: Any = self.train_dataset
        processes, size = self.args.world_size, self.args.per_device_train_batch_size
        sampler = MaxiBatchSampler(lengths_of(pairs), size, seed=self.args.seed, processes=processes)
        updates = math.ceil(len(sampler) // processes / self.args.gradient_accumulation_steps)
        self.add_callback(EpochOfBatches(sampler.set_epoch, updates))
        return training_batches(self, pairs, sampler)

    def evaluate(
        self, eval_dataset: Any = None, ignore_keys: list[str] | None = None, metric_key_prefix: str = "eval"
    ) -> dict[str, float]:
        """Translates the dev set greedily and returns `eval_bleu`, case-insensitive, in percent."""
        dev: Any = self.eval_dataset
        model = self.accelerator.unwrap_model(self.model, keep_torch_compile=False)
        with torch.autocast(model.device.type, torch.bfloat16, enabled=self.args.bf16):
            translations = translate(model, self.processing_class, dev.sources, num_beams=1)
        metrics = {f"{metric_key_prefix}_bleu": corpus_scores(translations, dev.targets)["bleu"]}
        self.log(metrics)
        control: TrainerControl = self.control  # type: ignore[has-type]
        self.control = self.callback_handler.on_evaluate(self.args, self.state, control, metrics)
        log(f"epoch {self.state.epoch or 0:.2f}: dev BLEU {metrics[f'{metric_key_prefix}_bleu']:.2f}")
        return metrics

    def _issue_warnings_after_load(self, load_result: Any) -> None:
        # A tied weight is stored once and so is never missing; transformers warns of it all the same.
        tied = set(getattr(self.model, "all_tied_weights_keys", None) or {})
        missing = [key for key in load_result.missing_keys if key not in tied]
        super()._issue_warnings_after_load(load_result._replace(missing_keys=missing))
