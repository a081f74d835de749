"""The errors that a user of hf_paraphrase can meet.

Every one of them is a :class:`HfParaphraseError`, names the file and line where there is one, the value that is wrong,
and what to do about it. The command line prints them as one line and ends with exit code 2.
"""

from __future__ import annotations

import difflib
import errno
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .shown_text import shown_line

_LONGEST = 1_000
"""Characters of a name or a message that are shown; a value in it may be of any length."""


def choice_of(given: object, names: Iterable[str]) -> str:
    """Says for a remedy what may be given instead of an unknown name: the nearest one first, then all."""
    listed = list(names)
    near = difflib.get_close_matches(str(given), listed, 1)
    return f"did you mean {near[0]}? One of {', '.join(listed)}" if near else f"one of {', '.join(listed)}"


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
        number = "" if self.line is None else f":{self.line}"
        place = "" if self.path is None else f"{shown_line(self.path, _LONGEST)}{number}: "
        remedy = "" if self.remedy is None else f" ({shown_line(self.remedy)})"
        return f"{place}{shown_line(self.message, _LONGEST)}{remedy}"


class UsageError(HfParaphraseError, ValueError):
    """The command line or a configuration file asks for something that does not exist or does not fit together."""


class InputError(HfParaphraseError):
    """An input file or data set is missing, malformed or unusable."""


def no_folder(path: str | os.PathLike[str], remedy: str) -> InputError:
    """Makes the error for a folder that is not there: there is nothing, or a file."""
    path = Path(path)
    what = "this is a file, not a folder" if path.exists() else "no such folder"
    return InputError(what, path=path, remedy=remedy)


class OutputError(HfParaphraseError):
    """An output folder is in the way, incomplete, or cannot be written."""


class ModelError(HfParaphraseError):
    """A model folder is missing, damaged, or of another kind than the task needs."""


class HubError(HfParaphraseError):
    """The Hub cannot be reached, or refuses what was asked of it."""


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_WRITABLE = (errno.EROFS,)
_BAD_NAME = (errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES, errno.EPERM, errno.EIO, errno.ESTALE)
# Libraries written in Rust give the number of the system's error in the text, others nothing but a text.
_NUMBER_IN_TEXT = re.compile(r"\(os error (\d{1,9})\)|\[errno (\d{1,9})\]", re.IGNORECASE)
_WRITTEN_IN_PART = re.compile(
    r"PytorchStreamWriter failed|\binline_container\b.* unexpected pos \d+|iostream error"
    r"|^\d+ requested and \d+ written$"
)
_NO_MEMORY = re.compile(
    r"can't allocate memory|Storage size calculation overflowed|^std::bad_alloc$"
    r"|^array is too big; |^Maximum allowed dimension exceeded$|^Unable to allocate "
)
# A tokenizer that lacks a token that it names, or has a pattern that finds no end, opens, and fails at some texts.
_TOKENIZER_FAILS = re.compile(r"\[UNK\] token|[Uu]nk(nown)? token|Regex search error|no entry found for key|`stride`")
_LOOP = re.compile(r"^Symlink loop from '(.*)'$", re.DOTALL)


def error_of_the_system(error: BaseException) -> HfParaphraseError | None:
    """Finds what the system refused where a library failed, as an error that says what to do about it.

    Args:
        error: Any exception; what it was raised from is looked at, too.

    Returns:
        The error for a full disk, for want of memory, for a name that is too long, leads round in a circle or may not
        be opened, for a name that is no UTF-8 or holds a NUL, and for a text that is too much for a tokenizer; None
        for everything else, which may be a fault of this program.
    """
    seen: list[BaseException] = []
    found: BaseException | None = error
    while found is not None and found not in seen:
        seen.append(found)
        if (explained := _explained(found)) is not None:
            return explained
        found = found.__cause__ or found.__context__
    return None


@contextmanager
def system_errors_explained() -> Iterator[None]:
    """Raises what the system refuses in the block as an error that says what to do about it.

    Raises:
        HfParaphraseError: As :func:`error_of_the_system` finds.
    """
    try:
        yield
    except HfParaphraseError:
        raise
    except Exception as error:
        explained = error_of_the_system(error)
        if explained is None:
            raise
        raise explained from error


def _explained(error: BaseException) -> HfParaphraseError | None:
    text = str(error)
    number = error.errno if isinstance(error, OSError) else None
    if number is None and (match := _NUMBER_IN_TEXT.search(text)):
        number = int(match[1] or match[2])
    path = getattr(error, "filename", None)
    path = os.fsdecode(path) if isinstance(path, (str, bytes)) else None
    if number in _NO_ROOM or _WRITTEN_IN_PART.search(text):
        reason = os.strerror(number or errno.ENOSPC)
        return OutputError(
            f"cannot write: {reason}", path=path, remedy="make room, and --resume goes on where the verb has it"
        )
    if number in _NOT_WRITABLE:
        return OutputError(f"cannot write: {os.strerror(number)}", path=path, remedy="give another place")
    if number in _BAD_NAME:
        return InputError(os.strerror(number), path=path, remedy="check the name, and what lies there")
    if isinstance(error, (RuntimeError, ValueError, MemoryError)) and _NO_MEMORY.search(text):
        return UsageError(
            "there is not enough memory", remedy="ask for smaller sizes or batches, or give less at once"
        )
    if _TOKENIZER_FAILS.search(text) and (type(error) is Exception or type(error).__name__ == "PanicException"):
        return ModelError(
            f"the tokenizer fails at a text: {' '.join(text.split())[:300]}",
            remedy="the tokenizer.json of the model is damaged, or not made for such texts: copy the model again",
        )
    if isinstance(error, UnicodeEncodeError) and error.reason == "surrogates not allowed":
        return InputError(
            f"a name or text is no UTF-8: {error.object[:300]}", remedy="rename what it names, or convert the text"
        )
    if isinstance(error, ValueError) and text.startswith("embedded null"):
        return InputError("a name holds the character NUL, which no name can", remedy="check the names")
    if isinstance(error, RuntimeError) and (match := _LOOP.search(text)):
        return InputError(os.strerror(errno.ELOOP), path=match[1], remedy="check the name, and what lies there")
    return None
