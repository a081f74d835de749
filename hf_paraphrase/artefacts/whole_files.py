"""Files within an artefact, or beside it, that are never seen half written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import OutputError

_LONGEST_NAME = 200


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Gives a new file to write, which takes its name at `path` when the block ends without an error.

    Its name until then cannot be foreseen, and it is not opened through a link. A link at `path` is replaced.

    Raises:
        OutputError: If the file cannot be written; errors of the block about other files pass.
    """
    path = Path(path)
    temporary = path.with_name(f".{os.fsdecode(os.fsencode(path.name)[:_LONGEST_NAME])}.{os.urandom(8).hex()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        yield temporary
        temporary.replace(path)
    except OSError as error:
        if error.filename not in {None, str(path), str(temporary), str(path.parent)}:
            raise
        raise OutputError(f"cannot write: {error.strerror or error}", path=path) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_parts_whole(path: str | os.PathLike[str], parts: Iterable[str]) -> None:
    """Writes a UTF-8 text file from parts, of which one at a time is in memory."""
    with written_whole(path) as temporary, temporary.open("w", encoding="utf-8", errors="backslashreplace") as stream:
        stream.writelines(parts)


def write_text_whole(path: str | os.PathLike[str], text: str) -> None:
    """Writes a UTF-8 text file."""
    write_parts_whole(path, [text])
