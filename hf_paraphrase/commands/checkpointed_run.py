"""A training run whose checkpoints lie in the unfinished output until it is finished, so that it can be resumed."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..hub.folders import check_same_job
from ..hub.provenance import fingerprint
from .processes import is_main_process, say

if TYPE_CHECKING:
    from transformers import Trainer

CHECKPOINTS = "checkpoints"
"""The folder of the checkpoints in the unfinished output."""
_RECORD = "job.json"
_UNCHECKED_ON_RESUME = frozenset({"output", "overwrite", "resume", "report_to", "license"})


def find_checkpoint(
    staging: Path,
    settings: Mapping[str, Any],
    inputs: Iterable[str],
    *,
    unchecked: Iterable[str] = (),
) -> Path | None:
    """Readies the folder of the checkpoints and finds the one to go on from; called once the processes have joined.

    Args:
        staging: The unfinished output.
        settings: All settings of the command; with `resume` among them the user is told where the run goes on.
        inputs: Files and folders that the result depends on.
        unchecked: Settings that may differ from those of the run that is resumed, beside the usual ones.

    Returns:
        The newest complete checkpoint; None where there is none.

    Raises:
        OutputError: If the unfinished output is of another job.
    """
    from ..training.callbacks import last_checkpoint
    from ..training.processes import wait_for_all

    folder = staging / CHECKPOINTS
    if is_main_process():
        ignored = _UNCHECKED_ON_RESUME.union(unchecked)
        job = {name: value for name, value in settings.items() if name not in ignored}
        check_same_job(staging / _RECORD, {**job, "fingerprints": [fingerprint(item) for item in inputs]})
        folder.mkdir(parents=True, exist_ok=True)
        last_checkpoint(folder)
    # The first process has put the folder in order; the others see it as it left it.
    wait_for_all()
    checkpoint = last_checkpoint(folder) if folder.is_dir() else None
    wait_for_all()
    if settings["resume"]:
        say(f"resuming after step {checkpoint.name.rpartition('-')[2]}" if checkpoint else "nothing to resume yet")
    return checkpoint


def train_from(trainer: Trainer, checkpoint: Path | None) -> None:
    """Trains from the beginning or from a checkpoint."""
    from ..training.processes import wait_for_all

    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    # None of the checkpoints goes before all processes have loaded the best one.
    wait_for_all()


def remove_checkpoints(staging: Path) -> None:
    """Removes what only an unfinished run needs."""
    shutil.rmtree(staging / CHECKPOINTS)
    (staging / _RECORD).unlink()
