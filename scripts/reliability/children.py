"""Runs one verb in a forked child with limits, and tells how it ended.

The parent imports everything once and computes nothing, so that a run costs a fork instead of seconds of imports. The
child is a session of its own, has its own home and folder for temporary files, reads from a file and writes to pipes;
it and all that it started are killed in the end. What is done to it is counted in events: calls that change the file
system, as Python's audit hooks tell them, files that native code opens excepted.
"""

from __future__ import annotations

import gc
import importlib
import mmap
import os
import pkgutil
import resource
import selectors
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

CHANGES = frozenset(
    {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.utime"}
)
"""Audit events of calls that change the file system, beside `open`."""
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
NOT_BEGUN = 99
"""The exit code of a child that was interrupted, or failed, before its verb began."""
_LONGEST_TEXT = 4 << 20
_PATIENCE = 4
_IMPORTED_LATE = (
    *("faiss", "lemminflect", "matplotlib.pyplot", "onnx", "onnxruntime", "polib", "sacrebleu", "sacrebleu.metrics"),
    *("sacremoses", "lxml.etree", "torch.utils.data", "transformers.trainer", "xml.sax", "xml.etree.ElementTree"),
)
"""What verbs import when they need it, where it is installed."""
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "CUDA_VISIBLE_DEVICES": "",
    "MPLBACKEND": "Agg",
    "COLUMNS": "200",
    "NO_COLOR": "1",
}


@dataclass
class Ended:
    """How a run ended.

    Attributes:
        code: Its exit code; minus the number of the signal that ended it.
        stdout: What it printed.
        stderr: What it said.
        seconds: How long it took.
        memory: Bytes of memory that it took at most, beyond those of its parent.
        hung: Whether it was ended because its time was up.
        events: How many events it came to.
        fault: Where the program itself failed, from the traceback that it wrote down; empty where it did not.
    """

    code: int
    stdout: str
    stderr: str
    seconds: float
    memory: int
    hung: bool
    events: int
    fault: str = ""


@dataclass
class Limits:
    """What a run may take.

    Attributes:
        seconds: Of the processor; of the time of a busy machine, some times as many.
        memory: Bytes of address space beyond what the parent has.
    """

    seconds: float = 60.0
    memory: int = 6 << 30


@dataclass
class Disturbance:
    """What is done to a run.

    Attributes:
        at_event: Before which event `act` is called in the run, counted from 1; never for 0.
        act: What is called.
        after: After how many seconds `signal` is sent; never for None.
        signal: The number of the signal.
        stdout_closed: Whether nobody reads what it prints.
    """

    at_event: int = 0
    act: Callable[[], None] = lambda: None
    after: float | None = None
    signal: int = signal.SIGKILL
    stdout_closed: bool = False


UNDISTURBED = Disturbance()


def die() -> None:
    """Kills the run that calls it, with all that it started."""
    os.killpg(0, signal.SIGKILL)


def import_everything() -> None:
    """Imports the package with all that it needs, and keeps the children from copying what they only read."""
    import hf_paraphrase

    for module in pkgutil.walk_packages(hf_paraphrase.__path__, "hf_paraphrase."):
        if not module.name.endswith((".__main__", ".app")):
            importlib.import_module(module.name)
    for name in _IMPORTED_LATE:
        with suppress(ImportError):
            importlib.import_module(name)
    with suppress(Exception):
        # A table of some thousand patterns that every opened model makes first.
        importlib.import_module("transformers.conversion_mapping").get_checkpoint_conversion_mapping("none")
    gc.collect()
    gc.freeze()


@dataclass
class Running:
    """A run that was started; :meth:`end` waits for it.

    Attributes:
        process: Its number, and that of its group.
    """

    process: int
    place: Path
    limits: Limits
    disturbance: Disturbance
    counter: mmap.mmap
    outputs: dict[int, str]
    texts: dict[str, bytearray] = field(default_factory=lambda: {"stdout": bytearray(), "stderr": bytearray()})
    started: float = field(default_factory=time.monotonic)

    def end(self) -> Ended:
        """Reads what it writes until it has ended, and ends it where its time is up."""
        hung, signalled, done = False, self.disturbance.after is None, 0
        with selectors.DefaultSelector() as waiting:
            for number in self.outputs:
                waiting.register(number, selectors.EVENT_READ)
            while not done:
                if not waiting.get_map():
                    time.sleep(0.005)
                for key, _ in waiting.select(0.005):
                    self._read(waiting, key.fd)
                passed = time.monotonic() - self.started
                if not signalled and passed >= (self.disturbance.after or 0.0):
                    signalled = True
                    with suppress(ProcessLookupError):
                        os.killpg(self.process, self.disturbance.signal)
                if not hung and passed > _PATIENCE * self.limits.seconds:
                    hung = True
                    with suppress(ProcessLookupError):
                        os.killpg(self.process, signal.SIGKILL)
                done, status, usage = os.wait4(self.process, os.WNOHANG)
            with suppress(ProcessLookupError):
                os.killpg(self.process, signal.SIGKILL)
            for key in list(waiting.get_map().values()):
                number = key.fd
                os.set_blocking(number, False)
                while self._read(waiting, number):
                    pass
        code = os.waitstatus_to_exitcode(status)
        texts = {name: text.decode("utf-8", "backslashreplace") for name, text in self.texts.items()}
        return Ended(
            code,
            texts["stdout"],
            texts["stderr"],
            time.monotonic() - self.started,
            max(0, usage.ru_maxrss * 1024 - _resident()),
            hung or code == -signal.SIGXCPU,
            struct.unpack("q", self.counter[:8])[0],
            _fault(self.place / "temporary"),
        )

    def _read(self, waiting: selectors.BaseSelector, number: int) -> int:
        """Reads some of what it wrote; returns how much."""
        try:
            text = os.read(number, 1 << 16)
        except BlockingIOError:
            text = b""
        if not text:
            waiting.unregister(number)
            os.close(number)
        kept = self.texts[self.outputs[number]]
        kept += text[: _LONGEST_TEXT - len(kept)]
        return len(text)


def start(
    words: Sequence[str],
    place: Path,
    *,
    limits: Limits | None = None,
    disturbance: Disturbance = UNDISTURBED,
    stdin: Path | None = None,
) -> Running:
    """Starts a verb.

    Args:
        words: What follows `hf-paraphrase`.
        place: The folder of the run, which works in `run` and has its temporary files and its home beside it.
        limits: What it may take.
        disturbance: What is done to it.
        stdin: What it reads; nothing by default.
    """
    limits = limits or Limits()
    for name in ("run", "temporary", "home"):
        (place / name).mkdir(parents=True, exist_ok=True)
    counter = mmap.mmap(-1, 8)
    reading: dict[int, str] = {}
    writing: dict[str, int] = {}
    for name in ("stdout", "stderr"):
        number, writing[name] = os.pipe()
        reading[number] = name
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        try:
            _be_child(list(words), place, limits, disturbance, stdin, counter, reading, writing)
        finally:
            os._exit(NOT_BEGUN)
    for number in writing.values():
        os.close(number)
    with suppress(OSError):
        os.setpgid(process, process)
    if disturbance.stdout_closed:
        for number in [number for number, name in reading.items() if name == "stdout"]:
            os.close(number)
            del reading[number]
    return Running(process, place, limits, disturbance, counter, reading)


def run(words: Sequence[str], place: Path, **more: Any) -> Ended:
    """Runs a verb to its end; see :func:`start`."""
    return start(words, place, **more).end()


def _be_child(
    words: list[str],
    place: Path,
    limits: Limits,
    disturbance: Disturbance,
    stdin: Path | None,
    counter: mmap.mmap,
    reading: dict[int, str],
    writing: dict[str, int],
) -> NoReturn:
    with suppress(OSError):
        os.setpgid(0, 0)
    for number in reading:
        os.close(number)
    opened = os.open(stdin or os.devnull, os.O_RDONLY)
    for source, target in ((opened, 0), (writing["stdout"], 1), (writing["stderr"], 2)):
        os.dup2(source, target)
        os.close(source)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - they stay open until the run ends
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1, errors="backslashreplace")  # noqa: SIM115
    os.chdir(place / "run")
    os.environ |= {"HOME": str(place / "home"), "TMPDIR": str(place / "temporary"), "PWD": str(Path.cwd())}
    import tempfile

    tempfile.tempdir = None
    # Until the verb begins there is nothing to interrupt.
    for number in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    seconds = int(limits.seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    room = _address_space() + limits.memory
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    _unshare_locks()
    _count_events(place, counter, disturbance)
    os._exit(_code_of(words))


def _unshare_locks() -> None:
    """Gives progress bars a lock of this process: theirs is one of all forks, and stays locked when one is killed."""
    from tqdm import tqdm

    lock, classes = threading.RLock(), [tqdm]
    for kind in classes:
        kind.set_lock(lock)
        classes += kind.__subclasses__()


def _code_of(words: list[str]) -> int:
    """Does what Python does with the program: its exit code, and a traceback where something is raised."""
    from hf_paraphrase.commands import main

    sys.argv = ["hf-paraphrase", *words]
    code: object = 0
    try:
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            code = main()
        except SystemExit as end:
            code = end.code
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 130 if isinstance(error, KeyboardInterrupt) else 1
    if code is not None and not isinstance(code, int):
        sys.stderr.write(f"{code}\n")
        code = 1
    for stream in (sys.stdout, sys.stderr):
        try:
            if not stream.closed:
                stream.flush()
        except OSError as error:
            # What Python says, and the code that it ends with, where its last words reach nobody.
            with suppress(OSError, ValueError):
                sys.stderr.write(f"Exception ignored in: {stream.name}: {error}\n")
            code = 120
    return int(code or 0)


def _count_events(place: Path, counter: mmap.mmap, disturbance: Disturbance) -> None:
    prefix, count = f"{os.path.realpath(place)}{os.sep}", 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if event == "open":
            if isinstance(arguments[0], int) or not (isinstance(arguments[2], int) and arguments[2] & _WRITING):
                return
        elif event not in CHANGES:
            return
        path = os.fsdecode(arguments[0]) if isinstance(arguments[0], str | bytes) else ""
        if path.startswith(os.sep) and not path.startswith((prefix, f"{place}{os.sep}")):
            return
        count += 1
        counter[:8] = struct.pack("q", count)
        if count == disturbance.at_event:
            disturbance.act()

    sys.addaudithook(hook)


def _fault(folder: Path) -> str:
    """Reads the last traceback that the program wrote down: the error, and the line of the package."""
    for path in sorted(folder.glob("hf-paraphrase-*.txt"), key=lambda path: path.stat().st_mtime)[-1:]:
        lines = path.read_text(encoding="utf-8", errors="replace").rstrip().split("\n")
        places = [line.strip() for line in lines if "hf_paraphrase/" in line and line.lstrip().startswith("File ")]
        place = places[-1].rpartition("hf_paraphrase/")[2].replace('"', "") if places else ""
        return f"{lines[-1][:200]} at {place}"
    return ""


def _address_space() -> int:
    """Reads how many bytes of address space this process has."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _resident() -> int:
    """Reads how many bytes of memory this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
