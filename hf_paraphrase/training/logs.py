"""Logs of a training that are files: they lie in the output, which appears with them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from transformers import Trainer
from transformers.integrations import TensorBoardCallback, WandbCallback

from ..errors import UsageError
from ..messages import is_main_process, shown_line

_NOT_KEPT = ("debug*.log", "latest-run", "logs", "tmp")
"""What wandb writes for its own makers, partly as links to elsewhere."""


@contextmanager
def kept_logs(trainer: Trainer, folder: Path, name: str) -> Iterator[None]:
    """Has what TensorBoard and wandb write lie in a folder that stays, once the block has trained.

    TensorBoard would write among the checkpoints, which go, and wandb into the current folder, with links, which are
    refused in unfinished work that is resumed: so it gets a temporary one. A run of wandb that the caller has begun is
    left as it is.

    Args:
        trainer: What logs.
        folder: The folder; made if need be.
        name: The name of the run.

    Raises:
        UsageError: If wandb cannot log.
    """
    with ExitStack() as stack:
        for callback in trainer.callback_handler.callbacks:
            if isinstance(callback, TensorBoardCallback) and callback.logging_dir is None:
                callback.logging_dir = str(folder)
            if isinstance(callback, WandbCallback) and is_main_process() and callback._wandb.run is None:
                stack.enter_context(_run_of_wandb(callback._wandb, folder, name))
        yield


@contextmanager
def _run_of_wandb(wandb: Any, folder: Path, name: str) -> Iterator[None]:
    project = os.environ.get("WANDB_PROJECT", "huggingface")
    with TemporaryDirectory(prefix="hf_paraphrase_wandb_", ignore_cleanup_errors=True) as place:
        try:
            wandb.init(project=project, name=name, dir=place)
        except Exception as error:
            raise UsageError(
                f"--report-to wandb: {shown_line(str(error), 200)}",
                remedy="`wandb login` first, or WANDB_MODE=offline in the environment",
            ) from error
        failed = True
        try:
            yield
            failed = False
        finally:
            wandb.finish(exit_code=int(failed))
            shutil.copytree(place, folder, ignore=shutil.ignore_patterns(*_NOT_KEPT), dirs_exist_ok=True)
