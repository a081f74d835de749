"""The command line: `hf-paraphrase <verb>`; `verbs` has a row for each.

Exit codes: 0 done, 2 bad usage, bad input or no room (one line, no traceback), 130 interrupted, by Ctrl-C, SIGTERM or
SIGHUP, 1 anything else: then too there is one line, which names the file with the traceback.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import current_thread, main_thread

from ..errors import HfParaphraseError, UsageError, choice_of, error_of_the_system
from ..messages import ReaderGoneError, lacks_its_group, log, process_count, show, shown_messages
from ..registry import import_file
from .arguments import parse
from .faults import fault
from .near_names import with_near_name
from .streams import give_up_standard_output, guarded_streams
from .verbs import JOURNEYS, VERBS, recipe_and_flags

# Windows has no SIGHUP.
_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb and returns the exit code.

    Args:
        argv: The words after the program's name; those of the process by default.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        with guarded_streams(), _signals_interrupt():
            return _code_of(words)
    except KeyboardInterrupt:
        # Here, so that an interruption that comes when all is done is told in the same way.
        with suppress(AttributeError, OSError, ValueError):
            sys.stderr.write("hf-paraphrase: interrupted\n")
        return 130


@contextmanager
def _signals_interrupt() -> Iterator[None]:
    """Lets two signals interrupt a verb as Ctrl-C does.

    They are SIGTERM, by which schedulers, containers and services end a program, and SIGHUP, which comes when its
    terminal is closed. Without effect outside of the main thread, where a program that calls verbs has a handler of
    its own, and where a signal is ignored, as SIGHUP is under nohup.
    """
    taken = []
    if current_thread() is main_thread():
        taken = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _code_of(words: list[str]) -> int:
    """Runs a verb, says what went wrong, and returns the exit code."""
    try:
        _run(list(words))
        return 0
    except ReaderGoneError:
        return 1
    except BaseException as error:
        # A library written in Rust that gives up raises what is no Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        problem = error if isinstance(error, HfParaphraseError) else error_of_the_system(error)
        said = fault(error, words) if problem is None else with_near_name(problem)
        sys.stderr.write(f"hf-paraphrase: error: {said}\n")
        return 1 if problem is None else 2
    finally:
        give_up_standard_output()


def _run(words: list[str]) -> None:
    words = _import_files(words)
    if not words or words[0] in {"-h", "--help"}:
        show(_overview())
        return
    verb = words.pop(0)
    if verb == "--version":
        from .. import __version__

        show(f"hf-paraphrase {__version__}\n")
        return
    if verb not in VERBS:
        raise UsageError(f"unknown verb `{verb}`", remedy=choice_of(verb, VERBS))
    _check_processes(verb)
    with shown_messages():
        if lacks_its_group():
            log(
                "accelerate was asked for several processes and started one; with --multi_gpu in the place of --cpu "
                "it starts several, also where there is no GPU"
            )
        _run_verb(verb, words)


def _run_verb(verb: str, words: list[str]) -> None:
    row = VERBS[verb]
    if row.kinds is not None and words and words[0] in {"-h", "--help"}:
        show(row.list_of_kinds(verb))
        return
    name, recipe, flags = recipe_and_flags([verb, *words])
    settings = parse(recipe.settings, name, flags)
    for text in row.shown(settings, recipe.run(settings)):
        show(text)


def _import_files(words: list[str]) -> list[str]:
    """Imports the files of one's own that are named before the verb, `--import FILE`; returns the other words."""
    while words and words[0].partition("=")[0] == "--import":
        _, equals, path = words.pop(0).partition("=")
        if not equals:
            if not words:
                raise UsageError("--import names no file", remedy="hf-paraphrase --import FILE VERB …")
            path = words.pop(0)
        import_file(path)
    return words


def _check_processes(verb: str) -> None:
    """Refuses to do in each of several processes what one must do alone."""
    processes = process_count()
    if not VERBS[verb].shared and processes > 1:
        raise UsageError(
            f"`{verb}` runs in one process, and {processes} were started",
            remedy=f"start it as hf-paraphrase {verb}, or with --num_processes 1",
        )


def _overview() -> str:
    width = max(map(len, VERBS))
    lines = ["usage: hf-paraphrase [--import FILE.py] <verb> [flags]"]
    for journey, verbs in JOURNEYS.items():
        lines += ["", f"{journey}:", *(f"  {verb:{width}}  {row.summary}" for verb, row in verbs.items())]
    return "\n".join([*lines, "", "hf-paraphrase <verb> --help explains every flag", ""])
