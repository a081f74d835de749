"""Measures how time, peak memory and disk space grow with the rows: one line a stage, with the exponents.

The pairs are random words by Zipf's law, the second side with some words changed, so that any number can be had.
Each stage is a verb in a process of its own. Times are those of all processors together, from the kernel's own
accounts, so that a busy machine changes them little; memory is the peak of the process, and stored what the output
takes on the disk.

The smallest size stands for what starting takes and is taken away before the exponents are computed, between the two
largest sizes. Memory is given in bytes for each further row, between the same two. A stage that would take longer
than --most-seconds at the next size, by its growth so far, stops there. The last line is one JSON object: for each
stage the exponent of its processor time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hf_paraphrase.errors import HfParaphraseError, UsageError
from hf_paraphrase.tables import format_table
from interleaved import argument_parser, run_benchmark, write

_VOCABULARY = 30_000
_QUERIES = 100


@dataclass(frozen=True)
class Cost:
    """What a stage took: seconds by the clock and of processors, and bytes of memory at most and on the disk."""

    rows: int
    wall: float
    processors: float
    peak: int
    stored: int = 0


class Stage(NamedTuple):
    """A verb: its words, `{}` being the folder of what earlier stages left, its output and what it needs there."""

    line: str
    output: str = ""
    needs: tuple[str, ...] = ()

    def command(self, folder: Path) -> list[str]:
        """Returns the command line."""
        words = [word.replace("{}", str(folder)) for word in self.line.split()]
        output = ["--output", str(folder / self.output)] if self.output else []
        return [sys.executable, "-m", "hf_paraphrase", *words, *output]


STAGES = {
    "prepare": Stage("prepare pairs --tsv {}/pairs.tsv", "pairs"),
    "score": Stage("score --pairs {}/pairs", "scored", ("pairs",)),
    "filter": Stage("filter --pairs {}/scored --keep overlap_1<=0.9 length>=5", "kept", ("scored",)),
    "train-encoder": Stage(
        "train-encoder --pairs {}/pairs --hidden-size 100 --epochs 1 --report-to none", "encoder", ("pairs",)
    ),
    "encode": Stage(
        "encode --input {}/pairs --columns sentence1 --model {}/encoder", "embedded", ("pairs", "encoder")
    ),
    "search": Stage("search --model {}/encoder --corpus {}/first.txt --query-file {}/queries.txt", needs=("encoder",)),
    "mine": Stage("mine --source {}/first.txt --target {}/second.txt --encoder {}/encoder", "mined", ("encoder",)),
}
"""The stages in their order; what one needs an earlier one has left."""


def main() -> int:
    """Runs the benchmark and returns the exit code."""
    parser = argument_parser(__doc__, rounds=None)
    sizes = [500, 10_000, 100_000, 1_000_000]
    parser.add_argument("--rows", type=int, nargs="+", default=sizes, help="sizes, ascending")
    parser.add_argument("--stages", nargs="+", default=list(STAGES), choices=list(STAGES), help="what is measured")
    parser.add_argument("--most-seconds", type=int, default=600, help="of processors that a run may take, as expected")
    parser.add_argument("--work", type=Path, default=None, help="folder for the data, where there is space")
    return run_benchmark(parser, run, {"most_seconds": 1})


def write_pairs(folder: Path, rows: int) -> None:
    """Writes pairs as `pairs.tsv`, their sides as `first.txt` and `second.txt`, and some queries."""
    random = np.random.default_rng(0)
    words = np.array([f"{chr(97 + rank % 26)}w{rank}" for rank in range(_VOCABULARY)])
    shares = 1 / np.arange(1, _VOCABULARY + 1)
    shares /= shares.sum()
    names = ("pairs.tsv", "first.txt", "second.txt", "queries.txt")
    pairs, first, second, queries = ((folder / name).open("w") for name in names)
    with pairs, first, second, queries:
        for start in range(0, rows, 50_000):
            lengths = random.integers(4, 17, size=min(50_000, rows - start))
            total = int(lengths.sum())
            one = random.choice(_VOCABULARY, size=total, p=shares)
            other = np.where(random.random(total) < 0.3, random.choice(_VOCABULARY, size=total, p=shares), one)
            ends = np.cumsum(lengths)[:-1]
            for number, sides in enumerate(zip(np.split(words[one], ends), np.split(words[other], ends), strict=True)):
                left, right = map(" ".join, sides)
                pairs.write(f"{left}\t{right}\n")
                first.write(f"{left}\n")
                second.write(f"{right}\n")
                if start + number < _QUERIES:
                    queries.write(f"{left}\n")


def measured(command: Sequence[str], rows: int, output: Path) -> Cost:
    """Runs a command line that makes an output and accounts for it."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"}
    started = time.perf_counter()
    with tempfile.TemporaryFile() as shown:
        process = subprocess.Popen(command, stdout=shown, stderr=shown, env=environment)  # noqa: S603
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        if status:
            shown.seek(0)
            raise HfParaphraseError(f"{' '.join(command[1:5])}: {shown.read().decode()[-2000:]}")
    stored = sum(path.stat().st_size for path in (output, *output.rglob("*")) if path.is_file())
    return Cost(rows, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, stored)


def exponent(costs: Sequence[Cost], of: Callable[[Cost], float]) -> float:
    """Tells by which power of the rows a cost grows between the two largest sizes; the first is that of starting."""
    start, *others = costs
    points = [(cost.rows - start.rows, of(cost) - of(start)) for cost in others[-2:] if of(cost) > of(start)]
    if len(points) < 2:
        return float("nan")
    (fewer, less), (more, most) = points
    return float(np.log(most / less) / np.log(more / fewer))


def expected_seconds(costs: Sequence[Cost], rows: int) -> float:
    """Estimates the processor time at the next size: by the exponent so far, or 1; 0 where nothing is known."""
    if not costs:
        return 0.0
    power = max(1.0, exponent(costs, lambda cost: cost.processors)) if len(costs) > 2 else 1.0
    return float(costs[-1].processors * (rows / costs[-1].rows) ** power)


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Measures all stages at all sizes, writes a table, and returns the exponents."""
    if len(arguments.rows) < 2 or arguments.rows != sorted(set(arguments.rows)):
        raise UsageError("--rows must be two sizes or more, in ascending order")
    costs: dict[str, list[Cost]] = {name: [] for name in STAGES}
    if arguments.work is not None:
        arguments.work.mkdir(parents=True, exist_ok=True)
    for rows in arguments.rows:
        with tempfile.TemporaryDirectory(dir=arguments.work or folder) as name:
            measure_all(arguments, Path(name), rows, costs)
    shown = {name: costs[name] for name in arguments.stages if len(costs[name]) > 1}
    write(summary(shown))
    exponents = {name: exponent(found, lambda cost: cost.processors) for name, found in shown.items()}
    return {name: value for name, value in exponents.items() if np.isfinite(value)}


def measure_all(arguments: argparse.Namespace, work: Path, rows: int, costs: dict[str, list[Cost]]) -> None:
    """Measures the stages at one size, those left out that would take too long or lack what they read."""
    write_pairs(work, rows)
    # What a stage reads, earlier ones make.
    last = max(map(list(STAGES).index, arguments.stages))
    for name, stage in list(STAGES.items())[: last + 1]:
        expected = expected_seconds(costs[name], rows)
        if expected > arguments.most_seconds or not all((work / need).exists() for need in stage.needs):
            write(f"{name}: {rows:,} rows are left out")
            continue
        cost = measured(stage.command(work), rows, work / (stage.output or "nothing"))
        costs[name].append(cost)
        write(
            f"{name}: {rows:,} rows, {cost.wall:.1f} s, {cost.processors:.1f} s of processors, "
            f"{cost.peak / 2**20:,.0f} MiB, {cost.stored / 2**20:,.0f} MiB stored"
        )


def summary(costs: dict[str, list[Cost]]) -> str:
    """Formats for each stage what its largest run took and how it grows."""
    lines = []
    for name, found in costs.items():
        last, before = found[-1], found[-2]
        lines.append(
            [
                name,
                f"{last.rows:,}",
                f"{last.wall:.1f}",
                f"{last.processors:.1f}",
                f"{exponent(found, lambda cost: cost.processors):.2f}",
                f"{last.peak / 2**20:,.0f}",
                f"{(last.peak - before.peak) / (last.rows - before.rows):,.0f}",
                f"{last.stored / last.rows:,.0f}",
            ]
        )
    heads = ["stage", "rows", "s", "processor s", "exponent", "peak MiB", "bytes a further row", "stored a row"]
    return format_table(heads, lines)


if __name__ == "__main__":
    sys.exit(main())
