"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import OutputError


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
