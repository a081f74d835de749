"""The last resort of the command line: a fault of the program in one line, and its traceback in a file."""

from __future__ import annotations

import os
import shlex
import tempfile
import traceback
from collections.abc import Sequence

from ..shown_text import printable, shown_line, without_secrets

_LONGEST = 300


def fault(error: BaseException, words: Sequence[str]) -> str:
    """Writes down what went wrong where nothing has foreseen it.

    Args:
        error: What was raised.
        words: The words of the command line.

    Returns:
        One line for the user, which names the file, readable for the user alone, in the folder for temporary files.
    """
    name, text = type(error).__name__, shown_line(str(error), _LONGEST)
    shown = "there is not enough memory" if isinstance(error, MemoryError) else f"{name}: {text}" if text else name
    record = f"hf-paraphrase {shlex.join(words)}\n\n{''.join(traceback.format_exception(error))}"
    try:
        number, path = tempfile.mkstemp(prefix="hf-paraphrase-", suffix=".txt")
        with os.fdopen(number, "w", encoding="utf-8") as stream:
            stream.write(printable(without_secrets(record)))
    except OSError as problem:
        return f"{shown} (where it happened could not be written down: {problem.strerror})"
    return f"{shown} (the traceback is in {shown_line(path)}: please report it)"
