"""Run a command in a fork of this process, and stop, kill or starve it before one of its changes of the file system.

A fork costs milliseconds; a new process costs seconds of imports. Python's audit hooks count the changes, so changes
by native code do not count.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

_CHANGES = frozenset(
    {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.utime"}
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_SECONDS = 120


def kill() -> None:
    """Kill the process that calls it."""
    os.kill(os.getpid(), signal.SIGKILL)


class Ended(NamedTuple):
    """How a run ended: with which exit code, or minus the number of a signal, and after how many changes."""

    code: int
    stdout: str
    stderr: str
    changes: int = 0

    @property
    def errors(self) -> list[str]:
        """The lines of errors among what it logged."""
        return [line for line in self.stderr.splitlines() if line.startswith("hf-paraphrase: error: ")]

    @property
    def has_traceback(self) -> bool:
        """Whether it failed by a fault of the program: the traceback is printed, or in a file that it names."""
        return "Traceback" in self.stderr or "the traceback is in" in self.stderr


class _Changes:
    """Count changes of the file system below a folder, and acts before one of them."""

    def __init__(self) -> None:
        self.count = 0
        self._folder: str | None = None
        self._at, self._act = 0, kill
        # A hook stays until the process ends.
        sys.addaudithook(self._hook)

    def begin(self, folder: Path, at: int = 0, act: Callable[[], None] = kill) -> None:
        """Start to count from 1; `act` is called before the change `at`, if there is one."""
        self.count, self._folder, self._at, self._act = 0, f"{os.path.realpath(folder)}{os.sep}", at, act

    def end(self) -> int:
        """Stop to count and return the count."""
        self._folder = None
        return self.count

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._folder is None:
            return
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING
        if not (event in _CHANGES or writes) or isinstance(arguments[0], int):
            return
        path = os.fsdecode(arguments[0]) if isinstance(arguments[0], str | bytes) else ""
        if path.startswith(os.sep) and not path.startswith(self._folder):
            return
        self.count += 1
        if self.count == self._at:
            self._act()


CHANGES = _Changes()
"""The counter of this process."""


def run_here(words: Sequence[str], folder: Path, at: int = 0, act: Callable[[], None] = kill) -> Ended:
    """Run a verb in a folder, in this process; `act` is called before the change `at` of the file system."""
    from hf_paraphrase.commands import main

    printed, logged = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    with chdir(folder), redirect_stdout(printed), redirect_stderr(logged):
        CHANGES.begin(folder, at, act)
        code = main(list(words))
        changes = CHANGES.end()
    for stream in (printed, logged):
        stream.flush()
    return Ended(code, printed.buffer.getvalue().decode(), logged.buffer.getvalue().decode(), changes)


class Fork:
    """A run of a verb in a fork; see :func:`run_here`."""

    def __init__(self, words: Sequence[str], folder: Path, at: int = 0, act: Callable[[], None] = kill) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._answer, answer = multiprocessing.Pipe(duplex=False)
        arguments = (answer, words, folder, at, act)
        self._process = multiprocessing.get_context("fork").Process(target=_answer, args=arguments)
        self._process.start()
        answer.close()

    def end(self) -> Ended:
        """Wait for its end; a run that is killed leaves its code alone, minus the number of the signal."""
        if not self._answer.poll(_SECONDS):
            self._process.kill()
            raise TimeoutError(f"no end after {_SECONDS} seconds")
        try:
            ended: Ended | None = self._answer.recv()
        except EOFError:
            ended = None
        self._process.join()
        return ended or Ended(self._process.exitcode or 0, "", "")


def _answer(answer: Connection, words: Sequence[str], folder: Path, at: int, act: Callable[[], None]) -> None:
    from tqdm import tqdm

    # Progress bars of all forks share a lock, which stays locked when one of them is killed.
    lock, bars = threading.RLock(), [tqdm]
    for bar in bars:
        bar.set_lock(lock)
        bars += bar.__subclasses__()
    os.environ["TMPDIR"] = str(folder.parent)
    tempfile.tempdir = None
    answer.send(run_here(words, folder, at, act))


def run(words: Sequence[str], folder: Path, at: int = 0, act: Callable[[], None] = kill) -> Ended:
    """Run a verb in a fork to its end."""
    return Fork(words, folder, at, act).end()
