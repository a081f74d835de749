"""Callbacks of trainings: progress, scores and checkpoints, divergence, and the folder of logs."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm
from transformers import PrinterCallback, ProgressCallback, Trainer, TrainerCallback, TrainerControl, TrainerState
from transformers.integrations import TensorBoardCallback
from transformers.trainer_utils import IntervalStrategy, SaveStrategy

from ..artefacts.weights import check_finite


class OneLineProgress(ProgressCallback):
    """The Trainer's progress bar, with the last loss and dev scores in its line and not above it as dictionaries."""

    def __init__(self) -> None:
        super().__init__()
        self.figures: dict[str, str] = {}

    def on_train_begin(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Shows the bar; the steps of a run that is continued do not count as done by this one."""
        if state.is_world_process_zero:
            self.training_bar = tqdm(
                total=state.max_steps, initial=state.global_step, desc="train", unit=" steps", dynamic_ncols=True
            )
        self.current_step = state.global_step

    def on_log(self, args: Any, state: TrainerState, control: TrainerControl, logs: Any = None, **kwargs: Any) -> None:
        """Shows the loss and the dev scores next to the bar."""
        for name, value in (logs or {}).items():
            if isinstance(value, int | float) and (name == "loss" or name.startswith("eval_")):
                self.figures[name.replace("eval_", "dev ")] = f"{value:.4g}"
        if state.is_world_process_zero and self.training_bar is not None:
            self.training_bar.set_postfix(self.figures)


def keep_standard_output(trainer: Trainer) -> None:
    """Removes the callbacks of a Trainer that print to standard output, which is for data."""
    trainer.remove_callback(PrinterCallback)
    if trainer.pop_callback(ProgressCallback) is not None:
        trainer.add_callback(OneLineProgress)


def log_of_steps(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the log of a Trainer's steps, without its summary, which a resume changes, and numbers JSON lacks."""
    return [
        {name: value for name, value in sorted(entry.items()) if not isinstance(value, float) or math.isfinite(value)}
        for entry in entries
        if "train_runtime" not in entry
    ]


class EpochOfBatches(TrainerCallback):
    """Passes on the number of an epoch, from 0, when it begins or is continued; `updates` are those in an epoch.

    accelerate does not pass it through the wrappers of a sampler that several processes share, or after a resume.
    """

    def __init__(self, set_epoch: Callable[[int], None], updates: int) -> None:
        self.set_epoch = set_epoch
        self.updates = updates

    def on_epoch_begin(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Passes on the number."""
        self.set_epoch(state.global_step // self.updates)


class LastStep(TrainerCallback):
    """Asks for a score and a checkpoint after the last update; transformers 5.0 saves without scoring."""

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> TrainerControl:
        """Asks for both if the step is the last one."""
        if state.global_step >= state.max_steps:
            control.should_evaluate = control.should_evaluate or args.eval_strategy == IntervalStrategy.STEPS
            control.should_save = control.should_save or args.save_strategy == SaveStrategy.STEPS
        return control


class AtCheckpoints(TrainerCallback):
    """Logs the loss wherever a checkpoint is written: a resumed run has forgotten the losses before it.

    A training that diverged ends before its weights are evaluated or saved, unless the best weights are kept.
    """

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> TrainerControl:
        """Checks the weights if they are about to be used, and asks for a log."""
        has_best = args.load_best_model_at_end and state.best_model_checkpoint is not None
        if (control.should_save or control.should_evaluate) and not has_best:
            check_finite(kwargs["model"])
        control.should_log = control.should_log or control.should_save
        return control

    on_epoch_end = on_step_end


def last_checkpoint(folder: Path) -> Path | None:
    """Finds the newest checkpoint with a state file, which is written last, and removes incomplete ones."""
    complete: list[tuple[int, Path]] = []
    for path in folder.glob("checkpoint-*"):
        try:
            state = json.loads((path / "trainer_state.json").read_text(encoding="utf-8"))
            complete.append((int(state["global_step"]), path))
        except (OSError, ValueError, KeyError):
            shutil.rmtree(path)
    return max(complete)[1] if complete else None


def finished_state(checkpoint: str | bool | None) -> TrainerState | None:
    """Reads the state of a checkpoint after the last update; None if updates are left.

    From such a checkpoint the Trainer would make one more update.
    """
    if not isinstance(checkpoint, str):
        return None
    state = TrainerState.load_from_json(str(Path(checkpoint) / "trainer_state.json"))
    return state if state.global_step >= state.max_steps > 0 else None


def keep_logs(trainer: Trainer, folder: Path) -> None:
    """Makes TensorBoard write to a folder that stays: it would write beside the checkpoints, which are removed."""
    for callback in trainer.callback_handler.callbacks:
        if isinstance(callback, TensorBoardCallback) and callback.logging_dir is None:
            callback.logging_dir = str(folder)
