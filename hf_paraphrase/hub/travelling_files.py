"""Which files of a folder travel to the Hub, which stay at home, and which must not be there at all.

By-products of work and of tools (hidden files, checkpoints, byte code, logs) stay at home without harm: a folder is
complete without them. What would harm its readers or its owner (pickles, links, unfinished files) is refused until
the user has removed it or left it out by name.
"""

from __future__ import annotations

import fnmatch
import os
import re
import stat
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError

_BY_PRODUCTS = (
    (re.compile(r"checkpoints?([-_].*)?", re.IGNORECASE), "a checkpoint of training"),
    (re.compile(r"__pycache__|.*\.py[co]"), "byte code"),
    (re.compile(r"events\.out\.tfevents\..*|wandb"), "a log of training"),
    (re.compile(r"(training_args|optimizer|scheduler|scaler|rng_state(_\d+)?)\.(bin|pth?)"), "state of training"),
)
_UNFINISHED = re.compile(r".*\.(partial|incomplete|tmp|part|crdownload)|\..*-\d{5}\.parquet", re.IGNORECASE)
_PICKLE_SUFFIXES = {".pkl", ".pickle", ".joblib", ".dill", ".pt", ".pth", ".ckpt"}
# A pickle of protocol 2 or later begins so (Python's pickletools, PROTO); older ones have no mark of their own.
_PICKLE_START = re.compile(rb"\x80[\x02-\x05]")
_ZIP_START = b"PK\x03\x04"
_NUMPY_START = b"\x93NUMPY"


@dataclass(frozen=True)
class TravellingFile:
    """A file that travels.

    Attributes:
        name: Its place in the folder and in the repository, with forward slashes.
        path: Where it lies.
        size: Its size in bytes, as it travels.
        content: What travels instead of the file's own content; None for that itself.
    """

    name: str
    path: Path
    size: int
    content: bytes | None = None

    def read(self) -> bytes:
        """Reads the whole of what travels."""
        return self.path.read_bytes() if self.content is None else self.content


@dataclass(frozen=True)
class FileList:
    """What lies in a folder, sorted by name.

    Attributes:
        files: What travels.
        left_out: What stays at home: the name (that of a folder ends in a slash) and the reason.
    """

    files: tuple[TravellingFile, ...]
    left_out: tuple[tuple[str, str], ...]

    @property
    def size(self) -> int:
        """The size of all that travels, in bytes."""
        return sum(file.size for file in self.files)

    @property
    def names(self) -> frozenset[str]:
        """The names of all that travels."""
        return frozenset(file.name for file in self.files)


def list_files(folder: str | os.PathLike[str], exclude: Sequence[str] = ()) -> FileList:
    """Lists a folder's files by what happens to them in a push.

    Args:
        folder: The folder.
        exclude: Patterns (`*`, `?`, `[...]`) of files and folders to leave out, compared with their names and with
            their whole places in the folder.

    Raises:
        InputError: If the folder cannot be read, holds nothing that travels, or holds what must not travel.
    """
    root = Path(folder)
    if not root.is_dir():
        problem = "is a file, not a folder" if root.exists() else "there is no such folder"
        raise InputError(problem, path=folder, remedy="name a model, data or metric folder")
    files: list[TravellingFile] = []
    left_out: list[tuple[str, str]] = []
    for path, name in _walk(root, exclude, left_out):
        forbidden = _forbidden(path, name)
        if forbidden is not None:
            raise InputError(
                f"must not travel: {forbidden[0]}", path=path, remedy=f"{forbidden[1]}, or leave it out with --exclude"
            )
        files.append(TravellingFile(name, path, path.stat().st_size))
    if not files:
        raise InputError("there is nothing to send", path=folder, remedy="name a model, data or metric folder")
    return FileList(tuple(sorted(files, key=lambda file: file.name)), tuple(sorted(left_out)))


def _walk(root: Path, exclude: Sequence[str], left_out: list[tuple[str, str]]) -> Iterator[tuple[Path, str]]:
    """Yields path and name of the files that nobody leaves out, and notes the others in `left_out`."""

    def fail(error: OSError) -> None:
        raise InputError(f"cannot read the folder: {error.strerror}", path=error.filename) from error

    for place, folders, files in os.walk(root, onerror=fail):
        for name in sorted(folders + files):
            path = Path(place) / name
            full = path.relative_to(root).as_posix()
            if any(fnmatch.fnmatchcase(text, pattern.rstrip("/")) for pattern in exclude for text in (name, full)):
                reason: str | None = "left out by --exclude"
            elif _UNFINISHED.fullmatch(name):
                raise InputError(
                    "must not travel: the file is unfinished",
                    path=path,
                    remedy="finish the run that writes it, remove it, or leave it out with --exclude",
                )
            else:
                reason = _by_product(name)
            is_folder = name in folders
            if reason is not None:
                left_out.append((f"{full}/" if is_folder else full, reason))
            elif not is_folder or path.is_symlink():
                yield path, full
            if is_folder and (reason is not None or path.is_symlink()):
                folders.remove(name)


def _by_product(name: str) -> str | None:
    if name.startswith("."):
        return "hidden"
    return next((reason for pattern, reason in _BY_PRODUCTS if pattern.fullmatch(name)), None)


def _forbidden(path: Path, name: str) -> tuple[str, str] | None:
    """Returns why a file must not travel and what to do about it, or None."""
    if not name.isprintable() or "\\" in name or not _is_unicode(name):
        return "its name has characters that a repository cannot have", "rename it"
    if path.is_symlink():
        return "it is a link", "put a copy in its place, for example with `cp -RL`"
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return "it is not a regular file", "remove it"
        with path.open("rb") as stream:
            start = stream.read(128)
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}", path=path) from error
    if path.suffix.lower() in _PICKLE_SUFFIXES or _is_pickle(path, start):
        return "it is a pickle, which can run code when it is opened", "save weights as safetensors"
    return None


def _is_unicode(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _is_pickle(path: Path, start: bytes) -> bool:
    if _PICKLE_START.match(start):
        return True
    if start.startswith(_NUMPY_START):  # an array of objects is a pickle behind its header
        return b"'|O'" in start
    if start.startswith(_ZIP_START):
        try:
            with zipfile.ZipFile(path) as archive:
                return any(entry.rpartition("/")[2] == "data.pkl" for entry in archive.namelist())
        except (zipfile.BadZipFile, OSError):
            return False
    return False
