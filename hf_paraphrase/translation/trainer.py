"""Trains a translation model with the Trainer of transformers, choosing the checkpoint by BLEU on the dev set."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader
from transformers import PreTrainedModel, PreTrainedTokenizerBase, Trainer, TrainerControl, TrainingArguments

from .batching import MaxiBatchSampler, TokenizedBitext, TranslationCollator
from .beam_search import translate
from .bleu import corpus_scores


class TranslationTrainer(Trainer):
    """A Trainer with length-bucketed batches whose evaluation is BLEU of greedy translations.

    Args:
        dev_sources: Source sentences of the dev set, raw text.
        dev_references: Their references.
        Other arguments: As `transformers.Trainer`; `train_dataset` is a :class:`TokenizedBitext`.
    """

    def __init__(self, *args: Any, dev_sources: Sequence[str], dev_references: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.dev_sources = dev_sources
        self.dev_references = dev_references

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Returns batches of similar length, shuffled anew every epoch by the seed."""
        dataset = self.train_dataset
        assert isinstance(dataset, TokenizedBitext)
        sampler = MaxiBatchSampler(
            dataset.lengths(),
            self.args.per_device_train_batch_size,
            seed=self.args.seed,
            processes=self.args.world_size,
        )
        loader = DataLoader(dataset, batch_sampler=sampler, collate_fn=self.data_collator)
        return self.accelerator.prepare(loader)

    def evaluate(self, *args: Any, metric_key_prefix: str = "eval", **kwargs: Any) -> dict[str, float]:
        """Translates the dev set greedily and returns `eval_bleu` (case-insensitive, in percent)."""
        model = self.accelerator.unwrap_model(self.model, keep_torch_compile=False)
        with torch.autocast(model.device.type, torch.bfloat16, enabled=self.args.bf16):
            translations = translate(model, self.processing_class, self.dev_sources, num_beams=1)
        metrics = {f"{metric_key_prefix}_bleu": corpus_scores(translations, self.dev_references).bleu}
        self.log(metrics)
        control: TrainerControl = self.control  # type: ignore[has-type]
        self.control = self.callback_handler.on_evaluate(self.args, self.state, control, metrics)
        return metrics


def bf16_is_fast() -> bool:
    """Tells whether this machine multiplies bfloat16 matrices in hardware."""
    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported()
    return torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported()


def unfinished_checkpoint(folder: Path) -> str | None:
    """Finds the last checkpoint that was written completely (its `trainer_state.json` comes last)."""
    found = [path.parent for path in folder.glob("checkpoint-*/trainer_state.json") if _is_json(path)]
    return str(max(found, key=lambda path: int(path.name.rpartition("-")[2]))) if found else None


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True


def train_translation_model(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    train: tuple[Sequence[str], Sequence[str]],
    dev: tuple[Sequence[str], Sequence[str]],
    checkpoints: Path,
    *,
    epochs: float,
    batch_size: int,
    learning_rate: float,
    evaluations: int,
    warmup_steps: int,
    seed: int,
    bf16: bool,
    gradient_accumulation_steps: int = 1,
    resume: bool = False,
    report_to: str = "none",
) -> list[dict[str, float]]:
    """Trains in place, with the weights of the best dev BLEU at the end.

    Adam with a linear warm-up and a cosine decay to zero, the global gradient norm clipped to 1 (as the reference,
    which uses Adadelta and no schedule), loss averaged over the tokens of a batch.

    Args:
        model: The model to train.
        tokenizer: Its tokenizer.
        train: Source and target sentences.
        dev: Source sentences and references.
        checkpoints: Folder for checkpoints; they are what a resumed run continues from.
        epochs: Number of passes over the training pairs.
        batch_size: Pairs per mini-batch and process.
        learning_rate: Peak learning rate.
        evaluations: How often to measure dev BLEU and write a checkpoint, evenly spread.
        warmup_steps: Steps of linear warm-up.
        seed: Seed of order and dropout.
        bf16: Whether to run under bfloat16 autocast.
        gradient_accumulation_steps: Mini-batches per update.
        resume: Whether to continue from the last complete checkpoint, if there is one.
        report_to: Logging integrations, as in `TrainingArguments`.

    Returns:
        The log: dictionaries with `step`, `epoch` and `loss` or `eval_bleu`.
    """
    dataset = TokenizedBitext(
        tokenizer(list(train[0]), truncation=True)["input_ids"],
        tokenizer(list(train[1]), truncation=True)["input_ids"],
    )
    # A share of all steps; the Trainer would read 1 as every single step.
    interval = min(1 / evaluations, 1 - 1e-9)
    arguments = TrainingArguments(
        output_dir=str(checkpoints),
        num_train_epochs=epochs,
        per_device_train_batch_size=batch_size,
        gradient_accumulation_steps=gradient_accumulation_steps,
        learning_rate=learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=warmup_steps,
        weight_decay=0.0,
        optim="adamw_torch_fused",
        max_grad_norm=1.0,
        bf16=bf16,
        eval_strategy="steps",
        eval_steps=interval,
        save_strategy="steps",
        save_steps=interval,
        save_total_limit=1,
        load_best_model_at_end=True,
        metric_for_best_model="bleu",
        greater_is_better=True,
        logging_steps=50,
        logging_nan_inf_filter=False,
        seed=seed,
        report_to=report_to,
        remove_unused_columns=False,
        use_cpu=not torch.cuda.is_available(),
        accelerator_config={"even_batches": False},
        ddp_find_unused_parameters=False,
    )
    trainer = TranslationTrainer(
        model=model,
        args=arguments,
        train_dataset=dataset,
        eval_dataset=dataset,  # the Trainer insists on one; `evaluate` translates the dev set instead
        data_collator=TranslationCollator(int(tokenizer.pad_token_id)),
        processing_class=tokenizer,
        dev_sources=dev[0],
        dev_references=dev[1],
    )
    # All processes continue from the same checkpoint, and none is removed before all have loaded the best one.
    _wait_for_all()
    trainer.train(resume_from_checkpoint=unfinished_checkpoint(checkpoints) if resume else None)
    _wait_for_all()
    return [_finite(entry) for entry in trainer.state.log_history]


def _wait_for_all() -> None:
    """Waits for the other processes, where `accelerate launch` started several."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.barrier()


def _finite(entry: dict[str, Any]) -> dict[str, float]:
    return {key: value for key, value in entry.items() if isinstance(value, int | float) and math.isfinite(value)}
