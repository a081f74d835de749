"""The command line `hf-paraphrase COMMAND`: `verbs` lists the commands, `parser` makes the flags of a command.

Exit codes: 0 done, 2 bad usage, bad input or a full disk (one line, no traceback), 130 interrupted (Ctrl-C, SIGTERM,
SIGHUP), 1 anything else (one line, and a traceback if HF_PARAPHRASE_DEBUG=1).
"""

from __future__ import annotations

import difflib
import logging
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import fields
from pathlib import Path
from threading import current_thread, main_thread
from typing import TextIO

from ..errors import HfParaphraseError, ModelError, UsageError, choice_of, error_of_the_system, set_command_flags
from ..messages import LOGGER, log, printable, process_count, sanitize_line, without_secrets
from ..registry import BUILTINS, TRUST_REMOTE_CODE, import_file
from .parser import parse
from .results import show
from .verbs import JOURNEYS, VERBS, recipe_and_flags

# Windows has no SIGHUP.
_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_LONGEST = 300
VERBOSITY = "HF_PARAPHRASE_VERBOSITY"
"""The variable with the level of the messages to print: `error`, `warning`, `info` or `debug`."""
_LEVELS = {name: getattr(logging, name.upper()) for name in ("error", "warning", "info", "debug")}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, given the words after the program's name, and return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        with _signals_interrupt():
            _run(words)
        return 0
    except KeyboardInterrupt:
        _complain("hf-paraphrase: interrupted\n")
        return 130
    except BaseException as error:
        # Libraries written in Rust raise a PanicException, which is not an Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        problem = error if isinstance(error, HfParaphraseError) else error_of_the_system(error)
        _complain(f"hf-paraphrase: error: {_fault(error) if problem is None else _with_near_name(problem)}\n")
        return 1 if problem is None else 2
    finally:
        set_command_flags(None)


@contextmanager
def _signals_interrupt() -> Iterator[None]:
    """Make SIGTERM and SIGHUP interrupt a command like Ctrl-C, unless they have handlers or are ignored (nohup)."""
    signals = []
    if current_thread() is main_thread():
        signals = [each for each in _ENDING if signal.getsignal(each) is signal.SIG_DFL]
    for each in signals:
        signal.signal(each, signal.default_int_handler)
    try:
        yield
    finally:
        for each in signals:
            signal.signal(each, signal.SIG_DFL)


@contextmanager
def shown_messages() -> Iterator[None]:
    """Print log messages to standard error, unchanged and at once, while the block runs."""
    if any(isinstance(handler, _StandardError) for handler in LOGGER.handlers):
        yield  # a command within another one
        return
    handler, level = _StandardError(), LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(_LEVELS[os.environ.get(VERBOSITY, "info")])
    try:
        yield
    finally:
        LOGGER.setLevel(level)
        LOGGER.removeHandler(handler)


class _StandardError(logging.StreamHandler[TextIO]):
    """Write to standard error, above the progress bars."""

    def emit(self, record: logging.LogRecord) -> None:
        bars = getattr(sys.modules.get("tqdm"), "tqdm", None) if self.stream.isatty() else None
        with nullcontext() if bars is None else bars.external_write_mode(file=self.stream):
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """Do nothing, so that a command continues if a message cannot be written."""


def _complain(text: str) -> None:
    """Write to standard error, unless it is closed or on a full disk."""
    with suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(text)


def _fault(error: BaseException) -> str:
    """Describe an unexpected exception in one line; print its traceback if HF_PARAPHRASE_DEBUG=1."""
    if os.environ.get("HF_PARAPHRASE_DEBUG") == "1":
        _complain(printable(without_secrets("".join(traceback.format_exception(error)))))
    text = sanitize_line(f"{type(error).__name__}: {error}", _LONGEST)
    return f"{text} (please report it; set HF_PARAPHRASE_DEBUG=1 for a traceback)"


def _with_near_name(problem: HfParaphraseError) -> HfParaphraseError:
    """Suggest the most similar existing name in an error about a missing file, folder or model."""
    if problem.path is None or not problem.message.startswith("no such") or os.path.lexists(problem.path):
        return problem
    path = Path(problem.path)
    names = list(BUILTINS) if isinstance(problem, ModelError) and problem.path == path.name else []
    with suppress(OSError, ValueError):
        names += [name for name in os.listdir(path.parent) if not name.startswith(".")]  # noqa: PTH208
    for name in difflib.get_close_matches(path.name, names, 1, 0.75):
        hint = f"did you mean {path.with_name(name)}?"
        problem.remedy = f"{hint} Otherwise {problem.remedy}" if problem.remedy else hint
    return problem


def _run(words: list[str]) -> None:
    words = _apply_leading_flags(_set_verbosity(words))
    if not words or words[0] in {"-h", "--help"}:
        show(_overview())
        return
    verb = words.pop(0)
    if verb == "--version":
        from .. import __version__

        show(f"hf-paraphrase {__version__}\n")
        return
    if verb not in VERBS:
        raise UsageError(f"unknown command `{verb}`", remedy=choice_of(verb, VERBS))
    if not VERBS[verb].shared and (processes := process_count()) > 1:
        raise UsageError(
            f"`{verb}` runs in one process, and {processes} were started",
            remedy=f"start it as hf-paraphrase {verb}, or with --num_processes 1",
        )
    os.environ.setdefault("DATASETS_VERBOSITY", "critical")  # our message of an error includes its log
    with shown_messages():
        _run_verb(verb, words)


def _run_verb(verb: str, words: list[str]) -> None:
    row = VERBS[verb]
    if row.kinds is not None and words and words[0] in {"-h", "--help", "--help-all"}:
        show(row.list_of_kinds(verb))
        return
    name, recipe, flags = recipe_and_flags([verb, *words])
    set_command_flags(option.name for option in fields(recipe.settings))
    settings = parse(recipe.settings, name, flags)
    _show_progress_as_lines()
    for text in row.shown(settings, recipe.run(settings)):
        show(text)


def _set_verbosity(words: list[str]) -> list[str]:
    """Apply `--quiet`, `--verbose` and the environment variable; return the remaining words.

    Without a terminal, progress is printed as a line every half minute instead of a bar. tqdm reads its environment
    variables when it is imported.
    """
    for name, level in (("--quiet", "warning"), ("--verbose", "debug")):
        if name in words:
            os.environ[VERBOSITY] = level  # the processes of a job inherit it
    if (level := os.environ.get(VERBOSITY, "info").lower()) not in _LEVELS:
        raise UsageError(f"{VERBOSITY} is {level!r}", remedy=choice_of(level, _LEVELS))
    os.environ[VERBOSITY] = level
    if level == "debug":
        os.environ.setdefault("HF_PARAPHRASE_DEBUG", "1")
    if level in {"warning", "error"}:
        os.environ.setdefault("TQDM_DISABLE", "1")
    elif sys.stderr is None or not sys.stderr.isatty():
        for name in ("DELAY", "MININTERVAL", "MAXINTERVAL"):
            os.environ.setdefault(f"TQDM_{name}", "30")
        os.environ.setdefault("TQDM_NCOLS", "0")  # figures without a bar
    return [word for word in words if word not in {"--quiet", "--verbose"}]


def _show_progress_as_lines() -> None:
    """Make progress bars write lines where standard error is no terminal."""
    if os.environ.get("TQDM_DISABLE") != "1" and (sys.stderr is None or not sys.stderr.isatty()):
        from tqdm import tqdm

        def line_printer(file: TextIO) -> Callable[[str], None]:
            return lambda line: log(line) if line.strip() else None

        tqdm.status_printer = staticmethod(line_printer)


def _apply_leading_flags(words: list[str]) -> list[str]:
    """Apply `--import FILE` and `--trust-remote-code` before the command; return the remaining words."""
    while words and (name := words[0].partition("=")[0]) in {"--import", "--trust-remote-code"}:
        _, equals, path = words.pop(0).partition("=")
        if name == "--trust-remote-code":
            # The processes of a job inherit it.
            os.environ[TRUST_REMOTE_CODE] = "1"
            continue
        if not equals and not words:
            raise UsageError("--import needs a file", remedy="hf-paraphrase --import FILE COMMAND …")
        import_file(path if equals else words.pop(0))
    return words


def _overview() -> str:
    width = max(map(len, VERBS))
    lines = ["usage: hf-paraphrase [--import FILE.py] [--trust-remote-code] [--quiet | --verbose] <command> [flags]"]
    for journey, verbs in JOURNEYS.items():
        lines += ["", f"{journey}:", *(f"  {verb:{width}}  {row.summary}" for verb, row in verbs.items())]
    return "\n".join([*lines, "", "hf-paraphrase <command> --help explains the flags", ""])
