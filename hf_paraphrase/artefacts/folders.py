"""Output folders, which appear whole or not at all.

Work is written to a staging folder beside the output (`.NAME.partial`) and renamed at the end, so a reader never sees
half an output and a failure never harms what was there before. That one rename is the last that a run does: a run that
was killed before it goes on with `resume`, and after it there is nothing left to do.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import HfParaphraseError, OutputError
from ..messages import log
from .claims import claimed_folder, refuse_if_claimed
from .files import check_no_links, read_json_object
from .unfinished import JOB, RECORD, forget, job_fingerprint, recorded_job
from .whole_files import remove_leftovers

_MADE_BY = "hf-paraphrase "
"""How the `command` of a record of ours begins."""


def staging_path(output: str | os.PathLike[str]) -> Path:
    """Returns the folder in which the unfinished work for `output` is kept."""
    output = Path(output)
    return output.parent / f".{output.name}.partial"


def is_filled(folder: Path) -> bool:
    """Tells whether `folder` exists and holds anything (a file in its place counts)."""
    try:
        return folder.is_file() or (folder.is_dir() and any(folder.iterdir()))
    except FileNotFoundError:
        # Another run has moved or removed it since the question.
        return False


def is_ours(folder: Path) -> bool:
    """Tells whether a folder has a record that says that this program made it."""
    try:
        command = read_json_object(folder / RECORD).get("command")
    except HfParaphraseError:
        return False
    return isinstance(command, str) and command.startswith(_MADE_BY)


def check_output(output: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Refuses an output that would destroy something.

    Args:
        output: The output folder.
        overwrite: Whether the user allowed an existing folder to be replaced: one that this program made.

    Returns:
        The output as a resolved path.

    Raises:
        OutputError: If the folder is not empty and `overwrite` is false or something else made it, or if the path
            cannot be a folder.
    """
    try:
        resolved = Path(output).expanduser().resolve()
        mode = resolved.stat().st_mode if os.path.lexists(resolved) else None
    except (OSError, RuntimeError) as error:  # a loop of links is either, by the version of Python
        raise OutputError("the output is a link in a circle", path=output, remedy="give another --output") from error
    if mode is not None and not stat.S_ISDIR(mode):
        kind = "a file" if stat.S_ISREG(mode) else "a device, pipe or socket"
        raise OutputError(f"the output is {kind}, not a folder", path=output, remedy="give another --output")
    if resolved == Path.cwd() or resolved in Path.cwd().parents:
        raise OutputError("the output is the current folder or holds it", path=output, remedy="name a new folder")
    if is_filled(resolved):
        if not overwrite:
            raise OutputError(
                "the output folder exists and is not empty",
                path=output,
                remedy="give another --output, or --overwrite",
            )
        if not is_ours(resolved):
            raise OutputError(
                f"--overwrite replaces only what hf-paraphrase made, and here is no {RECORD} that says so",
                path=output,
                remedy="remove the folder by hand, or give another --output",
            )
    return resolved


def check_unfinished(output: str | os.PathLike[str], *, overwrite: bool, resume: bool | None) -> None:
    """Refuses to disturb a run for `output` that goes on, or to destroy the unfinished work of an earlier one.

    Args:
        output: What the work is for.
        overwrite: Whether unfinished work may be thrown away.
        resume: Whether it is gone on with; None for short work, which leaves nothing to go on with, but may find the
            long work of another run.

    Raises:
        OutputError: If there is such a run, or if there is such work and neither flag was given.
    """
    staging = staging_path(output)
    refuse_if_claimed(staging)
    _check_staging(staging, overwrite=overwrite, resume=resume)


def was_finished(
    output: str | os.PathLike[str], job: Callable[[], Mapping[str, Any]], *, overwrite: bool, resume: bool
) -> bool:
    """Tells whether a run that is resumed has nothing left to do, because its output is in its place; then says so.

    Args:
        output: The output folder.
        job: Computes all that determines the result, as for :func:`~.unfinished.check_same_job`; asked only if there
            is something to compare it with.
        overwrite: Whether another result may be replaced.
        resume: Whether the run is resumed.

    Raises:
        OutputError: If the output is the result of another job, and `overwrite` is false.
    """
    target = Path(output).expanduser().resolve()
    if not resume or is_filled(staging_path(target)):
        return False
    known = recorded_job(target / RECORD)
    if known is None:
        return False
    if known != job_fingerprint(job()):
        if overwrite:
            return False
        raise OutputError(
            "the output is finished, and was made with other settings or inputs",
            path=output,
            remedy="give another --output, or --overwrite without --resume",
        )
    shutil.rmtree(_previous_path(target), ignore_errors=True)
    log(f"nothing is left to do, the output is finished: {output}")
    return True


def _check_staging(staging: Path, *, overwrite: bool, resume: bool | None) -> None:
    if resume is None:
        # What short work leaves has no record of a job.
        if (staging / JOB).is_file() and not overwrite:
            raise OutputError(
                "unfinished work of another run for this output exists",
                path=staging,
                remedy="repeat the command that began it, give another --output, or --overwrite",
            )
    elif is_filled(staging) and not (resume or overwrite):
        raise OutputError(
            "an unfinished run for this output exists",
            path=staging,
            remedy="--resume continues it, --overwrite starts afresh",
        )


@contextmanager
def working_folder(
    output: str | os.PathLike[str], *, overwrite: bool = False, resume: bool | None = None, shared: bool = False
) -> Iterator[Path]:
    """Makes the staging folder of `output` and keeps other runs out of it; what was written stays.

    Args:
        output: What the work is for.
        overwrite: Whether unfinished work may be thrown away.
        resume: None for short work, where that of other short work always is; true leaves it in the folder.
        shared: Whether other runs may be at work in it that share it too.

    Yields:
        The staging folder.

    Raises:
        OutputError: If it cannot be made, if unfinished work is in it and neither flag was given, if that work is
            another user's or has links in it, or if a run that has not ended is at work in it.
    """
    staging = staging_path(output)
    is_new = not os.path.lexists(staging)
    with claimed_folder(staging, shared=shared):
        if not is_new:
            _check_owner(staging)
        _check_staging(staging, overwrite=overwrite, resume=resume)
        if not resume:
            empty_folder(staging)
        elif is_filled(staging):
            # No run of ours makes a link; what libraries write here would go through it.
            check_no_links(staging, OutputError)
        yield staging


def _check_owner(staging: Path) -> None:
    if hasattr(os, "geteuid") and staging.stat().st_uid != os.geteuid():
        raise OutputError("the unfinished work is another user's", path=staging, remedy="give another --output")


def empty_folder(folder: Path) -> None:
    """Removes all that is in a folder, and leaves the folder.

    Raises:
        OutputError: If something in it cannot be removed.
    """
    try:
        for entry in folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
    except OSError as error:
        raise OutputError(f"cannot empty the folder: {error.strerror}", path=folder) from error


@contextmanager
def output_folder(
    output: str | os.PathLike[str], *, overwrite: bool = False, resume: bool | None = None
) -> Iterator[Path]:
    """Gives a staging folder to fill and moves it to `output` when the block ends without an error.

    Args:
        output: The folder that shall appear, whole.
        overwrite: Replace an existing folder (only at the very end, when the new one is complete).
        resume: None for short work, whose staging folder is thrown away on failure. For long work, true continues an
            unfinished staging folder and false refuses to destroy one; on failure or interruption the folder stays.

    Yields:
        The staging folder, on the same file system as `output`.

    Raises:
        OutputError: If the output is in the way, unfinished work exists and neither flag was given, or another run is
            at work on this output.
    """
    target = check_output(output, overwrite=overwrite)
    with working_folder(target, overwrite=overwrite, resume=resume) as staging:
        try:
            # A run that has ended since the first look may have left its output.
            check_output(target, overwrite=overwrite)
            yield staging
        except BaseException:
            if resume is None or not is_filled(staging):
                shutil.rmtree(staging, ignore_errors=True)
            raise
        move_into_place(staging, target)


def move_into_place(staging: Path, target: Path) -> None:
    """Renames `staging` to `target`, without what only an unfinished run needs; nothing comes after it.

    What was at `target` before is removed only once the new folder is there.
    """
    previous = _previous_path(target)
    try:
        forget(staging)
        remove_leftovers(staging)
        if target.exists():
            if previous.is_symlink():
                previous.unlink()
            elif previous.exists():
                shutil.rmtree(previous)
            target.rename(previous)
        staging.rename(target)
    except OSError as error:
        if previous.exists() and not target.exists():
            previous.rename(target)
        raise OutputError(f"cannot move the finished folder into place: {error.strerror}", path=target) from error
    shutil.rmtree(previous, ignore_errors=True)


def _previous_path(target: Path) -> Path:
    """Returns where what is replaced lies between the two renames."""
    return target.parent / f".{target.name}.previous"
