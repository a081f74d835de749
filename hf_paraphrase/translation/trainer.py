"""Trains a translation model: a tokenised bitext in length-bucketed batches, the checkpoint chosen by BLEU."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Sampler
from transformers import (
    DataCollatorForSeq2Seq,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    Trainer,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from ..errors import InputError
from ..messages import log
from ..training.callbacks import EpochOfBatches, LastStep, keep_standard_output
from ..training.devices import take_one_gpu
from ..training.epoch_trainer import training_batches
from .beam_search import translate
from .bitext import BitextSides
from .evaluate import corpus_scores

_USUAL_WARMUP_STEPS = 400
_BATCHES_PER_MAXI_BATCH = 20
"""That of the reference."""
TokenizedPair = dict[str, list[int]]
"""A sentence pair as unit numbers, `input_ids` and `labels`, both with the end token."""


def tokenize_bitext(
    tokenizer: PreTrainedTokenizerBase,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    max_units: int | None = None,
) -> list[TokenizedPair]:
    """Turns sentence pairs into unit numbers.

    Pairs with a side of more than `max_units` (the reference: 50), the end token not counted, or of more than the
    tokenizer's own limit are left out.
    """
    longest = min(tokenizer.model_max_length, tokenizer.model_max_length if max_units is None else max_units + 1)
    input_ids = tokenizer(list(sources), verbose=False)["input_ids"]
    labels = tokenizer(text_target=list(targets), verbose=False)["input_ids"]
    pairs = [{"input_ids": source, "labels": target} for source, target in zip(input_ids, labels, strict=True)]
    kept = [pair for pair in pairs if max(map(len, pair.values())) <= longest]
    if not kept:
        raise InputError(
            f"none of the {len(labels)} sentence pairs has at most {longest - 1} units on both sides",
            remedy="raise --max-units or --vocab-size",
        )
    return kept


def lengths_of(pairs: Sequence[TokenizedPair]) -> np.ndarray:
    """Returns the length of the longer side of every pair, in units, int64 (pairs,)."""
    return np.array([max(map(len, pair.values())) for pair in pairs], dtype=np.int64)


class MaxiBatchSampler(Sampler[list[int]]):
    """Mini-batches of similar length: maxi-batches are shuffled, sorted by length and cut (the reference's way).

    Every epoch draws a new order from `seed` and the epoch's number alone, so a resumed run sees the same batches.
    Several processes take every so many-th mini-batch each, and all the same number, or those that are done would
    leave the others waiting for ever: some of the first come again at the end.
    """

    def __init__(self, lengths: np.ndarray, pairs_per_batch: int, *, seed: int = 0, processes: int = 1) -> None:
        self.lengths = lengths
        self.pairs_per_batch = pairs_per_batch
        self.seed = seed
        self.processes = processes
        self.epoch = 0
        # Accelerate looks for `set_epoch` here when it has wrapped this sampler to skip batches after a resume.
        self.sampler = self

    def set_epoch(self, epoch: int) -> None:
        """Chooses the order of the given epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        batches = math.ceil(len(self.lengths) / self.pairs_per_batch)
        return math.ceil(batches / self.processes) * self.processes

    def __iter__(self) -> Iterator[list[int]]:
        generator = np.random.default_rng([self.seed, self.epoch])
        order = generator.permutation(len(self.lengths))
        size = self.pairs_per_batch * _BATCHES_PER_MAXI_BATCH
        batches: list[np.ndarray] = []
        for start in range(0, len(order), size):
            maxi_batch = order[start : start + size]
            maxi_batch = maxi_batch[np.argsort(self.lengths[maxi_batch], kind="stable")]
            batches += [
                maxi_batch[cut : cut + self.pairs_per_batch] for cut in range(0, len(maxi_batch), self.pairs_per_batch)
            ]
        shuffled = generator.permutation(len(batches))
        for position in range(len(self)):
            yield batches[shuffled[position % len(batches)]].tolist()


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
