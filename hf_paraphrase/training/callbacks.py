"""Callbacks of trainings: progress, scores and checkpoints, divergence, and the folder of logs."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

from tqdm.auto import tqdm
from transformers import PrinterCallback, ProgressCallback, Trainer, TrainerCallback, TrainerControl, TrainerState
from transformers.integrations import TensorBoardCallback
from transformers.trainer_utils import IntervalStrategy, SaveStrategy

from ..artefacts.weights import check_finite

_SECONDS_BETWEEN_LOOKS = 5
_EVAL = re.compile("^eval_(?:dev_)?")
_STATE_FILE = "trainer_state.json"
"""The file of a checkpoint that the Trainer writes last."""
_OTHER_FILES = ("*.safetensors", "optimizer*", "scheduler*", "rng_state*")
"""Its other parts, which the Trainer removes in any order if another checkpoint is the best."""


class OneLineProgress(ProgressCallback):
    """The Trainer's progress bar, with the last loss and dev scores in its line.

    Between two logs of the mean loss, the line shows the loss of the last batch, which is read every few seconds.
    """

    def __init__(self, trainer: Trainer) -> None:
        super().__init__()
        self.figures: dict[str, str] = {}
        self._trainer = trainer
        self._next_look = 0.0

    def on_train_begin(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Show the bar, which starts at the step of a resumed run."""
        if state.is_world_process_zero:
            self.training_bar = tqdm(
                total=state.max_steps, initial=state.global_step, desc="train", unit=" steps", dynamic_ncols=True
            )
        self.current_step = state.global_step

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Advance the bar."""
        loss = getattr(self._trainer, "last_loss", None)
        if state.is_world_process_zero and loss is not None and monotonic() >= self._next_look:
            # Reading a loss waits for the device.
            self._next_look = monotonic() + _SECONDS_BETWEEN_LOOKS
            self.figures["loss"] = f"{float(loss):.4g}"
            self.training_bar.set_postfix(self.figures, refresh=False)
        super().on_step_end(args, state, control, **kwargs)

    def on_log(self, args: Any, state: TrainerState, control: TrainerControl, logs: Any = None, **kwargs: Any) -> None:
        """Show the loss and the dev scores next to the bar; equal scores are shown once."""
        scores: dict[str, str] = {}
        for name, value in (logs or {}).items():
            text = f"{value:.4g}" if isinstance(value, int | float) else ""
            if name == "loss":
                self.figures[name] = text
            elif name.startswith("eval_") and text and text not in scores.values():
                scores[_EVAL.sub("dev ", name)] = text
        if scores:
            self.figures = {name: text for name, text in self.figures.items() if name == "loss"} | scores
        if state.is_world_process_zero and self.training_bar is not None:
            self.training_bar.set_postfix(self.figures)


def keep_standard_output(trainer: Trainer) -> None:
    """Remove the callbacks of a Trainer that print to standard output, which is for data."""
    trainer.remove_callback(PrinterCallback)
    if trainer.pop_callback(ProgressCallback) is not None:
        trainer.add_callback(OneLineProgress(trainer))


def log_of_steps(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the log of a Trainer's steps, without the summary and without numbers that JSON lacks."""
    return [
        {name: value for name, value in sorted(entry.items()) if not isinstance(value, float) or math.isfinite(value)}
        for entry in entries
        if "train_runtime" not in entry
    ]


class EpochOfBatches(TrainerCallback):
    """Sets the epoch (from 0) of a sampler when an epoch begins or resumes; an epoch has `updates()` updates.

    accelerate does not pass the epoch through the wrappers of a sampler after a resume or with several processes.
    """

    def __init__(self, set_epoch: Callable[[int], None], updates: Callable[[], int]) -> None:
        self.set_epoch = set_epoch
        self.updates = updates

    def on_epoch_begin(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Set the epoch."""
        self.set_epoch(state.global_step // self.updates())


class LastStep(TrainerCallback):
    """Requests a score and a checkpoint after the last update; transformers 5.0 saves without scoring."""

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> TrainerControl:
        """Request both if the step is the last."""
        if state.global_step >= state.max_steps:
            control.should_evaluate = control.should_evaluate or args.eval_strategy == IntervalStrategy.STEPS
            control.should_save = control.should_save or args.save_strategy == SaveStrategy.STEPS
        return control


class AtCheckpoints(TrainerCallback):
    """Logs the loss at every checkpoint, because a resumed run does not have earlier losses.

    A diverged training stops before its weights are evaluated or saved, unless earlier best weights exist.
    """

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> TrainerControl:
        """Check weights that are about to be used, and request a log."""
        has_best = args.load_best_model_at_end and state.best_model_checkpoint is not None
        if (control.should_save or control.should_evaluate) and not has_best:
            check_finite(kwargs["model"])
        control.should_log = control.should_log or control.should_save
        return control

    on_epoch_end = on_step_end


def last_checkpoint(folder: Path) -> Path | None:
    """Find the newest complete checkpoint, and remove partly written or partly removed ones."""
    complete: list[tuple[int, Path]] = []
    for path in folder.glob("checkpoint-*"):
        with suppress(OSError, ValueError, KeyError):
            step = int(json.loads((path / _STATE_FILE).read_text(encoding="utf-8"))["global_step"])
            if all(any(path.glob(pattern)) for pattern in _OTHER_FILES):
                complete.append((step, path))
                continue
        shutil.rmtree(path)
    return max(complete)[1] if complete else None


def finished_state(checkpoint: str | bool | None) -> TrainerState | None:
    """Read the state of a checkpoint after the last update; return None if updates are left.

    The Trainer would make one more update from such a checkpoint.
    """
    if not isinstance(checkpoint, str):
        return None
    state = TrainerState.load_from_json(str(Path(checkpoint) / _STATE_FILE))
    return state if state.global_step >= state.max_steps > 0 else None


def keep_logs(trainer: Trainer, folder: Path) -> None:
    """Make TensorBoard write to a permanent folder, and not to the checkpoints, which are removed."""
    for callback in trainer.callback_handler.callbacks:
        if isinstance(callback, TensorBoardCallback) and callback.logging_dir is None:
            callback.logging_dir = str(folder)
