"""Data folders at addresses, such as s3://bucket/folder or hf://datasets/name: read where they lie, through fsspec.

What of them is read is checked as that of any folder: a file is a stream of known length.
"""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any, BinaryIO, cast

from ..errors import HfParaphraseError, InputError
from ..messages import shown_line, without_secrets
from ..settings import URL

# A cache of what is here would hide the links from those who check them.
_HERE = re.compile(r"(?:\w+::)*(?:file|local)://(?P<path>.*)", re.DOTALL)
_BUFFER = 1 << 20


def to_path(name: str | os.PathLike[str]) -> Path:
    """Returns a path, or what serves as one for reading where the name is an address.

    What is shown and recorded of an input is `to_path(input).name`: the name of a path that was made of an address
    may be its user and password.

    Raises:
        InputError: If fsspec knows no such address, or lacks a package for it.
    """
    text = os.fspath(name)
    if not URL.fullmatch(text):
        return Path(name)
    if found := _HERE.fullmatch(text):
        return Path(found["path"])
    # All that is asked of a path that is read is there.
    return cast(Path, name if isinstance(name, RemotePath) else RemotePath(text))


class RemotePath(os.PathLike[str]):
    """A file or folder at an address, which travels to other processes as that.

    Args:
        address: The address.

    Raises:
        InputError: If fsspec knows no such address, or lacks a package for it.
    """

    def __init__(self, address: str) -> None:
        import fsspec

        # Not the slashes behind the protocol of a whole store.
        self._address = re.sub(r"(?<![:/])/+$", "", address)
        with _named(self._address):
            self._system, self._path = fsspec.core.url_to_fs(self._address)

    def __reduce__(self) -> tuple[Any, ...]:
        return RemotePath, (self._address,)

    def __fspath__(self) -> str:
        return self._address

    def __str__(self) -> str:
        return self._address

    def __lt__(self, other: RemotePath) -> bool:
        return PurePosixPath(self._path) < PurePosixPath(other._path)

    def __truediv__(self, name: str) -> RemotePath:
        # Of zip://folder::s3://bucket/archive.zip the folder is the place; a cache has none of its own.
        parts = self._address.split("::")
        place = next(number for number, part in enumerate(parts) if "://" in part)
        parts[place] += name if parts[place].endswith("/") else f"/{name}"
        return RemotePath("::".join(parts))

    @property
    def name(self) -> str:
        """The last part of the address, without credentials, which stand there where it has no path."""
        return PurePosixPath(without_secrets(f"://{self._path.lstrip('/')}")).name

    def resolve(self) -> RemotePath:
        """Returns itself: there are no links."""
        return self

    def exists(self) -> bool:
        """Tells whether it is there."""
        return self._kind() is not None

    def is_dir(self) -> bool:
        """Tells whether it is a folder."""
        return self._kind() == "directory"

    def is_file(self) -> bool:
        """Tells whether it is a file."""
        return self._kind() == "file"

    def _kind(self) -> str | None:
        """Asks what it is; unlike fsspec's own questions, this one does not take any error for a no."""
        with _named(self._address):
            try:
                return str(self._system.info(self._path)["type"])
            except FileNotFoundError:
                return None

    def glob(self, pattern: str) -> list[RemotePath]:
        """Lists the files in this folder whose names fit a pattern."""
        return self._files(pattern, 1)

    def rglob(self, pattern: str) -> list[RemotePath]:
        """Lists the files below this folder whose names fit a pattern."""
        return self._files(pattern, None)

    def _files(self, pattern: str, depth: int | None) -> list[RemotePath]:
        with _named(self._address):
            found = [
                name for name in self._system.find(self._path, maxdepth=depth) if PurePosixPath(name).match(pattern)
            ]
            return [self / str(PurePosixPath(name).relative_to(self._path)) for name in found]

    def relative_to(self, folder: RemotePath) -> PurePosixPath:
        """Returns the way from a folder that holds it."""
        return PurePosixPath(self._path).relative_to(folder._path)

    def stat(self) -> Any:
        """Returns its size, and that it is a plain file, as the system says it of files here."""
        with _named(self._address):
            return SimpleNamespace(st_size=int(self._system.info(self._path)["size"]), st_mode=stat.S_IFREG)

    def open(self, mode: str = "rb") -> BinaryIO:
        """Opens a file for reading."""
        with _named(self._address):
            return io.BufferedReader(_Stream(self._system.open(self._path, mode), self._address), _BUFFER)


class _Stream(io.RawIOBase):
    """What fsspec opened, whose errors name the address."""

    def __init__(self, opened: Any, address: str) -> None:
        self._opened, self._address = opened, address

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with _named(self._address):
            found = self._opened.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        with _named(self._address):
            return int(self._opened.seek(place, whence))

    def tell(self) -> int:
        return int(self._opened.tell())

    def close(self) -> None:
        if not self.closed:
            self._opened.close()
        super().close()


@contextmanager
def _named(address: str) -> Iterator[None]:
    """Turns whatever a file system raises, each of which has errors of its own, into one that names the address.

    Raises:
        InputError: For any error.
    """
    try:
        yield
    except HfParaphraseError:
        raise
    except FileNotFoundError as error:
        raise InputError("no such file or folder", path=address) from error
    except Exception as error:
        text = shown_line(str(error), 300) or type(error).__name__
        remedy = "check the address, the network and your credentials"
        if isinstance(error, ImportError):
            # It names the package.
            remedy = "install it with pip"
        elif isinstance(error, ValueError) and "rotocol" in text:
            remedy = "s3://bucket/folder, hf://datasets/name, or what else fsspec knows"
        raise InputError(f"cannot be read: {text}", path=address, remedy=remedy) from error
