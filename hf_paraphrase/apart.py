"""What a verb makes lies on this machine, and apart from what it reads, of which only data folders may lie elsewhere.

An output that is one of the inputs, or a folder that holds one, would destroy it when it takes its place; one inside
of a model or data folder would become a part of it, and change the fingerprint by which the folder is known.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import HfParaphraseError, InputError, OutputError

ADDRESS = re.compile(r"(?:\w+::)*[a-z][a-z0-9+.-]+://.*", re.DOTALL)
"""An address such as s3://bucket/folder; one may lead through another: simplecache::s3://bucket/folder."""
_OF_A_WHOLE = ("provenance.json", "config.json", "tokenizer.json", "modules.json")
"""Files of folders that are one thing; any other folder, such as one of raw corpora, may have outputs beside them."""


def check_apart(
    outputs: Iterable[str | os.PathLike[str]], inputs: Iterable[tuple[str, str | os.PathLike[str]]]
) -> None:
    """Refuses an output at an address, one that is an input, holds one or lies in one, and two of which this is true.

    Args:
        outputs: What is to be made.
        inputs: What is read, each with what it is for the message. A text may also be `NAME=PATH`, two
            paths with a colon between them, or what the names of files begin with; one that names nothing that exists
            passes.

    Raises:
        OutputError: If one does not lie apart, or would have to be written to an address.
    """
    made: list[Path] = []
    read = [(name, place) for name, text in inputs for place in _places(os.fspath(text))]
    for output in outputs:
        if ADDRESS.fullmatch(os.fspath(output)):
            raise OutputError(
                "the output is an address, and only inputs may be", path=output, remedy="write it here, and copy it"
            )
        target = Path(os.path.realpath(Path(output).expanduser()))
        for name, place in [*read, *(("another output", other) for other in made)]:
            relation = _relation(target, place)
            if relation is not None:
                raise OutputError(f"the output {relation} {name}, {place}", path=output, remedy="name another output")
        made.append(target)


@contextmanager
def addresses_explained(inputs: Callable[[], Iterable[tuple[str, str | os.PathLike[str]]]]) -> Iterator[None]:
    """Says of an input that is not found in the block that it is an address, where it was opened as a path.

    What can read addresses names them as they were given; a path that is made of one has a slash less.

    Args:
        inputs: Lists what :func:`check_apart` takes.

    Raises:
        InputError: In place of the error about such a path.
    """
    try:
        yield
    except HfParaphraseError as error:
        for name, text in inputs() if error.path is not None else ():
            for given in (os.fspath(text), os.fspath(text).partition("=")[2]):
                if ADDRESS.fullmatch(given) and f"{error.path}/".startswith(f"{Path(given)}/"):
                    raise InputError(
                        f"{name} is an address, and this one must be here", path=given, remedy="copy it, give its path"
                    ) from error
        raise


def _relation(target: Path, place: Path) -> str | None:
    if target == place:
        return "is"
    if target in place.parents:
        return "holds"
    if place in target.parents and any((place / name).is_file() for name in _OF_A_WHOLE):
        return "lies in"
    return None


def _places(text: str) -> Iterator[Path]:
    """Yields what a text names: where it is, and where it leads if it is a link."""
    for part in filter(None, dict.fromkeys([text, text.partition("=")[2], *text.split(":")])):
        try:
            path = Path(part).expanduser()
            found = [path] if os.path.lexists(path) else list(path.parent.glob(f"{glob.escape(path.name)}.*"))
            yield from dict.fromkeys(
                place for one in found for place in (one.resolve(), one.parent.resolve() / one.name)
            )
        except (OSError, ValueError, RuntimeError):
            continue  # no name of a file, or one of nothing that can be reached
