"""Reads data folders at URLs, such as s3://bucket/folder or hf://datasets/name, through fsspec."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from ..errors import HfParaphraseError, InputError
from ..messages import sanitize_line, without_secrets
from ..settings import URL


def to_path(name: str | os.PathLike[str]) -> Path:
    """Return a path, or a :class:`FsspecPath` for a URL."""
    if isinstance(name, FsspecPath):
        return cast(Path, name)
    url = os.fspath(name)
    return cast(Path, FsspecPath(url)) if URL.fullmatch(url) else Path(name)


class FsspecPath(os.PathLike[str]):
    """A file or folder at a URL, with the methods of `pathlib.Path` that readers of data folders use."""

    def __init__(self, url: str, system_and_path: tuple[Any, str] | None = None) -> None:
        import fsspec

        self._url = url
        self._path: str
        with self._errors_named():
            self._system, self._path = system_and_path or fsspec.core.url_to_fs(url)

    def __fspath__(self) -> str:
        return self._url

    __str__ = __fspath__

    def __lt__(self, other: FsspecPath) -> bool:
        return PurePosixPath(self._path) < PurePosixPath(other._path)

    def __truediv__(self, name: str) -> FsspecPath:
        return self._below(self._system._strip_protocol(f"{self._path.rstrip('/')}/{name}"))

    def _below(self, path: str) -> FsspecPath:
        return FsspecPath(self._system.unstrip_protocol(path), (self._system, path))

    @property
    def name(self) -> str:
        """The last part of the URL, without credentials."""
        return PurePosixPath(without_secrets(f"://{self._path.lstrip('/')}")).name

    @property
    def suffix(self) -> str:
        """The suffix of the name."""
        return PurePosixPath(self.name).suffix

    def resolve(self) -> FsspecPath:  # noqa: D102
        return self

    def exists(self) -> bool:  # noqa: D102
        return self._type() is not None

    def is_dir(self) -> bool:  # noqa: D102
        return self._type() == "directory"

    def is_file(self) -> bool:  # noqa: D102
        return self._type() == "file"

    def glob(self, pattern: str) -> list[FsspecPath]:  # noqa: D102
        return [path for path in self.rglob(pattern) if len(path.relative_to(self).parts) == 1]

    def rglob(self, pattern: str) -> list[FsspecPath]:  # noqa: D102
        with self._errors_named():
            paths = [self._below(path) for path in self._system.find(self._path)]
        return [path for path in paths if PurePosixPath(path.name).match(pattern)]

    def relative_to(self, folder: FsspecPath) -> PurePosixPath:  # noqa: D102
        return PurePosixPath(self._path.removeprefix(folder._path).lstrip("/"))

    def open(self, mode: str = "rb") -> BinaryIO:  # noqa: D102
        with self._errors_named():
            return cast(BinaryIO, self._system.open(self._path, mode))

    def _type(self) -> str | None:
        # Unlike fsspec's `exists` this does not hide other errors.
        with self._errors_named():
            try:
                return str(self._system.info(self._path)["type"])
            except FileNotFoundError:
                return None

    @contextmanager
    def _errors_named(self) -> Iterator[None]:
        try:
            yield
        except HfParaphraseError:
            raise
        except Exception as error:
            text = sanitize_line(str(error), 300) or type(error).__name__
            remedy = "check the URL and its protocol, the network and your credentials"
            raise InputError(f"cannot be read: {text}", path=self._url, remedy=remedy) from error
