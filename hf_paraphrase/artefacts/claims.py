"""Who is at work on an output: locks that the system gives back when a run ends, however it ends.

The unfinished work of a folder is a folder, `.NAME.partial`, which the run that works in it holds. For a file there is
an empty file beside it, `.NAME.lock`, which goes when the run ends; one that a killed run has left is taken over.

Runs on one machine keep each other out. On Windows and on file systems without locks they do not, nor, on some network
file systems, do runs on several machines; and of a run in several processes only the first has the claim.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import OutputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

NOT_THROUGH_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
"""Flags of `os.open` for names that others may have chosen: no link is followed, and nobody waits for a pipe."""
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | NOT_THROUGH_LINKS
_FILE = os.O_RDWR | os.O_CREAT | NOT_THROUGH_LINKS


@contextmanager
def claimed_folder(folder: Path, *, shared: bool = False, wait: bool = False) -> Iterator[None]:
    """Makes a folder if need be and holds it until the block ends or the process is killed.

    Args:
        folder: The folder.
        shared: Let others hold it in the same way.
        wait: Wait until no other run holds it.

    Raises:
        OutputError: If another run holds the folder, or it is a link or a file or cannot be made.
    """
    descriptor = None
    try:
        while descriptor is None:
            _make(folder)
            try:
                mode = folder.lstat().st_mode
            except FileNotFoundError:
                # Another run has moved or removed it meanwhile.
                continue
            if not stat.S_ISDIR(mode):
                kind = "a link" if stat.S_ISLNK(mode) else "a file"
                raise OutputError(f"the place for unfinished work is {kind}", path=folder, remedy="remove it")
            if fcntl is None:
                break
            descriptor = _locked(folder, _FOLDER, shared=shared, wait=wait)
    except OSError as error:
        raise OutputError(f"cannot create the folder: {error.strerror}", path=folder) from error
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


@contextmanager
def claimed_file(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Holds the place of a file until the block ends or the process is killed; nothing is done to the file itself.

    Args:
        path: The file.
        wait: Wait until no other run holds it, for what takes a moment only.

    Raises:
        OutputError: If another run holds it, or its folder cannot be made or written.
    """
    if fcntl is None:
        yield
        return
    lock = path.with_name(f".{path.name}.lock")
    descriptor = None
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        while descriptor is None:
            descriptor = _locked(lock, _FILE, of=path, wait=wait)
    except OSError as error:
        raise OutputError(f"cannot write: {error.strerror}", path=lock) from error
    try:
        yield
    finally:
        with suppress(OSError):
            lock.unlink()
        os.close(descriptor)


def refuse_if_claimed(folder: Path) -> None:
    """Refuses a folder that another run holds; one that is absent or cannot be read passes.

    Raises:
        OutputError: If a run that has not ended is at work in it.
    """
    if is_claimed(folder):
        raise _another_run(folder)


def is_claimed(folder: Path) -> bool:
    """Tells whether a run, which may be this one, has a folder for itself; not where there are no locks."""
    try:
        descriptor = os.open(folder, _FOLDER)
    except OSError:
        return False
    try:
        return bool(is_locked(descriptor, shared=True))
    finally:
        os.close(descriptor)


def is_locked(descriptor: int, *, shared: bool = False, wait: bool = False) -> bool | None:
    """Locks an open file or folder until it is closed, unless another process has; then it says so.

    Args:
        descriptor: The open file.
        shared: Let others look in the same way.
        wait: Wait for the other process instead.

    Returns:
        Whether another process has locked it; None where there are no locks.
    """
    if fcntl is None:
        return None
    try:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(descriptor, kind if wait else kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        # The file system has no locks.
        return None
    return False


def is_at(descriptor: int, path: Path) -> bool:
    """Tells whether an open file is the one that has this name now: another run may have moved or removed it."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def _make(folder: Path) -> None:
    """Makes a folder if there is nothing of this name yet."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        folder.mkdir()


def _locked(path: Path, flags: int, of: Path | None = None, *, shared: bool = False, wait: bool = False) -> int | None:
    """Opens and locks a folder or file; None if another run has moved or removed it meanwhile."""
    try:
        descriptor = os.open(path, flags, 0o666)
    except FileNotFoundError:
        return None
    try:
        if is_locked(descriptor, shared=shared, wait=wait):
            raise _another_run(of or path)
        if is_at(descriptor, path):
            return descriptor
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _another_run(path: Path) -> OutputError:
    return OutputError(
        "another run is at work on this output", path=path, remedy="wait until it ends, or give another --output"
    )
