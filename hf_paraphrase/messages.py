"""Messages to the user, without credentials and control characters.

File names, sentences and messages of libraries may contain both. The logger, the printed results and the errors of
the package remove them.
"""

from __future__ import annotations

import json
import logging
import os
import re
import warnings

HIDDEN = "<token>"
INPUT_COPIES: dict[str, str] = {}
"""The names of copied inputs as the user gave them, by the names of the copies (:mod:`.inputs`)."""
_WARNED: set[str] = set()
# Tokens of the Hub: access tokens, OAuth tokens, organisation tokens.
_TOKEN = re.compile(r"(?:hf_[A-Za-z0-9]{20,}|(?:hf_oauth|hf_jwt|api_org)_[A-Za-z0-9_.-]{10,})")
# A path that was made of a URL has one slash less.
_USER_OF_URL = re.compile(r"(?<=://)[^\s/?#'\"<>]*@|(?<=[a-z0-9+.-]{2}:/)[^\s/?#'\"<>]*@(?!/)")
_SECRET_OF_URL = re.compile(
    r"(?<=[?&;])((?:[\w-]*[_-])?(?:token|signature|sig|secret|password|passwd|pwd|api-?key|key|auth|credentials?))"
    r"=[^\s&;#'\"<>]*",
    re.ASCII | re.IGNORECASE,
)
# Control characters except tab and line feed, line separators, bidirectional marks, and lone surrogates.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Escape control characters as JSON does (`\u001b`); line feeds and tabs stay."""
    return _CONTROL.sub(escaped, text)


def escaped(match: re.Match[str]) -> str:
    """Return the JSON escapes of the matched text."""
    return json.dumps(match[0])[1:-1]


def without_secrets(text: str) -> str:
    """Remove tokens of the Hub, and the users, passwords, keys and signatures of URLs."""
    return _TOKEN.sub(HIDDEN, _SECRET_OF_URL.sub(r"\1=***", _USER_OF_URL.sub("", text)))


def as_given(text: str) -> str:
    """Replace the paths of temporary copies in a text by the inputs as the user named them."""
    for copy, name in INPUT_COPIES.items():
        text = text.replace(copy, name)
    return text


def sanitize_line(text: str, longest: int | None = None) -> str:
    """Sanitize a text and put it on one line of at most `longest` characters."""
    line = printable(without_secrets(as_given(" ".join(text.split()))))
    return line if longest is None or len(line) <= longest else f"{line[: longest - 1]}…"


def _sanitize(record: logging.LogRecord) -> bool:
    record.msg, record.args = printable(without_secrets(as_given(record.getMessage()))), None
    return True


LOGGER = logging.getLogger("hf_paraphrase")
LOGGER.addFilter(_sanitize)


def log(text: str, *, warning: bool = False) -> None:
    """Log a message from the main process only; a warning is shown even if the program has not configured logging."""
    if is_main_process():
        LOGGER.log(logging.WARNING if warning else logging.INFO, "%s", text)


def warn_renamed(old: str, new: str) -> None:
    """Warn once per process about a former name: for a flag on standard error, otherwise as a Python warning."""
    if old in _WARNED:
        return
    _WARNED.add(old)
    text = f"`{old}` is deprecated and will be removed in version 1.0: use `{new}`"
    if old.startswith("--"):
        log(f"warning: {text}", warning=True)
    else:
        warnings.warn(text, FutureWarning, stacklevel=3)


def process_count() -> int:
    """Return the number of processes that `accelerate launch` or `torchrun` started, from their variables; else 1."""
    count = os.environ.get("WORLD_SIZE", "")
    return int(count) if count.isdecimal() and os.environ.get("RANK") and os.environ.get("LOCAL_RANK") else 1


def is_main_process() -> bool:
    """Return whether this process writes outputs: the first of the processes of a launcher, or the only one."""
    return process_count() == 1 or os.environ["RANK"] == "0"
