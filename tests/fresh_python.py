"""Python programs in processes of their own that need not import the large libraries again.

Each program is a fork of a server that has imported torch and transformers, and nothing of this package: like one that
`python -c` starts, it may be killed, have another environment, and do without the package. What the libraries read of
the environment as they were imported is that of the tests, but for the home of the Hub's library, which is empty.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

LIBRARIES = ("torch", "transformers.trainer", "transformers.models.auto.modeling_auto", "datasets", "scipy.stats")
MAIN = "import sys; from hf_paraphrase.commands import main; sys.exit(main())"
"""The program of the command line."""


class FreshPython:
    """Runs programs, in `folder`, that have some libraries; its server starts with the first of them."""

    def __init__(self, folder: Path, libraries: tuple[str, ...] = LIBRARIES) -> None:
        self.folder = folder
        self.libraries = libraries
        self.server: subprocess.Popen | None = None

    def __call__(self, code, *words, folder=None, environment=None):
        """Runs what would stand behind `python -c` and gives the `CompletedProcess`.

        Args:
            code: The program.
            *words: Its command line.
            folder: Where it runs; here if it is not given.
            environment: Variables that it has beside those of this process.
        """
        request = {
            "code": code,
            "words": ["-c", *map(str, words)],
            "folder": str(folder or Path.cwd()),
            "environment": {**os.environ, **(environment or {})},
            # Where code lies that came with the models that this process opened, that of others would be looked for.
            "path": ["", *(path for path in sys.path if not Path(path, "transformers_modules").is_dir())],
            "printed": [str(self.folder / name) for name in ("stdout", "stderr")],
        }
        if self.server is None:
            self.server = self._started()
        self.server.stdin.write(json.dumps(request) + "\n")
        self.server.stdin.flush()
        status = int(self.server.stdout.readline())
        return subprocess.CompletedProcess(words, status, *(Path(path).read_text() for path in request["printed"]))

    def _started(self):
        environment = {**os.environ, "HF_HOME": str(self.folder / "home")}
        words = [sys.executable, __file__, *self.libraries]
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True)

    def close(self):
        """Ends the server."""
        if self.server is not None:
            self.server.kill()
            self.server.communicate()


def serve():
    """Forks a process for each line of JSON, in which alone it returns, and writes the exit status of each."""
    while line := sys.stdin.readline():
        child = os.fork()
        if child == 0:
            return json.loads(line)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        sys.stdout.flush()
    sys.exit()


def run(code, words, folder, environment, path, printed):
    """Becomes the program that is asked for."""
    for number, file in enumerate((os.devnull, *printed)):
        os.dup2(os.open(file, os.O_RDWR | os.O_CREAT | os.O_TRUNC), number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[:], sys.argv[:] = path, words
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
    """Ends as Python does, but for the taking apart of all modules, which lasts longer than most of the programs."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status & 0xFF)


if __name__ == "__main__":
    for library in sys.argv[1:]:
        importlib.import_module(library)
    # A collection of garbage in a fork would copy all that the libraries hold.
    gc.collect()
    gc.freeze()
    run(**serve())
