"""Python programs in processes of their own that need not import the large libraries again.

Each program is a fork of a server that has imported torch and transformers, and nothing of this package: like one that
`python -c` starts, it may be killed, have another environment, and do without the package. What the libraries read of
the environment as they were imported is that of the tests, but for the home of the Hub's library, which is empty.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import itertools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

LIBRARIES = ("torch", "transformers.trainer", "transformers.models.auto.modeling_auto", "datasets", "scipy.stats")
MAIN = "import sys; from hf_paraphrase.commands import main; sys.exit(main())"
"""The program of the command line."""


class FreshPython:
    """Runs programs in forks of a server, which listens at an address; what they leave lies in a folder."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address = address
        self.folder = folder
        self.numbers = itertools.count()

    def __call__(self, code, *words, folder=None, environment=None):
        """Runs a program to its end and gives the `CompletedProcess`; see :meth:`start`."""
        return self.start(code, *words, folder=folder, environment=environment).end()

    def start(self, code, *words, folder=None, environment=None):
        """Starts what would stand behind `python -c`, with variables beside those of this process."""
        request = {
            "code": code,
            "words": ["-c", *map(str, words)],
            "folder": str(folder or Path.cwd()),
            "environment": {**os.environ, **(environment or {})},
            # Where code lies that came with the models that this process opened, that of others would be looked for.
            "path": ["", *(path for path in sys.path if not Path(path, "transformers_modules").is_dir())],
            "printed": [str(self.folder / f"{name}{next(self.numbers)}") for name in ("stdout", "stderr")],
            "modules": str(self.folder / "modules"),
        }
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self.address)
        connection.sendall((json.dumps(request) + "\n").encode())
        return Running(connection, words, request["printed"])


class Running:
    """A program that runs, in the process `pid`."""

    def __init__(self, connection, words, printed):
        self.connection, self.words, self.printed = connection, words, printed
        self.answers = connection.makefile()
        self.pid = int(self.answers.readline())

    def end(self):
        """Waits for its end and gives the `CompletedProcess`."""
        with self.connection:
            status = int(self.answers.readline())
        return subprocess.CompletedProcess(self.words, status, *(Path(path).read_text() for path in self.printed))

    def kill(self):
        """Kills it."""
        os.kill(self.pid, signal.SIGKILL)
        return self.end()


class Server:
    """The process that programs are forks of; it imports the libraries when the first of them is asked for."""

    def __init__(self, libraries: tuple[str, ...] = LIBRARIES) -> None:
        # The name of a socket is at most about a hundred letters long, which those of pytest's folders may exceed.
        self.folder = tempfile.TemporaryDirectory()
        self.address = str(Path(self.folder.name) / "socket")
        environment = {**os.environ, "HF_HOME": str(Path(self.folder.name) / "home")}
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.address)
            listener.listen()
            number = listener.fileno()
            words = [sys.executable, __file__, str(number), *libraries]
            # It ends when this process does, as its standard input then does.
            self.process = subprocess.Popen(words, stdin=subprocess.PIPE, env=environment, pass_fds=[number])

    def close(self):
        """Ends it."""
        self.process.kill()
        self.process.communicate()
        self.folder.cleanup()


def serve(listener, libraries):
    """Forks a process for each line of JSON, in which alone it returns; answers with its number and exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
        connection = listener.accept()[0]
        line = connection.makefile().readline()
        if libraries:
            for library in libraries:
                importlib.import_module(library)
            libraries = ()
            # A collection of garbage in a fork would copy all that the libraries hold.
            gc.collect()
            gc.freeze()
        # Several programs may run at a time: who waits for one is a process, too.
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            child = os.fork()
            if child == 0:
                connection.close()
                return json.loads(line)
            connection.sendall(f"{child}\n".encode())
            connection.sendall(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n".encode())
            os._exit(0)
        connection.close()
    sys.exit()


def run(code, words, folder, environment, path, printed, modules):
    """Becomes the program that is asked for."""
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
    """Ends as Python does, but for the taking apart of all modules, which lasts longer than most of the programs."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status & 0xFF)


if __name__ == "__main__":
    run(**serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:]))
