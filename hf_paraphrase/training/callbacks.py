"""What happens beside the steps of a training: progress, scores and checkpoints."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm
from transformers import (
    PrinterCallback,
    ProgressCallback,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from ..artefacts.weights import check_finite
from .batches import EpochBatches


class OneLineProgress(ProgressCallback):
    """The Trainer's progress bar: rate, time left, and the last loss and dev scores, all in one line.

    The Trainer's own one writes the figures above the bar, as dictionaries.
    """

    def __init__(self) -> None:
        super().__init__()
        self.figures: dict[str, str] = {}

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Shows the bar; the steps of a run that is continued do not count as done by this one."""
        if state.is_world_process_zero:
            self.training_bar = tqdm(
                total=state.max_steps, initial=state.global_step, desc="train", unit=" steps", dynamic_ncols=True
            )
        self.current_step = state.global_step

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Puts loss and dev scores behind the bar."""
        for name, value in (logs or {}).items():
            if isinstance(value, int | float) and (name == "loss" or name.startswith("eval_")):
                self.figures[name.replace("eval_", "dev ")] = f"{value:.4g}"
        if state.is_world_process_zero and self.training_bar is not None:
            self.training_bar.set_postfix(self.figures)


def keep_standard_output(trainer: Trainer) -> None:
    """Takes from a Trainer what writes to standard output, which is for data; its progress bar stays, in one line."""
    trainer.remove_callback(PrinterCallback)
    if trainer.pop_callback(ProgressCallback) is not None:
        trainer.add_callback(OneLineProgress)


def log_of_steps(log: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Takes from the log of a Trainer what it says of its steps, the same whether the run was resumed or not.

    The summary at the end is left out: its times and its mean loss are those of the last process alone. So is a number
    that is not finite, as the loss of a training that diverged behind its best weights.
    """
    return [
        {name: value for name, value in sorted(entry.items()) if not (isinstance(value, float) and _is_lost(value))}
        for entry in log
        if "train_runtime" not in entry
    ]


def _is_lost(value: float) -> bool:
    return not math.isfinite(value)


class EpochMarks(TrainerCallback):
    """Asks for a score and a checkpoint at the end of every epoch and at equal fractions of it.

    Args:
        batches: The batches, which are told the epoch.
        args: The settings.
        marks: The number of marks in an epoch.
        evaluate: Whether there is a dev set to score.
    """

    def __init__(self, batches: EpochBatches, args: TrainingArguments, marks: int, evaluate: bool) -> None:
        self.batches = batches
        self.evaluate = evaluate
        self.steps = -(-len(batches) // (batches.num_processes * args.gradient_accumulation_steps))
        self.marks = {-(-self.steps * mark // marks) for mark in range(1, marks + 1)}

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Tells the batches which epoch begins, or is continued."""
        self.batches.set_epoch(state.global_step // self.steps)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        """Asks for a score and a checkpoint if the step is at a mark."""
        if (state.global_step - 1) % self.steps + 1 in self.marks:
            control.should_save = True
            control.should_evaluate = self.evaluate
        return control


class EpochOfBatches(TrainerCallback):
    """Tells a sampler which epoch begins, or is continued.

    The Trainer and accelerate tell it too, but not through the two wrappers that it has when several processes share
    its batches and the first ones are skipped after a resume.

    Args:
        sampler: What has a `set_epoch`.
        updates: Updates of the model in an epoch.
    """

    def __init__(self, sampler: Any, updates: int) -> None:
        self.sampler = sampler
        self.updates = updates

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Tells it the epoch, from 0."""
        self.sampler.set_epoch(state.global_step // self.updates)


class LastStep(TrainerCallback):
    """Asks for a score and a checkpoint behind the last update, whatever the interval between them is.

    The Trainer of the oldest transformers that is allowed saves there without scoring, so that the end of the training
    would neither be measured nor count where the weights are chosen by the score. A newer one asks for both itself;
    what is asked for twice at a step is done once.
    """

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        """Asks for both if the step is the last one."""
        if state.global_step >= state.max_steps:
            control.should_evaluate = control.should_save = True
        return control


class LossAtCheckpoints(TrainerCallback):
    """Logs the loss wherever a checkpoint is written.

    A run that goes on from it has forgotten the losses before it; were its next log to mean them too, that would say
    something else than the log of an undisturbed run.
    """

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        """Asks for it."""
        control.should_log = control.should_log or control.should_save
        return control

    on_epoch_end = on_step_end


class EndAtDivergence(TrainerCallback):
    """Ends a training whose weights are no numbers any more, before they are measured or kept.

    Where the best weights are kept and there are some, it goes on: those are the result.
    """

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Looks at the weights if they are about to be used.

        Raises:
            ModelError: If one is infinite or not a number.
        """
        has_best = args.load_best_model_at_end and state.best_model_checkpoint is not None
        if (control.should_save or control.should_evaluate) and not has_best:
            check_finite(kwargs["model"])

    on_epoch_end = on_step_end


def last_checkpoint(folder: Path) -> Path | None:
    """Finds the newest complete checkpoint and removes those that were being written when a run was killed.

    The Trainer writes its state file last, so a checkpoint with a readable one is complete.
    """
    complete: list[tuple[int, Path]] = []
    for path in folder.glob("checkpoint-*"):
        try:
            state = json.loads((path / "trainer_state.json").read_text(encoding="utf-8"))
            complete.append((int(state["global_step"]), path))
        except (OSError, ValueError, KeyError):
            shutil.rmtree(path)
    return max(complete)[1] if complete else None
