"""Measures how time, peak memory and disk space grow with the rows: one line a stage, with the exponents.

The pairs are random words by Zipf's law, the second side with some words changed, so that any number can be had.
Each stage is a verb in a process of its own. Times are those of all processors together, from the kernel's own
accounts, so that a busy machine changes them little; memory is the peak of the process, and stored what the output
takes on the disk.

The smallest size stands for what starting takes and is taken away before the exponents are computed, between the two
largest sizes. Memory is given in bytes for each further row, between the same two. `mine` grows with the square of the
rows: measure it by itself, at fewer. The last line is one JSON object: for each stage the exponent of its time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hf_paraphrase.errors import HfParaphraseError, UsageError
from hf_paraphrase.tables import format_table
from interleaved import argument_parser, run_benchmark, write

_VOCABULARY, _QUERIES = 30_000, 100
STAGES = {
    "prepare": ("pairs", "prepare pairs --tsv pairs.tsv"),
    "score": ("scored", "score --pairs pairs"),
    "filter": ("kept", "filter --pairs scored --keep overlap_1<=0.9 length>=5"),
    "train-encoder": ("encoder", "train-encoder --pairs pairs --hidden-size 100 --epochs 1 --report-to none"),
    "encode": ("embedded", "encode --input pairs --columns sentence1 --model encoder"),
    "search": (None, "search --model encoder --corpus first.txt --query-file queries.txt"),
    "mine": ("mined", "mine --source first.txt --target second.txt --encoder encoder"),
}
"""The output of each stage, and its command; later ones read what earlier ones made."""


class Cost(NamedTuple):
    """What a stage took: seconds by the clock and of processors, and bytes of memory at most and on the disk."""

    rows: int
    wall: float
    processors: float
    peak: int
    stored: int


def main() -> int:
    """Runs the benchmark and returns the exit code."""
    parser = argument_parser(__doc__, rounds=None)
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 10**4, 10**5, 10**6], help="sizes, ascending")
    stages = [name for name in STAGES if name != "mine"]
    parser.add_argument("--stages", nargs="+", default=stages, choices=list(STAGES), help="what is measured")
    return run_benchmark(parser, run)


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Measures all stages at all sizes, writes a table, and returns the exponents."""
    if len(arguments.rows) < 2 or arguments.rows != sorted(set(arguments.rows)):
        raise UsageError("--rows must be two sizes or more, in ascending order")
    costs: dict[str, list[Cost]] = {name: [] for name in arguments.stages}
    # What a stage reads, earlier ones make.
    last = max(map(list(STAGES).index, arguments.stages))
    for rows in arguments.rows:
        with tempfile.TemporaryDirectory(dir=folder) as work:
            write_pairs(Path(work), rows)
            for name, (output, line) in list(STAGES.items())[: last + 1]:
                cost = measured(line, output, Path(work), rows)
                costs.get(name, []).append(cost)
                write(f"{name}: {rows:,} rows, {cost.wall:.1f} s, {cost.processors:.1f} s of processors")
    write(summary(costs))
    return {name: value for name, found in costs.items() if np.isfinite(value := exponent(found))}


def write_pairs(folder: Path, rows: int) -> None:
    """Writes pairs as `pairs.tsv`, their sides as `first.txt` and `second.txt`, and some queries."""
    random = np.random.default_rng(0)
    words = np.array([f"{chr(97 + rank % 26)}w{rank}" for rank in range(_VOCABULARY)])
    shares = 1 / np.arange(1, _VOCABULARY + 1)
    shares /= shares.sum()
    for start in range(0, rows, 50_000):
        lengths = random.integers(4, 17, size=min(50_000, rows - start))
        total = int(lengths.sum())
        one = random.choice(_VOCABULARY, size=total, p=shares)
        other = np.where(random.random(total) < 0.3, random.choice(_VOCABULARY, size=total, p=shares), one)
        ends = np.cumsum(lengths)[:-1]
        first, second = ([" ".join(line) for line in np.split(words[side], ends)] for side in (one, other))
        files = {"first.txt": first, "second.txt": second, "queries.txt": first[: max(_QUERIES - start, 0)]}
        files["pairs.tsv"] = list(map("\t".join, zip(first, second, strict=True)))
        for name, lines in files.items():
            with (folder / name).open("a") as stream:
                stream.writelines(f"{line}\n" for line in lines)


def measured(line: str, output: str | None, folder: Path, rows: int) -> Cost:
    """Runs a verb in the folder and accounts for it."""
    words = [*line.split(), *(["--output", output] if output else [])]
    command = [sys.executable, "-m", "hf_paraphrase", *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    started = time.perf_counter()
    with tempfile.TemporaryFile() as shown:
        process = subprocess.Popen(command, stdout=shown, stderr=shown, env=environment, cwd=folder)  # noqa: S603
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        if status:
            shown.seek(0)
            raise HfParaphraseError(f"{words[0]}: {shown.read().decode()[-2000:]}")
    stored = sum(path.stat().st_size for path in (folder / output).rglob("*") if path.is_file()) if output else 0
    return Cost(rows, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, stored)


def exponent(costs: Sequence[Cost]) -> float:
    """Computes by which power of the rows the time grows between the two largest sizes, without that of starting."""
    start, *others = costs
    grown = [(cost.rows - start.rows, cost.processors - start.processors) for cost in others[-2:]]
    if len(grown) < 2 or min(time for _, time in grown) <= 0:
        return float("nan")
    (fewer, less), (more, most) = grown
    return float(np.log(most / less) / np.log(more / fewer))


def summary(costs: dict[str, list[Cost]]) -> str:
    """Formats for each stage what its largest run took and how it grows."""
    heads = ["stage", "rows", "s", "processor s", "exponent", "peak MiB", "bytes a further row", "stored a row"]
    lines = []
    for name, found in costs.items():
        before, last = found[-2:]
        further = (last.peak - before.peak) / (last.rows - before.rows)
        figures = [f"{last.rows:,}", f"{last.wall:.1f}", f"{last.processors:.1f}", f"{exponent(found):.2f}"]
        figures += [f"{last.peak / 2**20:,.0f}", f"{further:,.0f}", f"{last.stored / last.rows:,.0f}"]
        lines.append([name, *figures])
    return format_table(heads, lines)


if __name__ == "__main__":
    sys.exit(main())
