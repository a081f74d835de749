"""Trains a translation model with the Trainer of transformers, choosing the checkpoint by BLEU on the dev set."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerBase,
    Trainer,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from ..training.callbacks import EpochOfBatches, LastStep
from ..training.processes import wait_for_all
from .averaging import average_checkpoints
from .batch_pieces import split_batch
from .batching import MaxiBatchSampler, TokenizedBitext, TranslationCollator
from .beam_search import translate
from .bleu import corpus_scores

LEARNING_RATES = {"adam": 1e-3, "adadelta": 1.0}
"""The optimizers, with their usual learning rates."""
ATTENTION_BYTES = 1 << 30
"""Most memory, in bytes, of the attention's hidden layer in a training step; a step takes some five times as much."""


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
        self._share = 1.0

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
        """Returns batches of similar length, shuffled anew every epoch by the seed."""
        dataset = self.train_dataset
        assert isinstance(dataset, TokenizedBitext)
        sampler = MaxiBatchSampler(
            dataset.lengths(),
            self.args.per_device_train_batch_size,
            seed=self.args.seed,
            processes=self.args.world_size,
            lengths_of_epoch=dataset.set_epoch if dataset.is_redrawn else None,
        )
        loader = DataLoader(dataset, batch_sampler=sampler, collate_fn=self.data_collator)
        batches = len(sampler) // self.args.world_size
        self.pop_callback(EpochOfBatches)
        self.add_callback(EpochOfBatches(sampler, math.ceil(batches / self.args.gradient_accumulation_steps)))
        return self.accelerator.prepare(loader)

    def training_step(
        self, model: torch.nn.Module, inputs: dict[str, Any], num_items_in_batch: Tensor | int | None = None
    ) -> Tensor:
        """Makes a step on a mini-batch; one of long sentences goes through in pieces, with the gradient of the whole.

        Args:
            model: The model.
            inputs: The mini-batch, as :class:`TranslationCollator` makes it.
            num_items_in_batch: As the Trainer passes it on.

        Returns:
            The mean loss of a target unit over the mini-batch.
        """
        attention_size = self.accelerator.unwrap_model(model).config.attention_size
        width = attention_size * (2 if self.args.bf16 else 4)
        pieces = split_batch(inputs, ATTENTION_BYTES // width)
        units = int((inputs["labels"] != -100).sum())
        total = torch.zeros((), device=self.args.device)
        for index, piece in enumerate(pieces, 1):
            self._share = int((piece["labels"] != -100).sum()) / units
            # Processes exchange gradients once a step, however many pieces each of them has.
            with self.accelerator.no_sync(model) if index < len(pieces) else nullcontext():
                total += super().training_step(model, piece, num_items_in_batch)
        self._share = 1.0
        return total

    def compute_loss(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the loss of a piece of a mini-batch, weighted by its share of the target units."""
        loss = super().compute_loss(*args, **kwargs)
        return (loss[0] * self._share, *loss[1:]) if isinstance(loss, tuple) else loss * self._share

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

    def _issue_warnings_after_load(self, load_result: Any) -> None:
        # A tied weight is stored once and so is never missing; transformers warns of it all the same.
        tied = set(getattr(self.model, "all_tied_weights_keys", None) or {})
        missing = [key for key in load_result.missing_keys if key not in tied]
        super()._issue_warnings_after_load(load_result._replace(missing_keys=missing))


def bf16_is_fast() -> bool:
    """Tells whether this machine multiplies bfloat16 matrices in hardware."""
    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported()


def finished_checkpoints(folder: Path) -> list[Path]:
    """Lists, in order, the checkpoints that were written completely (their `trainer_state.json` comes last)."""
    found = [path.parent for path in folder.glob("checkpoint-*/trainer_state.json") if _is_json(path)]
    return sorted(found, key=lambda path: int(path.name.rpartition("-")[2]))


def unfinished_checkpoint(folder: Path) -> str | None:
    """Finds the last checkpoint that was written completely."""
    found = finished_checkpoints(folder)
    return str(found[-1]) if found else None


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True


def train_translation_model(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    train: TokenizedBitext,
    dev: tuple[Sequence[str], Sequence[str]],
    checkpoints: Path,
    *,
    epochs: float,
    batch_size: int,
    optimizer: str = "adam",
    learning_rate: float,
    evaluations: int,
    warmup_steps: int,
    seed: int,
    bf16: bool,
    gradient_accumulation_steps: int = 1,
    resume: bool = False,
    averaged: int = 0,
    report_to: str = "none",
) -> list[dict[str, float]]:
    """Trains in place, with the weights of the best dev BLEU at the end.

    Adam with a linear warm-up and a cosine decay to zero, or Adadelta (Zeiler 2012; ρ 0.95, ε 1e-6, steps scaled by
    RMS(Δx) / RMS(g)) with a constant rate as the reference has it. The loss is the mean over the target units of a
    batch, and the global norm of its gradient is clipped to 1. The reference clips the gradient of the **sum** over
    the batch to 1, which cuts nearly every step to the same length; Adadelta and Adam hardly depend on the scale of
    the gradient, but the two are not the same setting.

    Parameters that need no gradient stay as they are.

    Args:
        model: The model to train.
        tokenizer: Its tokenizer.
        train: The training pairs.
        dev: Source sentences and references.
        checkpoints: Folder for checkpoints; they are what a resumed run continues from.
        epochs: Number of passes over the training pairs.
        batch_size: Pairs per mini-batch and process.
        optimizer: `adam` or `adadelta`.
        learning_rate: Peak learning rate of Adam, or the constant factor of Adadelta's steps (1 in the reference).
        evaluations: How often to measure dev BLEU and write a checkpoint, evenly spread; the last time is behind the
            last update.
        warmup_steps: Steps of linear warm-up; Adadelta has none.
        seed: Seed of order and dropout.
        bf16: Whether to run under bfloat16 autocast.
        gradient_accumulation_steps: Mini-batches per update.
        resume: Whether to continue from the last complete checkpoint, if there is one.
        averaged: If above 0, the mean of the weights of the last so many checkpoints is measured at the end too, and
            kept if its dev BLEU is higher than that of every single one.
        report_to: Logging integrations, as in `TrainingArguments`.

    Returns:
        The log: dictionaries with `step`, `epoch` and `loss` or `eval_bleu`; that of the mean also has
        `averaged_checkpoints`.
    """
    adadelta = optimizer == "adadelta"
    # A share of all steps; the Trainer would read 1 as every single step.
    interval = min(1 / evaluations, 1 - 1e-9)
    arguments = TrainingArguments(
        output_dir=str(checkpoints),
        num_train_epochs=epochs,
        per_device_train_batch_size=batch_size,
        gradient_accumulation_steps=gradient_accumulation_steps,
        learning_rate=learning_rate,
        lr_scheduler_type="constant" if adadelta else "cosine",
        warmup_steps=0 if adadelta else warmup_steps,
        weight_decay=0.0,
        optim="adamw_torch_fused",
        max_grad_norm=1.0,
        bf16=bf16,
        eval_strategy="steps",
        eval_steps=interval,
        save_strategy="steps",
        save_steps=interval,
        # One more than are averaged, for the best one may be none of the last.
        save_total_limit=averaged + 1,
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
        train_dataset=train,
        eval_dataset=train,  # the Trainer insists on one; `evaluate` translates the dev set instead
        data_collator=TranslationCollator(int(tokenizer.pad_token_id)),
        processing_class=tokenizer,
        dev_sources=dev[0],
        dev_references=dev[1],
        callbacks=[LastStep()],
        optimizer_cls_and_kwargs=(
            (torch.optim.Adadelta, {"lr": learning_rate, "rho": 0.95, "eps": 1e-6}) if adadelta else None
        ),
    )
    # All processes continue from the same checkpoint, and none is removed before all have loaded the best one.
    wait_for_all()
    trainer.train(resume_from_checkpoint=unfinished_checkpoint(checkpoints) if resume else None)
    wait_for_all()
    log = [_finite(entry) for entry in trainer.state.log_history]
    if averaged:
        log.append(_keep_mean_if_better(trainer, model, checkpoints, averaged, log))
        wait_for_all()
    return log


def _keep_mean_if_better(
    trainer: TranslationTrainer, model: PreTrainedModel, checkpoints: Path, count: int, log: Sequence[dict[str, float]]
) -> dict[str, float]:
    """Measures the mean of the last checkpoints, leaves it in the model if it is better, and returns the log entry."""
    best = {name: value.detach().clone() for name, value in model.state_dict().items()}
    folders = finished_checkpoints(checkpoints)[-count:]
    # A matrix that is tied to another is in the file under one of its names only.
    model.load_state_dict(average_checkpoints(folders), strict=False)
    bleu = trainer.evaluate()["eval_bleu"]
    if bleu <= max(entry["eval_bleu"] for entry in log if "eval_bleu" in entry):
        model.load_state_dict(best)
    last = next(entry for entry in reversed(log) if "eval_bleu" in entry)
    return {
        "step": last["step"],
        "epoch": last["epoch"],
        "eval_bleu": bleu,
        "averaged_checkpoints": float(len(folders)),
    }


def train_with_frozen_embeddings(
    model: PreTrainedModel,
    *arguments: Any,
    first_log: Sequence[dict[str, float]],
    **settings: Any,
) -> list[dict[str, float]]:
    """Goes on with a trained model while both embedding matrices and the output layer stay as they are.

    The reference's second stage (Jean et al. 2015 §3.3). What comes out is kept only if its dev BLEU is higher than
    that of the first stage; otherwise the model is left as it was.

    Args:
        model: The trained model.
        *arguments: As for :func:`train_translation_model`.
        first_log: The log of the first stage.
        **settings: As for :func:`train_translation_model`.

    Returns:
        The log of this stage, with steps and epochs counted from the beginning of the first and `frozen_embeddings` 1
        in every entry.
    """
    before = {name: value.detach().clone() for name, value in model.state_dict().items()}
    frozen = [model.encoder.embeddings, model.decoder.embeddings, model.lm_head]
    parameters = {id(parameter): parameter for module in frozen for parameter in module.parameters()}
    try:
        for parameter in parameters.values():
            parameter.requires_grad_(False)
        log = train_translation_model(model, *arguments, **settings)
    finally:
        for parameter in parameters.values():
            parameter.requires_grad_(True)
    best_before, best_now = (
        max((entry["eval_bleu"] for entry in entries if "eval_bleu" in entry), default=-math.inf)
        for entries in (first_log, log)
    )
    if best_now <= best_before:
        model.load_state_dict(before)
    offsets = {name: max((entry.get(name, 0.0) for entry in first_log), default=0.0) for name in ("step", "epoch")}
    return [
        {**entry, **{name: entry[name] + offsets[name] for name in offsets if name in entry}, "frozen_embeddings": 1}
        for entry in log
    ]


def _finite(entry: dict[str, Any]) -> dict[str, float]:
    return {key: value for key, value in entry.items() if isinstance(value, int | float) and math.isfinite(value)}
