"""Trains any sequence-to-sequence model with batches of similar length; BLEU chooses the checkpoint."""

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
from transformers.models.m2m_100.modeling_m2m_100 import shift_tokens_right

from ..messages import log
from ..training.batches import LengthBatches, PairItems
from ..training.callbacks import EpochOfBatches, LastStep, finished_state, keep_standard_output
from ..training.devices import take_one_gpu
from ..training.epoch_trainer import training_batches
from .bitext import BitextSides
from .bleu import corpus_scores
from .tokenized_bitext import ArrowRows
from .translator import translate

_DEFAULT_WARMUP_STEPS = 400


class TranslationTrainer(Seq2SeqTrainer):
    """A Trainer with batches of pairs of similar length, which evaluates BLEU of greedy translations.

    BLEU is sacrebleu's for the target language. It ignores case if the model writes lower case only. With
    `default_warmup` the learning rate warms up for 400 steps, or for a tenth of the run if that is shorter.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        args: Seq2SeqTrainingArguments,
        bitext: ArrowRows,
        dev: BitextSides,
        tokenizer: PreTrainedTokenizerBase,
        *,
        default_warmup: bool = False,
        optimizer: tuple[type[torch.optim.Optimizer], dict[str, Any]] | None = None,
    ) -> None:
        take_one_gpu(args)
        size, processes = args.per_device_train_batch_size, args.world_size
        self.batches = LengthBatches(bitext.lengths(), size, args.seed, processes)
        updates = math.ceil(self.batches.joint_batches / args.gradient_accumulation_steps)
        if default_warmup:
            # A run that ends in its warm-up has hardly learned.
            args.warmup_steps = min(_DEFAULT_WARMUP_STEPS, math.ceil(math.ceil(args.num_train_epochs * updates) / 10))
        network: Any = model
        if not hasattr(model, "prepare_decoder_input_ids_from_labels"):
            start = model.generation_config.decoder_start_token_id
            network.prepare_decoder_input_ids_from_labels = lambda labels: shift_tokens_right(
                labels, network.config.pad_token_id, start
            )
        # With label smoothing by the Trainer the model gets no labels but the decoder's inputs alone.
        pad = DataCollatorForSeq2Seq(tokenizer, model=model)
        super().__init__(
            model=model,
            args=args,
            data_collator=lambda items: pad([bitext[row] for _, row in items]),
            train_dataset=PairItems(len(bitext)),
            eval_dataset=dev,
            processing_class=tokenizer,
            callbacks=[LastStep(), EpochOfBatches(self.batches.set_epoch, lambda: updates)],
        )
        # Seq2SeqTrainer has no argument for it.
        self.optimizer_cls_and_kwargs = optimizer
        keep_standard_output(self)

    def train(self, resume_from_checkpoint: str | bool | None = None, **kwargs: Any) -> Any:
        """Train, or load the best weights from a checkpoint after the last update.

        The Trainer would make one more update from such a checkpoint.
        """
        state = finished_state(resume_from_checkpoint)
        if state is not None and state.best_model_checkpoint is not None:
            self.state = state
            self._load_best_model()
            return None
        return super().train(resume_from_checkpoint=resume_from_checkpoint, **kwargs)

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Return batches of similar length, shuffled again every epoch by the seed."""
        return training_batches(self)

    def evaluate(
        self, eval_dataset: Any = None, ignore_keys: list[str] | None = None, metric_key_prefix: str = "eval"
    ) -> dict[str, float]:
        """Translate the dev set greedily and return `eval_bleu` in percent."""
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
        # transformers warns of tied weights, which are stored once.
        tied = set(getattr(self.model, "all_tied_weights_keys", None) or {})
        missing = [key for key in load_result.missing_keys if key not in tied]
        super()._issue_warnings_after_load(load_result._replace(missing_keys=missing))
