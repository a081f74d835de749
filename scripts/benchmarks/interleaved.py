"""What the benchmarks share: their arguments, taking turns, the table, the ratios and the way they end.

The contestants of a benchmark take turns in one run, so that a slow minute of the machine meets all of them; the first
turn of each warms up and is not counted. Ratios are of the median rates. Beside the rates stands what memory the timed
turns took at most, above what the process held when they began: where Linux tells it, and without programs that a
contestant starts.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from hf_paraphrase.errors import HfParaphraseError, UsageError
from hf_paraphrase.messages import is_main_process

CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
"""What a second is."""
CLOCK = "wall: seconds that pass; processor: seconds of processor time of all threads, for a busy machine"
"""What `--clock` means."""
ROUNDS = "timed turns of each contestant, after one to warm up"
"""What `--rounds` means."""

Result = TypeVar("Result")


class Contestant(NamedTuple):
    """What is timed.

    Attributes:
        key: What its ratio is called in the report; empty for what has none.
        rate: Takes a turn and returns a rate per second.
    """

    key: str
    name: str
    rate: Callable[[], float]


class Turns(NamedTuple):
    """What the timed turns of a contestant gave.

    Attributes:
        mebibytes: The most memory that one of them took, above what the process held before it; None where the system
            does not tell.
    """

    rates: list[float]
    mebibytes: float | None

    @property
    def memory(self) -> str:
        """The memory as the tables say it."""
        return "-" if self.mebibytes is None else format(self.mebibytes, ",.0f")


def argument_parser(documentation: str | None) -> argparse.ArgumentParser:
    """Makes a parser that is described by the first line of a benchmark's documentation and shows all defaults."""
    return argparse.ArgumentParser(
        description=(documentation or "").partition("\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )


def check_least(arguments: argparse.Namespace, least: Mapping[str, int]) -> None:
    """Refuses numbers that make no sense."""
    for name, bound in least.items():
        if getattr(arguments, name) < bound:
            raise UsageError(f"--{name.replace('_', '-')} must be at least {bound}, not {getattr(arguments, name)}")


def timed(work: Callable[[], Result], clock: str = "wall") -> tuple[float, Result]:
    """Does some work and returns the seconds it took by one of the `CLOCKS`, and its result."""
    now = CLOCKS[clock]
    start = now()
    result = work()
    return now() - start, result


def take_turns(
    contestants: Sequence[Contestant], rounds: int, *, warm: Callable[[], None] = lambda: None
) -> list[Turns]:
    """Lets the contestants take turns.

    Returns:
        What the timed turns of each contestant gave.
    """
    rates: list[list[float]] = [[] for _ in contestants]
    taken: list[list[float]] = [[] for _ in contestants]
    for turn in range(rounds + 1):
        for contestant, column, memory in zip(contestants, rates, taken, strict=True):
            gc.collect()
            before = _forgotten_peak()
            rate = contestant.rate()
            if turn:
                column.append(rate)
                if before is not None:
                    memory.append((_of_status("VmHWM") - before) / 1024)
        if not turn:
            warm()
    return [Turns(column, max(memory, default=None)) for column, memory in zip(rates, taken, strict=True)]


def _forgotten_peak() -> int | None:
    """Lets the peak of this process's memory start again; returns what it holds now, in KiB."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _of_status("VmRSS")
    except OSError:
        return None


def _of_status(name: str) -> int:
    """Reads a size in KiB that Linux tells of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def measure(
    unit: str,
    contestants: Sequence[Contestant],
    rounds: int,
    *,
    heading: str = "ours/this",
    over_last: bool = False,
    width: int = 40,
    warm: Callable[[], None] = lambda: None,
) -> list[float]:
    """Lets the contestants take turns and writes a table of their rates and of the memory that their turns took.

    The column of ratios has the first rate over each, or with `over_last` each over the last; without `heading` it is
    left out.
    """
    turns = take_turns(contestants, rounds, warm=warm)
    medians = [statistics.median(found.rates) for found in turns]
    header = f"{unit:{width}}{'median':>12}{'min':>12}{'max':>12}{'MiB':>9}"
    rows = [
        f"{contestant.name:{width}}{median:12,.0f}{min(found.rates):12,.0f}{max(found.rates):12,.0f}{found.memory:>9}"
        for contestant, found, median in zip(contestants, turns, medians, strict=True)
    ]
    if heading:
        breadth = len(heading) + 2
        header += f"{heading:>{breadth}}"
        ratios = [median / medians[-1] if over_last else medians[0] / median for median in medians]
        rows = [f"{row}{ratio:{breadth}.2f}" for row, ratio in zip(rows, ratios, strict=True)]
    for row in (header, *rows):
        write(row)
    return medians


def ratios_to_best(contestants: Sequence[Contestant], medians: Sequence[float]) -> dict[str, float]:
    """Computes for every key the ratio of the first contestant's median rate to the highest with that key."""
    best: dict[str, float] = {}
    for contestant, median in zip(contestants[1:], medians[1:], strict=True):
        if contestant.key:
            best[contestant.key] = max(best.get(contestant.key, 0.0), median)
    return {key: medians[0] / median for key, median in best.items()}


def write(line: str) -> None:
    """Writes a line of the report to standard output, once for all processes."""
    if is_main_process():
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def write_ratios(ratios: Mapping[str, float]) -> None:
    """Writes the last line of the report: the ratios as one JSON object."""
    write(json.dumps({key: round(ratio, 3) for key, ratio in ratios.items()}))


def exit_code(name: str, work: Callable[[], None]) -> int:
    """Runs a benchmark; an error that the user can fix becomes one line.

    Returns:
        The exit code: 0 done, 2 bad usage or bad input.
    """
    try:
        work()
    except HfParaphraseError as error:
        sys.stderr.write(f"{name}: error: {error}\n")
        return 2
    return 0
