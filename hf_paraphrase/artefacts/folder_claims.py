"""Keeps two runs out of one folder: a lock that the system gives back when a run ends, however it ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import OutputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


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
