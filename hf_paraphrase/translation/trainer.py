"""Trains any sequence-to-sequence model: batches of similar length, the checkpoint chosen by BLEU."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.utils.data import DataLoader
from transformers import (
    DataCollatorForSeq2Seq,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    TrainerControl,
)

from ..messages import log
from ..training.batches import MaxiBatchSampler
from ..training.callbacks import EpochOfBatches, LastStep, finished_state, keep_standard_output
from ..training.devices import take_one_gpu
from ..training.epoch_trainer import training_batches
from .beam_search import translate
from .bitext import BitextSides
from .bleu import corpus_scores
from .fast_search import is_rnn_search
from .tokenized_bitext import ArrowRows

_USUAL_WARMUP_STEPS = 400


class _Shift:
    """Shifts labels one to the right, behind the decoder's start, as a model does that is given labels."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.own = getattr(model, "prepare_decoder_input_ids_from_labels", None)
        self.start = model.generation_config.decoder_start_token_id
        self.pad = model.config.pad_token_id

    def prepare_decoder_input_ids_from_labels(self, labels: torch.Tensor) -> torch.Tensor:
        """Return the decoder's inputs (batch, target length)."""
        if self.own is not None:
            shifted: torch.Tensor = self.own(labels=labels)
            return shifted
        shifted = torch.cat([torch.full_like(labels[:, :1], self.start), labels[:, :-1]], dim=1)
        return shifted.masked_fill(shifted == -100, self.pad)


class TranslationTrainer(Seq2SeqTrainer):
    """A Trainer with batches of pairs of similar length, whose evaluation is BLEU of greedy translations.

    BLEU is sacrebleu's for the target language; it ignores case where the model writes lower case alone. With
    `usual_warmup` the rate rises for 400 steps, or for a tenth of the run if that is shorter.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        args: Seq2SeqTrainingArguments,
        bitext: ArrowRows,
        dev: BitextSides,
        tokenizer: PreTrainedTokenizerBase,
        *,
        usual_warmup: bool = False,
        optimizer: tuple[type[torch.optim.Optimizer], dict[str, Any]] | None = None,
    ) -> None:
        take_one_gpu(args)
        size, processes = args.per_device_train_batch_size, args.world_size
        self.batches = MaxiBatchSampler(bitext.lengths(), size, seed=args.seed, processes=processes)
        updates = math.ceil(len(self.batches) // processes / args.gradient_accumulation_steps)
        if usual_warmup:
            # A run that ends in its warm-up has hardly learned.
            args.warmup_steps = min(_USUAL_WARMUP_STEPS, math.ceil(math.ceil(args.num_train_epochs * updates) / 10))
        super().__init__(
            model=model,
            args=args,
            # With label smoothing by the Trainer the model sees no labels, and needs what precedes them.
            data_collator=DataCollatorForSeq2Seq(tokenizer, model=None if is_rnn_search(model) else _Shift(model)),
            train_dataset=bitext,
            eval_dataset=dev,
            processing_class=tokenizer,
            callbacks=[LastStep(), EpochOfBatches(self.batches.set_epoch, updates)],
        )
        # Seq2SeqTrainer has no argument for it.
        self.optimizer_cls_and_kwargs = optimizer
        keep_standard_output(self)

    def train(self, resume_from_checkpoint: str | bool | None = None, **kwargs: Any) -> Any:
        """Train; from a checkpoint after the last update, where the Trainer might make one more, loads the best."""
        state = finished_state(resume_from_checkpoint)
        if state is not None and state.best_model_checkpoint is not None:
            self.state = state
            self._load_best_model()
            return None
        return super().train(resume_from_checkpoint=resume_from_checkpoint, **kwargs)

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Return batches of similar length, shuffled again every epoch by the seed."""
        return training_batches(self, self.train_dataset, self.batches)

    def evaluate(
        self, eval_dataset: Any = None, ignore_keys: list[str] | None = None, metric_key_prefix: str = "eval"
    ) -> dict[str, float]:
        """Translates the dev set greedily and returns `eval_bleu` in percent."""
        dev: Any = self.eval_dataset
        model = self.accelerator.unwrap_model(self.model, keep_torch_compile=False)
        with torch.autocast(model.device.type, torch.bfloat16, enabled=self.args.bf16):
            translations = translate(model, self.processing_class, dev.sources, num_beams=1)
        config: Any = model.config
        scores = corpus_scores(
            translations,
            dev.targets,
            target_lang=getattr(config, "target_lang", None),
            lowercase=bool(getattr(config, "lowercase", False)),
            metrics=["bleu"],
        )
        self.bleu_signature = scores["bleu_signature"]
        metrics = {f"{metric_key_prefix}_bleu": scores["bleu"]}
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
