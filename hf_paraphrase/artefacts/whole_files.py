"""Files that appear under their name complete or not at all."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import OutputError

_LONGEST_NAME = 200


def shortened(name: str) -> str:
    """Shortens a name of up to 255 bytes so that a prefix and an ending can be added; different names differ."""
    encoded = os.fsencode(name)
    if len(encoded) <= _LONGEST_NAME:
        return name
    return os.fsdecode(encoded[: _LONGEST_NAME - 17]) + "-" + hashlib.sha256(encoded).hexdigest()[:16]


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Gives a new file to write, which takes its name at `path` when the block ends without an error.

    Its name until then is unpredictable, and it is not opened through a link. A link at `path` is replaced. Errors of
    the block that name another file pass unchanged.
    """
    path = Path(path)
    temporary = path.with_name(f".{shortened(path.name)}.{os.urandom(8).hex()}.partial")
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
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_parts_whole(path: str | os.PathLike[str], parts: Iterable[str]) -> None:
    """Writes a UTF-8 text file from parts, of which one at a time is in memory."""
    with written_whole(path) as temporary, temporary.open("w", encoding="utf-8", errors="backslashreplace") as stream:
        stream.writelines(parts)


def write_text_whole(path: str | os.PathLike[str], text: str) -> None:
    """Writes a UTF-8 text file."""
    write_parts_whole(path, [text])
