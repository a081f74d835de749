"""Reads files with errors that name the file, writes files atomically, and locks them."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import HfParaphraseError, InputError, ModelError, OutputError, UsageError, error_of_the_system
from ..messages import log, sanitize_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

_REMEDY = "copy or re-create it"
_LONGEST_NAME, _LONGEST_MESSAGE = 200, 300


def read_bytes(path: Path, error: type[HfParaphraseError] = InputError) -> bytes:
    """Read a file, at a path or a URL."""
    try:
        with path.open("rb") as stream:
            return stream.read()
    except OSError as reason:
        raise error(f"cannot read: {reason.strerror or reason}", path=path) from reason


def read_json(path: Path, error: type[HfParaphraseError] = InputError) -> Any:
    """Read a JSON file; raises `error` if it is missing, unreadable, or not JSON in UTF-8."""
    content = read_bytes(path, error)
    try:
        return json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as reason:
        raise error(f"{path.name} is damaged: {reason}", path=path, remedy=_REMEDY) from reason


def read_json_object(path: Path, error: type[HfParaphraseError] = InputError) -> dict[str, Any]:
    """Read a JSON file as :func:`read_json` does; raises `error` if it is not an object."""
    value = read_json(path, error)
    if not isinstance(value, dict):
        raise error(f"{path.name} is damaged: not a JSON object", path=path, remedy=_REMEDY)
    return value


def read_optional_json(path: Path) -> dict[str, Any]:
    """Read a JSON object of a model folder; return an empty one if there is no such file."""
    return read_json_object(path, ModelError) if path.is_file() else {}


def open_array(path: Path) -> NDArray[Any]:
    """Map a .npy file into memory; refuse it if it is missing, damaged, cut off, or a pickle."""
    import numpy as np

    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as reason:
        raise InputError(f"cannot read: {reason.strerror or reason}", path=path) from reason
    except Exception as reason:  # the header is parsed as Python, with whatever errors that may give
        raise InputError("not a readable NumPy file", path=path, remedy=_REMEDY) from reason
    if not isinstance(array, np.ndarray):
        raise InputError("not one array but an archive of several", path=path, remedy=_REMEDY)
    return array


def check_no_links(folder: str | os.PathLike[str]) -> None:
    """Refuse to write into a folder that contains a link, at any depth."""
    for path in sorted(Path(folder).rglob("*")):
        if path.is_symlink():
            raise InputError("a link", path=path, remedy="remove it")


@contextmanager
def quiet_transformers(*, warns: bool = False) -> Iterator[None]:
    """Suppress the progress bars of transformers, if it is imported, and its warnings unless `warns` is true."""
    if "transformers" not in sys.modules:
        yield
        return
    from transformers.utils import logging

    shows_bars, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    if not warns:
        logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if shows_bars:
            logging.enable_progress_bar()


@contextmanager
def wrap_load_errors(what: str, path: str | os.PathLike[str], remedy: str = "copy the model again") -> Iterator[None]:
    """Turn any error of a library in the block into one `ModelError`; `what` is e.g. `the model`."""
    try:
        with quiet_transformers():
            yield
    except HfParaphraseError:
        raise
    except BaseException as error:
        # Libraries written in Rust raise a PanicException, which is not an `Exception` and cannot be imported.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if isinstance(explained := error_of_the_system(error), UsageError):
            raise explained from error  # a missing package or too little memory, not a damaged file
        text = sanitize_line(f"{type(error).__name__}: {error}", _LONGEST_MESSAGE)
        raise ModelError(f"{what} cannot be opened: {text}", path=path, remedy=remedy) from error


def shortened(name: str) -> str:
    """Shorten a name of up to 255 bytes so that a prefix and an ending can be added; different names differ."""
    encoded = os.fsencode(name)
    if len(encoded) <= _LONGEST_NAME:
        return name
    return os.fsdecode(encoded[: _LONGEST_NAME - 17]) + "-" + hashlib.sha256(encoded).hexdigest()[:16]


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of a new file, which is renamed to `path` when the block ends without an error.

    A link at `path` is replaced, not followed. Errors of the block that name another file pass unchanged.
    """
    path = Path(path)
    temporary = path.with_name(f".{shortened(path.name)}.{os.urandom(8).hex()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        os.close(descriptor)
        yield temporary
        temporary.chmod(mode)  # a library may have replaced it by a private file
        temporary.replace(path)
    except OSError as error:
        if error.filename not in {None, str(path), str(temporary), str(path.parent)}:
            raise
        raise OutputError(f"cannot write: {error.strerror or error}", path=path) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def give_usual_modes(folder: Path) -> None:
    """Set the modes of all files below a folder by its umask; safetensors writes private files."""
    allowed = stat.S_IMODE(folder.stat().st_mode) & 0o666
    for parent, _, names in os.walk(folder):
        for path in (Path(parent) / name for name in names):
            with suppress(FileNotFoundError):  # another part of a job removes its temporary files
                if not path.is_symlink() and stat.S_IMODE(path.stat().st_mode) & 0o666 != allowed:
                    path.chmod(allowed)


def atomic_write_text(path: str | os.PathLike[str], text: str | Iterable[str]) -> None:
    """Write a UTF-8 text file from a text or its parts; only one part at a time is in memory."""
    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8", errors="backslashreplace") as stream:
        stream.writelines([text] if isinstance(text, str) else text)


def dump_json(value: Any) -> str:
    """Write JSON in which NaN and infinity, which JSON lacks, are null, and dates are text."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str, allow_nan=False)
    except ValueError:
        finite = json.loads(json.dumps(value, default=str), parse_constant=lambda name: None)
        return json.dumps(finite, ensure_ascii=False)


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write a JSON file, indented by two spaces."""
    atomic_write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


@contextmanager
def locked(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Lock a file or folder during the block; if another run holds the lock, wait for it or raise an error."""
    if not path.name:
        raise OutputError("the output is the root of a file system", path=path, remedy="name a new folder")
    # Its import takes longer than `--help`, which needs no lock.
    from filelock import FileLock, Timeout

    lock = FileLock(path.with_name(f".{shortened(path.name)}.lock"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout as error:
            if not os.path.lexists(lock.lock_file):
                # FileLock waits for a folder, such as /proc, in which no file can be made.
                os.close(os.open(lock.lock_file, os.O_WRONLY | os.O_CREAT, 0o666))
            if not wait:
                remedy = "wait for it, or give another --output"
                raise OutputError("another run is writing this output", path=path, remedy=remedy) from error
            log(f"waiting for another run that is writing {path}")
            lock.acquire()
    except OSError as error:
        raise OutputError(f"cannot write: {error.strerror}", path=lock.lock_file) from error
    try:
        yield
    finally:
        with suppress(OSError):
            Path(lock.lock_file).unlink()
        lock.release()
