"""A training run whose checkpoints lie in the unfinished output until it is finished, so that it can be resumed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.folders import check_same_job, output_folder, staging_path
from ..artefacts.provenance import fingerprint, read_provenance
from ..errors import OutputError
from ..messages import is_main_process, process_count, say

if TYPE_CHECKING:
    from transformers import Trainer

CHECKPOINTS = "checkpoints"
"""The folder of the checkpoints in the unfinished output."""
RECORD = "job.json"
"""The file in the unfinished output that says what it is made with."""
_CARD = "README.md"
_UNCHECKED_ON_RESUME = frozenset({"output", "overwrite", "resume", "report_to", "license"})


def shared_by() -> dict[str, int]:
    """Returns the number of processes, where there are several, for the record of a training run.

    They share the batches of an epoch, so a run that goes on with another number of them would be another run.
    """
    processes = process_count()
    return {"processes": processes} if processes > 1 else {}


def job_of(settings: Mapping[str, Any], inputs: Iterable[str], *, unchecked: Iterable[str] = ()) -> dict[str, Any]:
    """Returns what must be the same for a run to be continued: its settings, and the fingerprints of its inputs.

    Args:
        settings: All settings of the command.
        inputs: Files and folders that the result depends on.
        unchecked: Settings that may differ, beside the usual ones.
    """
    ignored = _UNCHECKED_ON_RESUME.union(unchecked)
    job = {name: value for name, value in settings.items() if name not in ignored}
    return {**job, "fingerprints": [fingerprint(item) for item in inputs], **shared_by()}


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
    from .callbacks import last_checkpoint
    from .processes import wait_for_all

    folder = staging / CHECKPOINTS
    if is_main_process():
        check_same_job(staging / RECORD, job_of(settings, inputs, unchecked=unchecked))
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
    from .processes import wait_for_all

    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    # None of the checkpoints goes before all processes have loaded the best one.
    wait_for_all()


@contextmanager
def checkpointed_output(
    output: str | os.PathLike[str], *, overwrite: bool, resume: bool, record: str = RECORD
) -> Iterator[Path]:
    """Gives the unfinished output to train in, and moves it into place without its checkpoints.

    The block ends with the card, which says that all is written. Only then the checkpoints go, and the record of the
    job goes once the output is in its place, so that a run that is killed anywhere can be resumed: before the card
    from a checkpoint, after it by :func:`end_at_once`.

    Args:
        output: As for :func:`~..artefacts.folders.output_folder`.
        overwrite: As there.
        resume: As there.
        record: The file of the job inside the unfinished output.

    Yields:
        The unfinished output.

    Raises:
        OutputError: As there.
    """
    with output_folder(output, overwrite=overwrite, resume=resume) as staging:
        yield staging
        _remove_checkpoints(staging, keep=staging / record)
    target = Path(output).expanduser()
    (target / record).unlink(missing_ok=True)
    _remove_checkpoints(target, keep=None)


def end_at_once(
    output: Path,
    settings: Mapping[str, Any],
    job: Callable[[], Mapping[str, Any]],
    *,
    record: str = RECORD,
    unchecked: Iterable[str] = (),
) -> bool:
    """Moves what a run that is resumed has left into place, where that is already whole; called by all processes.

    Args:
        output: The output, as :func:`~..artefacts.folders.check_output` returns it.
        settings: All settings of the command, `resume` and `overwrite` among them.
        job: Makes what the record must hold.
        record: The file of the job inside the unfinished output.
        unchecked: Settings that are not part of the job but of what was written, beside the licence.

    Returns:
        Whether there was such a run, so that nothing is left to do.

    Raises:
        OutputError: If that run had other settings.
    """
    staging = staging_path(output)
    if not (settings["resume"] and (staging / _CARD).is_file() and (staging / record).is_file()):
        return False
    _wait_until_all_have_looked()
    if is_main_process():
        with checkpointed_output(output, overwrite=settings["overwrite"], resume=True, record=record):
            check_same_job(staging / record, job())
            written = read_provenance(staging).get("settings", {})
            changed = sorted(name for name in ("license", *unchecked) if settings[name] != written.get(name))
            if changed:
                raise OutputError(
                    f"the unfinished run has written its result with other settings: {', '.join(changed)}",
                    path=staging,
                    remedy="repeat the original command with --resume, or start afresh with --overwrite",
                )
        say(f"nothing was left to do but to move the result into place: {output}")
    return True


def _wait_until_all_have_looked() -> None:
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return
    import torch
    from accelerate import PartialState

    PartialState(cpu=not torch.accelerator.is_available()).wait_for_everyone()


def _remove_checkpoints(folder: Path, keep: Path | None) -> None:
    """Removes the folder of the checkpoints, but for one file where that is in it."""
    checkpoints = folder / CHECKPOINTS
    if not checkpoints.is_dir():
        return
    if keep is None or keep.parent != checkpoints:
        shutil.rmtree(checkpoints)
        return
    for entry in checkpoints.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        elif entry != keep:
            entry.unlink()
