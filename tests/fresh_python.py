"""Python programs in their own processes, without importing the large libraries again.

Each program is a fork of a server that has imported torch and transformers, but not this package. Like a program of
`python -c`, it may be killed, have another environment, and lack the package. The libraries were imported in the
environment of the tests, except for an empty home of the Hub's library.
"""

from __future__ import annotations

import atexit
import gc
import itertools
import multiprocessing
import os
import subprocess
import sys
import threading
from multiprocessing import forkserver
from pathlib import Path

import pytest

LIBRARIES = ("torch", "transformers.trainer", "transformers.models.auto.modeling_auto", "datasets", "scipy.stats")
MAIN = "import sys; from hf_paraphrase.commands import main; sys.exit(main())"
"""The program of the command line."""
TWO_PROCESSES = """
import contextlib, os, runpy, signal, socket, sys
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = str(free.getsockname()[1])
os.environ.update(WORLD_SIZE="2", LOCAL_WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
children = []
for rank in "01":
    child = os.fork()
    if child == 0:
        os.environ.update(RANK=rank, LOCAL_RANK=rank)
        del sys.argv[0]
        sys.exit(runpy.run_path(sys.argv[0], run_name="__main__") and None)
    children.append(child)
failed = os.wait()[1] or os.wait()[1]
for child in children if failed else ():
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
sys.exit(failed != 0)
"""
"""Runs a file in two processes that find one another, as `torchrun` does, and ends both where one fails."""


class FreshPython:
    """Run programs in forks of a server; their files are in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.numbers = itertools.count()
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(list(LIBRARIES))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HF_HOME", str(folder / "home"))
            forkserver.ensure_running()

    def __call__(self, code, *words, folder=None, environment=None):
        """Run a program to its end and return the `CompletedProcess`; see :meth:`start`."""
        return self.start(code, *words, folder=folder, environment=environment).end()

    def start(self, code, *words, folder=None, environment=None):
        """Start the code of `python -c`, with further environment variables."""
        words = ["-c", *map(str, words)]
        printed = [str(self.folder / f"{name}{next(self.numbers)}") for name in ("stdout", "stderr")]
        # Without the folder of the code that came with models of this process.
        path = ["", *(path for path in sys.path if not Path(path, "transformers_modules").is_dir())]
        given = (code, words, str(folder or Path.cwd()), {**os.environ, **(environment or {})}, path, printed)
        process = self.context.Process(target=run, args=(*given, str(self.folder / "modules")))
        process.start()
        return Running(process, words, printed)


class Running:
    """A program that runs, in the process `pid`."""

    def __init__(self, process, words, printed):
        self.process, self.words, self.printed, self.pid = process, words, printed, process.pid

    def end(self):
        """Wait for its end and return the `CompletedProcess`."""
        self.process.join()
        texts = (Path(path).read_text() for path in self.printed)
        return subprocess.CompletedProcess(self.words, self.process.exitcode, *texts)

    def kill(self):
        """Kill it and return the `CompletedProcess`."""
        self.process.kill()
        return self.end()


def run(code, words, folder, environment, path, printed, modules):
    """Turn this process into the program."""
    # A collection of garbage would copy all that the libraries hold.
    gc.freeze()
    for number, file in enumerate((os.devnull, *printed)):
        os.dup2(os.open(file, os.O_RDWR | os.O_CREAT | os.O_TRUNC), number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[:], sys.argv[:] = path, words
    # Programs of several tests would write the code that comes with models over one another.
    if (opened := sys.modules.get("transformers.dynamic_module_utils")) is not None:
        opened.HF_MODULES_CACHE = modules
    try:
        exec(compile(code, "-c", "exec"), {"__name__": "__main__"})
        end(0)
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            end(error.code or 0)
        sys.stderr.write(f"{error.code}\n")
    except Exception:
        sys.excepthook(*sys.exc_info())
    end(1)


def end(status):
    """End as Python does, without destroying all modules, which takes longer than most programs."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status & 0xFF)
