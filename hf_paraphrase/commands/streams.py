"""The standard streams of the command line, whatever they were given: closed, full, or with nobody who reads on."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_OVER = re.compile(r"\r[^\n]*")
_MOVES = re.compile(r"(?:[\r\n]|\x1b\[A)*")


@contextmanager
def guarded_streams() -> Iterator[None]:
    """Keeps the state of the standard streams from ending a verb, or from damaging its files.

    A stream that is closed is opened on nothing: the next file to be opened would have its number, and get what is
    meant for the stream. Standard error takes what it can: a full disk under its log, or a reader that has gone, is no
    reason to lose the work of hours to a progress bar.
    """
    for number, mode in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        with suppress(OSError):
            os.fstat(number)
            continue
        # The lowest number that is free is that of the stream. What is written to standard output is an error still.
        opened = os.open(os.devnull, mode)
        if opened != number:
            os.close(opened)
    before = sys.stdin, sys.stderr
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY), encoding="utf-8")
    nothing = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8") if sys.stderr is None else None
    sys.stderr = forgiving = _Forgiving(nothing or sys.stderr)
    try:
        yield
    finally:
        forgiving.release()
        sys.stdin, sys.stderr = before


def give_up_standard_output() -> None:
    """Sends to nothing what is still kept for standard output, which the interpreter would try to write at its end.

    Without effect where it can be written.
    """
    with suppress(AttributeError):
        try:
            sys.stdout.flush()
            return
        except (OSError, ValueError):
            pass
    with suppress(OSError, ValueError, AttributeError):
        number = sys.stdout.fileno()
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, number)
        os.close(nothing)


class _Forgiving:
    """A stream that does not mind if something cannot be written.

    A line that begins with a carriage return writes over the one before it, as progress bars do, whoever draws them.
    That is for those who watch a terminal: elsewhere it is left out, with the ends of lines and moves up around it.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._is_behind_a_bar = False
        self._is_behind_a_line = True
        self._held = ""

    def write(self, text: str) -> int:
        if self._is_terminal():
            self._write(text)
        elif _OVER.fullmatch(text):
            self._is_behind_a_bar, self._held = True, ""
        elif not _MOVES.fullmatch(text):
            self._is_behind_a_bar, self._is_behind_a_line = False, text.endswith("\n")
            self._write(self._held + text)
            self._held = ""
        elif not self._is_behind_a_bar:
            # An empty line, or the way down to a bar: what comes next tells.
            self._held += text
            if not self._is_behind_a_line:
                self._is_behind_a_line = True
                self.release()
        return len(text)

    def release(self) -> None:
        """Writes what was held back."""
        self._write(self._held)
        self._held = ""

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            self._stream.write(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()

    def _is_terminal(self) -> bool:
        with suppress(OSError, ValueError, AttributeError):
            return bool(self._stream.isatty())
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
