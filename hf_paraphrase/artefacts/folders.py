"""Outputs, folders and files, that appear whole or not at all.

Work is written to a staging folder beside the output (`.NAME.partial`) and renamed at the end, so a reader never sees
half an output and a failure never harms what was there before. A lock that the system gives back when a run ends,
however it ends, keeps two runs out of one staging folder.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import OutputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def staging_path(output: str | os.PathLike[str]) -> Path:
    """Returns the folder in which the unfinished work for `output` is kept."""
    output = Path(output)
    return output.parent / f".{output.name}.partial"


def is_filled(folder: Path) -> bool:
    """Tells whether `folder` exists and holds anything (a file in its place counts)."""
    return folder.is_file() or (folder.is_dir() and any(folder.iterdir()))


def check_output(output: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Refuses an output that would destroy something.

    Args:
        output: The output folder.
        overwrite: Whether the user allowed an existing folder to be replaced.

    Returns:
        The output as a resolved path.

    Raises:
        OutputError: If the folder is not empty and `overwrite` is false, or if the path cannot be a folder.
    """
    resolved = Path(output).expanduser().resolve()
    if resolved.is_file():
        raise OutputError("the output is a file, not a folder", path=output, remedy="give another --output")
    if is_filled(resolved) and not overwrite:
        raise OutputError(
            "the output folder exists and is not empty", path=output, remedy="give another --output, or --overwrite"
        )
    if resolved == Path.cwd() or resolved in Path.cwd().parents:
        raise OutputError("the output is the current folder or holds it", path=output, remedy="name a new folder")
    return resolved


def check_output_file(output: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Refuses a file to write that would destroy something; returns it as a path.

    Raises:
        OutputError: If it is a folder, or exists and `overwrite` is false.
    """
    path = Path(output)
    if path.is_dir():
        raise OutputError("the output is a folder, not a file", path=output, remedy="name a file")
    if path.exists() and not overwrite:
        raise OutputError("the output file exists", path=output, remedy="give another name, or --overwrite")
    return path


def check_unfinished(output: str | os.PathLike[str], *, overwrite: bool, resume: bool) -> None:
    """Refuses to disturb a run for `output` that goes on, or to destroy the unfinished work of an earlier one.

    Raises:
        OutputError: If there is such a run, or if there is such work and neither flag was given.
    """
    staging = staging_path(output)
    refuse_if_claimed(staging)
    _check_staging(staging, overwrite=overwrite, resume=resume)


def _check_staging(staging: Path, *, overwrite: bool, resume: bool) -> None:
    if is_filled(staging) and not (resume or overwrite):
        raise OutputError(
            "an unfinished run for this output exists",
            path=staging,
            remedy="--resume continues it, --overwrite starts afresh",
        )


@contextmanager
def working_folder(
    output: str | os.PathLike[str], *, overwrite: bool = False, resume: bool | None = None
) -> Iterator[Path]:
    """Makes the staging folder of `output` and keeps other runs out of it; what was written stays.

    Args:
        output: What the work is for.
        overwrite: Whether unfinished work may be thrown away.
        resume: None for short work, where it always is; true leaves it in the folder.

    Yields:
        The staging folder.

    Raises:
        OutputError: If it cannot be made, if unfinished work is in it and neither flag was given, or if a run that
            has not ended is at work in it.
    """
    staging = staging_path(output)
    with claimed_folder(staging):
        if resume is not None:
            _check_staging(staging, overwrite=overwrite, resume=resume)
        if not resume:
            _empty(staging)
        yield staging


def _empty(folder: Path) -> None:
    try:
        for entry in folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
    except OSError as error:
        raise OutputError(f"cannot empty the folder: {error.strerror}", path=folder) from error


@contextmanager
def claimed_folder(folder: Path) -> Iterator[None]:
    """Makes a folder if need be and holds it until the block ends or the process is killed.

    Runs on one machine keep each other out. On Windows and on file systems without locks they do not, nor, on some
    network file systems, do runs on several machines; and of a run in several processes only the first has the claim.

    Raises:
        OutputError: If another run holds the folder, or it is a link or cannot be made.
    """
    descriptor = None
    try:
        while descriptor is None:
            if folder.is_symlink():
                raise OutputError("the place for unfinished work is a link", path=folder, remedy="remove it")
            folder.mkdir(parents=True, exist_ok=True)
            if fcntl is None:
                break
            descriptor = _locked(folder)
    except OSError as error:
        raise OutputError(f"cannot create the folder: {error.strerror}", path=folder) from error
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def refuse_if_claimed(folder: Path) -> None:
    """Refuses a folder that another run holds; one that is absent or cannot be read passes.

    Raises:
        OutputError: If a run that has not ended is at work in it.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        _lock(descriptor, folder, shared=True)
    finally:
        os.close(descriptor)


def check_same_job(record: Path, job: Mapping[str, Any]) -> None:
    """Makes sure that a run that is continued is the one that was begun; writes the record of a new one.

    Args:
        record: JSON file inside the staging folder that says what the unfinished work was made with.
        job: All that determines the result, as JSON values.

    Raises:
        OutputError: If the record differs from `job` or cannot be read.
    """
    if not record.is_file():
        write_text_whole(record, json.dumps(job, indent=2, ensure_ascii=False) + "\n")
        return
    remedy = "repeat the original command with --resume, or start afresh with --overwrite"
    try:
        previous = json.loads(record.read_text(encoding="utf-8"))
        changed = sorted(name for name in {*job, *previous} if previous.get(name) != job.get(name))
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise OutputError("the record of the unfinished run is damaged", path=record, remedy=remedy) from error
    if changed:
        raise OutputError(
            f"the unfinished run had other settings: {', '.join(changed)}", path=record.parent, remedy=remedy
        )


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
    """Renames `staging` to `target`; what was at `target` before is removed only once the new folder is there."""
    previous = target.parent / f".{target.name}.previous"
    try:
        if target.exists():
            if previous.exists():
                shutil.rmtree(previous)
            target.rename(previous)
        staging.rename(target)
    except OSError as error:
        if previous.exists() and not target.exists():
            previous.rename(target)
        raise OutputError(f"cannot move the finished folder into place: {error.strerror}", path=target) from error
    shutil.rmtree(previous, ignore_errors=True)


@contextmanager
def written_whole(path: str | os.PathLike[str], temporary: Path | None = None) -> Iterator[Path]:
    """Gives a temporary file to write, which takes its place at `path` when the block ends without an error.

    Args:
        path: The file that shall appear, whole.
        temporary: The temporary file, in the same folder; `.NAME.partial` if not given. On failure it is removed.

    Yields:
        The temporary file, in a folder that exists.

    Raises:
        OutputError: If the block or the renaming raises an error of the system, as of a full disk.
    """
    path = Path(path)
    temporary = temporary or path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise OutputError(f"cannot write: {error.strerror or error}", path=path) from error


def write_parts_whole(path: str | os.PathLike[str], parts: Iterable[str]) -> None:
    """Writes a UTF-8 text file from parts, of which one at a time is in memory; it is never seen half written.

    Raises:
        OutputError: If it cannot be written.
    """
    with written_whole(path) as temporary, temporary.open("w", encoding="utf-8") as stream:
        stream.writelines(parts)


def write_text_whole(path: str | os.PathLike[str], text: str) -> None:
    """Writes a UTF-8 text file by way of a temporary file, so that it is never seen half written.

    Raises:
        OutputError: If it cannot be written.
    """
    write_parts_whole(path, [text])


def _locked(folder: Path) -> int | None:
    """Opens and locks a folder; None if another run has moved or removed it meanwhile."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        _lock(descriptor, folder)
        if os.path.samestat(os.fstat(descriptor), folder.lstat()):
            return descriptor
    except FileNotFoundError:
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _lock(descriptor: int, folder: Path, *, shared: bool = False) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise OutputError(
            "another run is at work on this output", path=folder, remedy="wait until it ends, or give another --output"
        ) from error
    except OSError:
        # The file system has no locks.
        return
