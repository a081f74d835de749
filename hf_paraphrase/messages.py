"""What the user is shown: log records of the package and results on standard output.

The command line shows the records on standard error; from Python they are those of the logger `hf_paraphrase`. File
names, sentences and messages of libraries may hold escape sequences, which a terminal would obey, and credentials. A
filter of the logger, :func:`show` and the errors of the package take both out.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TextIO

HIDDEN = "<token>"
"""What stands where a token was."""
STREAM_COPIES: dict[str, str] = {}
"""The names that the user gave to pipes, by the files that they were copied to (:mod:`.streams`)."""
# Tokens of the Hub: access tokens, OAuth tokens, organisation tokens.
_TOKEN = re.compile(r"(?:hf_[A-Za-z0-9]{20,}|(?:hf_oauth|hf_jwt|api_org)_[A-Za-z0-9_.-]{10,})")
# A path that was made of a URL has one slash less.
_USER_OF_URL = re.compile(r"(?<=://)[^\s/?#'\"<>]*@|(?<=[a-z0-9+.-]{2}:/)[^\s/?#'\"<>]*@(?!/)")
_SECRET_OF_URL = re.compile(
    r"(?<=[?&;])((?:[\w-]*[_-])?(?:token|signature|sig|secret|password|passwd|pwd|api-?key|key|auth|credentials?))"
    r"=[^\s&;#'\"<>]*",
    re.ASCII | re.IGNORECASE,
)
# Control characters but tabs and line feeds, line separators, what turns the direction of writing, and halves of
# characters, which no encoding can write.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


# ----- what may be shown


def printable(text: str) -> str:
    r"""Escapes what a terminal would obey, as JSON does (`\u001b`); line feeds and tabs stay."""
    return _CONTROL.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1]


def without_secrets(text: str) -> str:
    """Takes out tokens of the Hub, and the users, passwords, keys and signatures of URLs."""
    return _TOKEN.sub(HIDDEN, _SECRET_OF_URL.sub(r"\1=***", _USER_OF_URL.sub("", text)))


def as_given(text: str) -> str:
    """Puts the names that the user gave to pipes in place of those of their copies."""
    for copy, name in STREAM_COPIES.items():
        text = text.replace(copy, name)
    return text


def shown_line(text: str, longest: int | None = None) -> str:
    """Puts a text that may be shown on one line, cut to so many characters."""
    line = printable(without_secrets(as_given(" ".join(text.split()))))
    return line if longest is None or len(line) <= longest else f"{line[: longest - 1]}…"


# ----- log


def _sanitize(record: logging.LogRecord) -> bool:
    """Takes out of a record what must not be shown."""
    record.msg, record.args = printable(without_secrets(as_given(record.getMessage()))), None
    return True


LOGGER = logging.getLogger("hf_paraphrase")
LOGGER.addFilter(_sanitize)


def log(text: str) -> None:
    """Tells the user something, once for all processes."""
    if is_main_process():
        LOGGER.info("%s", text)


@contextmanager
def shown_messages() -> Iterator[None]:
    """Shows what is logged on standard error, as it is and at once, while the block runs."""
    if any(isinstance(handler, _StandardError) for handler in LOGGER.handlers):
        yield  # a verb that runs inside another one
        return
    handler = _StandardError()
    level = LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOGGER.setLevel(level)
        LOGGER.removeHandler(handler)


class _StandardError(logging.StreamHandler[TextIO]):
    """Writes to standard error, above the progress bars if there are any."""

    def emit(self, record: logging.LogRecord) -> None:
        bars = getattr(sys.modules.get("tqdm"), "tqdm", None)
        with nullcontext() if bars is None else bars.external_write_mode(file=self.stream):
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """Does nothing: a message that cannot be written is no reason to end the work."""


# ----- results


class ReaderGoneError(BrokenPipeError):
    """Whoever read standard output reads no more, as `head` does."""


def show(text: str) -> None:
    """Writes the result of a verb to standard output, at once."""
    with standard_output() as stream:
        text = printable(text)
        try:
            text.encode(stream.encoding or "utf-8")
        except UnicodeEncodeError:
            text = _NOT_ASCII.sub(_escaped, text)
        stream.write(text)


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """Yields standard output to write data to, and flushes it after the block."""
    try:
        yield sys.stdout
        sys.stdout.flush()
    except OSError as error:
        # Else the interpreter would try to write the rest at its end, and complain.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise ReaderGoneError from error
        raise OSError(error.errno, error.strerror, "standard output") from error


# ----- several processes


def process_count() -> int:
    """Counts the processes that `accelerate launch` or `torchrun` started; 1 without them."""
    return _rank_and_count()[1]


def is_main_process() -> bool:
    """Tells whether this is the process that writes; `accelerate launch` and `torchrun` number several from 0."""
    return _rank_and_count()[0] == 0


def _rank_and_count() -> tuple[int, int]:
    """Reads the number of this process and how many there are, where the launcher has set all of the variables."""
    try:
        rank, _, count = (int(os.environ[name]) for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"))
    except (KeyError, ValueError):
        return 0, 1
    return rank, count
