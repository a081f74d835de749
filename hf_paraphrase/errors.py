"""The errors that a user of hf_paraphrase can meet.

Every one of them is a :class:`HfParaphraseError`, names the file and line where there is one, the value that is wrong,
and what to do about it. The command line prints them as one line and ends with exit code 2.
"""

from __future__ import annotations

import os


class HfParaphraseError(Exception):
    """Base class: a problem that the user can mend.

    Args:
        message: What is wrong, with the offending value.
        path: The file or folder in which it was found.
        line: The line number, counted from 1.
        remedy: What to do about it.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | os.PathLike[str] | None = None,
        line: int | None = None,
        remedy: str | None = None,
    ) -> None:
        self.message = message
        self.path = None if path is None else os.fspath(path)
        self.line = line
        self.remedy = remedy
        super().__init__(message)

    def __str__(self) -> str:
        place = "" if self.path is None else self.path + ("" if self.line is None else f":{self.line}") + ": "
        remedy = "" if self.remedy is None else f" ({self.remedy})"
        return " ".join(f"{place}{self.message}{remedy}".split())


class UsageError(HfParaphraseError, ValueError):
    """The command line or a configuration file asks for something that does not exist or does not fit together."""


class InputError(HfParaphraseError):
    """An input file or data set is missing, malformed or unusable."""


class OutputError(HfParaphraseError):
    """An output folder is in the way, incomplete, or cannot be written."""


class ModelError(HfParaphraseError):
    """A model folder is missing, damaged, or of another kind than the task needs."""


class HubError(HfParaphraseError):
    """The Hub cannot be reached, or refuses what was asked of it."""
