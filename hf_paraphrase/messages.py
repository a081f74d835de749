"""What is said and shown to the user: log records of the package, written once for all processes, and results.

The command line shows the records on standard error; from Python they are those of the logger `hf_paraphrase`. What a
verb has found goes to standard output. Neither holds anything that a terminal would obey, nor credentials.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from .errors import OutputError
from .shown_text import as_given, encodable, printable, without_secrets

LOGGER = logging.getLogger("hf_paraphrase")


_OF_A_GROUP = ("RANK", "LOCAL_RANK", "WORLD_SIZE")
"""What `accelerate launch` and `torchrun` tell each process of a group, all of it together."""


_OF_MPI = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "WORLD_SIZE")


def process_count() -> int:
    """Counts the processes that `accelerate launch` or `torchrun` started; 1 without them."""
    return (_place_in_group() or (0, 1))[1]


def is_main_process() -> bool:
    """Tells whether this is the process that writes; `accelerate launch` and `torchrun` number several from 0."""
    return (_place_in_group() or (0, 1))[0] == 0


def lacks_its_group() -> bool:
    """Tells whether `accelerate launch` was asked for several processes and started this one alone.

    It does with `--cpu --num_processes 2`, for which it has MPI in mind: it then says where the others would be met,
    and not how many there are.
    """
    launched = "ACCELERATE_MIXED_PRECISION" in os.environ and "MASTER_PORT" in os.environ
    return launched and not any(name in os.environ for name in (*_OF_A_GROUP, *_OF_MPI))


@contextmanager
def stray_variables_hidden() -> Iterator[None]:
    """Hides what looks like a group of processes and is none: accelerate would wait for the others for ever.

    Clusters, containers and forgotten `export`s set some of these variables where nobody has started a group.
    """
    stray = [name for name in _OF_A_GROUP if name in os.environ] if _place_in_group() is None else []
    hidden = {name: os.environ.pop(name) for name in stray}
    try:
        yield
    finally:
        os.environ.update(hidden)


def _place_in_group() -> tuple[int, int] | None:
    """Reads the number of this process and how many there are; None if the environment does not say all of it."""
    given = [os.environ.get(name, "") for name in _OF_A_GROUP]
    if not all(text.isascii() and text.isdecimal() and len(text) < 10 for text in given):
        return None
    rank, local_rank, count = map(int, given)
    return (rank, count) if max(rank, local_rank) < count else None


def log(text: str) -> None:
    """Tells the user something, once for all processes."""
    if is_main_process():
        LOGGER.info("%s", printable(without_secrets(as_given(text))))


class ReaderGoneError(BrokenPipeError):
    """Whoever read standard output reads no more, as `head` does."""


def show(text: str) -> None:
    """Writes what a verb has found to standard output, at once; what it cannot write in its encoding is escaped.

    Raises:
        OutputError: If it is closed or full.
        ReaderGoneError: If nobody reads it any more.
    """
    with standard_output() as stream:
        stream.write(encodable(printable(text), stream.encoding or "utf-8"))


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """Gives standard output to write data to, and flushes it behind the block.

    Raises:
        OutputError: If it is closed or full.
        ReaderGoneError: If nobody reads it any more.
    """
    if sys.stdout is None:
        raise OutputError("standard output is closed")
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError as error:
        raise ReaderGoneError from error
    except OSError as error:
        raise OutputError(f"cannot write to standard output: {error.strerror or error}") from error


@contextmanager
def shown_messages() -> Iterator[None]:
    """Shows what is said on standard error, as it is and at once, while the block runs."""
    if any(isinstance(handler, _StandardError) for handler in LOGGER.handlers):
        yield  # a verb that runs inside another one
        return
    handler = _StandardError()
    handler.setFormatter(logging.Formatter("%(message)s"))
    level = LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOGGER.setLevel(level)
        LOGGER.removeHandler(handler)


class _StandardError(logging.StreamHandler[TextIO]):
    """Writes to what standard error is at the moment of writing, which tests and notebooks exchange."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Writes above the progress bars, if there are any."""
        bars: Any = sys.modules.get("tqdm")
        if bars is None or not hasattr(bars, "tqdm"):
            super().emit(record)
            return
        with bars.tqdm.external_write_mode(file=self.stream):
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """Does nothing: that a message could not be written is no reason to end the work, or to write more."""

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        return sys.stderr
