"""Measure how time, peak memory and disk space grow with the number of rows: one line per stage, with the exponents.

The pairs are random words by Zipf's law; some words of the second sentence are replaced. Each stage is a command in
its own process. Times are CPU times of all threads, so that other load on the machine changes them little.

The smallest size measures the start and is subtracted. Exponents are computed between the two largest sizes. `mine`
grows with the square of the rows: measure it alone, with fewer rows.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hf_paraphrase.errors import HfParaphraseError, UsageError
from hf_paraphrase.tables import format_table
from interleaved import run_benchmark, write

_VOCABULARY, _QUERIES = 30_000, 100
STAGES = {
    "prepare": ("pairs", "prepare pairs --tsv pairs.tsv"),
    "bitext": ("bitext", "prepare bitext --source-lang fr --target-lang en --tsv pairs.tsv --validation-size 100"),
    "train-nmt": (
        "translation",
        "train-nmt --bitext bitext --vocab-size 2000 --hidden-size 32 --embedding-size 32 --epochs 0.0001 "
        "--evaluations 1 --max-dev-pairs 10 --report-to none",
    ),
    "score": ("scored", "score --pairs pairs"),
    "filter": ("kept", "filter --pairs scored --keep overlap_1<=0.9 length>=5"),
    "train-encoder": ("encoder", "train-encoder --pairs pairs --hidden-size 100 --epochs 1 --report-to none"),
    "encode": ("embedded", "encode --input pairs --columns sentence1 --model encoder"),
    "deduplicate": ("distinct", "deduplicate --input first.txt --encoder encoder"),
    "index": ("index", "search --model encoder --corpus first.txt"),
    "search": (None, "search --model encoder --corpus first.txt --query-file queries.txt"),
    "mine": ("mined", "mine --source first.txt --target second.txt --encoder encoder"),
}
"""The output of each stage, and its command; later ones read what earlier ones made."""
FLAGS = {
    "rows": ((500, 10**4, 10**5, 10**6), "three sizes or more, ascending"),
    "stages": (tuple(name for name in STAGES if name != "mine"), "what is measured", list(STAGES)),
}


class Cost(NamedTuple):
    """What a stage took: seconds of processors, and bytes of memory at its peak and of its output on the disk."""

    rows: int
    processors: float
    peak: int
    stored: int


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Measure all stages at all sizes, write a table, and return the exponents."""
    if len(arguments.rows) < 3 or list(arguments.rows) != sorted(set(arguments.rows)):
        raise UsageError("--rows must be three sizes or more, in ascending order")
    costs: dict[str, list[Cost]] = {name: [] for name in arguments.stages}
    # What a stage reads, earlier ones make.
    last = max(map(list(STAGES).index, arguments.stages))
    for rows in arguments.rows:
        with tempfile.TemporaryDirectory(dir=folder) as work:
            write_pairs(Path(work), rows)
            for name, (output, line) in list(STAGES.items())[: last + 1]:
                cost = measured(line, output, Path(work), rows)
                costs.get(name, []).append(cost)
                write(f"{name}: {rows:,} rows, {cost.processors:.1f} s of processors")
    exponents, table = dict[str, float](), list[list[str]]()
    for name, (start, *_, before, most) in costs.items():
        # The kernel counts hundredths of a second.
        times = [max(cost.processors - start.processors, 0.01) for cost in (before, most)]
        sizes = [cost.rows - start.rows for cost in (before, most)]
        exponents[name] = float(np.log(times[1] / times[0]) / np.log(sizes[1] / sizes[0]))
        figures = [f"{most.rows:,}", f"{most.processors:.1f}", f"{exponents[name]:.2f}", f"{most.peak / 2**20:,.0f}"]
        figures += [f"{(most.peak - before.peak) / (most.rows - before.rows):,.0f}", f"{most.stored / most.rows:,.0f}"]
        table.append([name, *figures])
    heads = ["rows", "processor s", "exponent", "peak MiB", "bytes a further row", "stored a row"]
    write(format_table(["stage", *heads], table))
    return exponents


def write_pairs(folder: Path, rows: int) -> None:
    """Write pairs as `pairs.tsv`, their sides as `first.txt` and `second.txt`, and some queries."""
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
    """Run a verb in the folder and account for it."""
    words = [*line.split(), *(["--output", output] if output else [])]
    command = [sys.executable, "-m", "hf_paraphrase", *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    with tempfile.TemporaryFile() as shown:
        process = subprocess.Popen(command, stdout=shown, stderr=shown, env=environment, cwd=folder)  # noqa: S603
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            shown.seek(0)
            raise HfParaphraseError(f"{words[0]}: {shown.read().decode()[-2000:]}")
    stored = sum(path.stat().st_size for path in (folder / output).rglob("*") if path.is_file()) if output else 0
    return Cost(rows, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, stored)


if __name__ == "__main__":
    sys.exit(run_benchmark(run, __doc__, FLAGS))
