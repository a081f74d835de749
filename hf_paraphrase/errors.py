"""Errors in the user's input or machine, which the command line reports in one line with exit code 2."""

from __future__ import annotations

import difflib
import errno
import importlib.util
import os
import re
from collections.abc import Iterable
from pathlib import Path

from .messages import sanitize_line

StrPath = str | os.PathLike[str]
_LONGEST = 1_000
_CANNOT_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
_BAD_NAME = (errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES, errno.EPERM, errno.EIO, errno.ESTALE)
# Messages of concurrent.futures, the DataLoader of torch, and `datasets`.
_KILLED_WORKER = re.compile(r"terminated abruptly|abruptly died|worker.{0,40} (?:is killed|exited unexpectedly)", re.I)
_NEEDS_SENTENCEPIECE = re.compile(r"\bsentencepiece\b", re.I)
EXTRAS = {
    "denckring_en_pos": "expansion",
    "faiss": "search",
    "gradio": "demo",
    "kenlm": "perplexity",
    "lemminflect": "expansion",
    "matplotlib": "plots",
    "morfessor": "segmentation",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "onnxscript": "onnx",
    "py3langid": "language",
    "ray": "ray",
    "sentencepiece": "translation",
    "sklearn": "classification",
}
"""The optional packages, by the names of their modules, with the extra that brings each."""
_DISTRIBUTIONS = {"denckring_en_pos": "denckring-en-pos", "faiss": "faiss-cpu", "sklearn": "scikit-learn"}
_CODE_IN_TEXT = re.compile(r"\(os error (\d{1,9})\)")


_flags: set[str] | None = None


def set_command_flags(names: Iterable[str] | None) -> None:
    """Note the flags of the command that runs, as names of settings; None if none runs."""
    global _flags
    _flags = None if names is None else set(names)


def for_flag(name: str, remedy: str) -> str:
    """Return a part of a remedy that names a flag, or the empty text if the command that runs lacks the flag."""
    return remedy if _flags is None or name in _flags else ""


def choice_of(given: object, names: Iterable[str]) -> str:
    """Return a remedy that lists the valid names, and first suggests a name similar to the given one, if any."""
    listed = list(names)
    near = difflib.get_close_matches(str(given), listed, 1)
    return f"did you mean {near[0]}? One of {', '.join(listed)}" if near else f"one of {', '.join(listed)}"


class HfParaphraseError(Exception):
    """Base class: a message with the wrong value, the file and line, and a remedy."""

    def __init__(
        self, message: str, *, path: StrPath | None = None, line: int | None = None, remedy: str | None = None
    ) -> None:
        self.message = message
        self.path = None if path is None else os.fspath(path)
        self.line = line
        self.remedy = remedy
        super().__init__(message)

    def __str__(self) -> str:
        line = "" if self.line is None else f":{self.line}"
        file = "" if self.path is None else f"{sanitize_line(self.path, _LONGEST)}{line}: "
        remedy = "" if self.remedy is None else f" ({sanitize_line(self.remedy)})"
        return f"{file}{sanitize_line(self.message, _LONGEST)}{remedy}"


class UsageError(HfParaphraseError, ValueError):
    """An option on the command line or in a configuration file does not exist, or conflicts with another."""


class InputError(HfParaphraseError):
    """An input file or data set is missing, malformed or unusable."""


class OutputError(HfParaphraseError):
    """An output exists already, is incomplete, or cannot be written."""


class ModelError(HfParaphraseError):
    """A model folder is missing, damaged, or of another kind than the task needs."""


class HubError(HfParaphraseError):
    """The Hub cannot be reached, or refuses a request."""


def no_folder(path: StrPath, remedy: str) -> InputError:
    """Make the error for a folder that does not exist, or that is a file."""
    problem = "this is a file, not a folder" if Path(path).exists() else "no such folder"
    return InputError(problem, path=path, remedy=remedy)


def missing_package(module: str) -> UsageError:
    """Make the error for a package that is not installed, which names the extra that brings it."""
    module = module.partition(".")[0]
    extra, name = EXTRAS.get(module), _DISTRIBUTIONS.get(module, module)
    remedy = f'pip install "hf-paraphrase[{extra}]"' if extra else f"pip install {name}"
    return UsageError(f"the package {name} is not installed", remedy=remedy)


def error_of_the_system(error: BaseException | None) -> HfParaphraseError | None:
    """Explain an error, or one of its causes: a missing package, a full disk, too little memory, an unusable name."""
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("hf_paraphrase"):
        return missing_package(error.name)
    seen: list[BaseException] = []
    while error is not None and error not in seen:  # causes may form a ring
        if (explained := _explained(error)) is not None:
            return explained
        seen.append(error)
        error = error.__cause__ or error.__context__
    return None


def _explained(error: BaseException) -> HfParaphraseError | None:
    # torch, whose import takes seconds, has a class of its own.
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        where = " on the GPU" if "CUDA" in str(error) else ""
        return UsageError(f"not enough memory{where}", remedy="use a smaller --batch-size, or less input at a time")
    if _KILLED_WORKER.search(str(error)):
        remedy = "use fewer --workers, a smaller --batch-size or a machine with more memory"
        return UsageError("a worker process was killed, most likely because memory ran out", remedy=remedy)
    if _NEEDS_SENTENCEPIECE.search(str(error)) and importlib.util.find_spec("sentencepiece") is None:
        return missing_package("sentencepiece")
    if isinstance(error, UnicodeEncodeError) and error.reason == "surrogates not allowed":
        return InputError(f"not valid UTF-8: {error.object}", remedy="rename the file, or convert the text")
    code = error.errno if isinstance(error, OSError) else None
    if code is None and (match := _CODE_IN_TEXT.search(str(error))):
        code = int(match[1])
    name = getattr(error, "filename", None)
    path = os.fsdecode(name) if isinstance(name, str | bytes) else None
    if code in _CANNOT_WRITE:
        remedy = "free some disk space or choose another output" + for_flag("resume", "; --resume continues")
        return OutputError(f"cannot write: {os.strerror(code)}", path=path, remedy=remedy)
    if code in _BAD_NAME:
        return InputError(os.strerror(code), path=path, remedy="check the name and its permissions")
    return None
