"""Measures how time, peak memory and bytes written grow with the rows: one line a stage, with the exponents.

The pairs are random words by Zipf's law, the second side with some words changed, so that any number can be had.
Each stage is a verb in a process of its own (`prepare pairs`, `score`, `filter`, one epoch of `train-encoder` of type
avg, `encode` of one column, `search` for a hundred queries, `mine` among as many lines), with one process and, where
the verb shares its work, with two: `--workers 2`, two `--shard` parts at once, or two of `accelerate`. Times are those
of all processors together, from the kernel's own accounts, so that a busy machine changes them little; peak memory is
that of the largest process; written is what went towards the disk, stored what the output takes there.

A run over few rows stands for what starting takes and is taken away before the exponents are computed, between the two
largest sizes: at smaller ones starting outweighs the rows. Memory is given in bytes for each further row, between the
same two. A stage that would take longer than --most-seconds at the next size, by its growth so far, stops there; where
that is training, the encoder of the size before serves the stages that need one. --record keeps all that was measured,
for `costs.py`. The last line is one JSON object: for each stage the exponent of its processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from hf_paraphrase.errors import HfParaphraseError, UsageError
from hf_paraphrase.tables import format_table
from interleaved import argument_parser, check_least, exit_code, write, write_ratios

_VOCABULARY = 30_000
_QUERIES = 100
_BLOCK = 512
"""Bytes of a block, in which the kernel counts what is written."""

Words = list[str]


@dataclass(frozen=True)
class Cost:
    """What a stage took.

    Attributes:
        wall: Seconds from its start to its end.
        peak: The most memory of one process, in bytes.
        written: What went towards the disk, in bytes.
        stored: What the output takes there, in bytes.
    """

    rows: int
    wall: float
    processors: float
    peak: int
    written: int
    stored: int = 0


@dataclass(frozen=True)
class Stage:
    """A verb, with one process or two.

    Attributes:
        commands: Makes the command lines, which run at the same time, from the folder of what earlier stages left.
        needs: What earlier stages have left there for it.
    """

    name: str
    commands: Callable[[Path], list[Words]]
    output: str
    needs: tuple[str, ...] = ()


def main() -> int:
    """Runs the benchmark and returns the exit code."""
    parser = argument_parser(__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000], help="sizes, ascending")
    parser.add_argument("--start", type=int, default=500, help="rows of the runs that stand for starting")
    parser.add_argument("--stages", nargs="+", default=[], help="stages by their names; all if none is given")
    parser.add_argument("--most-seconds", type=int, default=600, help="of processors that a run may take, as expected")
    parser.add_argument("--work", type=Path, default=None, help="folder for the data, where there is space")
    parser.add_argument("--record", type=Path, default=None, help="file to keep all measurements in, e.g. growth.json")
    parser.add_argument("--plot", type=Path, default=None, help="a picture to make, e.g. growth.png")
    arguments = parser.parse_args()

    def work() -> None:
        check_least(arguments, {"start": 2, "most_seconds": 1})
        if arguments.rows != sorted(set(arguments.rows)) or arguments.rows[0] <= arguments.start:
            raise UsageError("--rows must ascend from more than --start")
        names = [stage.name for stage in STAGES]
        for name in arguments.stages:
            if name not in names:
                raise UsageError(f"--stages: there is no stage `{name}`", remedy=f"one of {', '.join(names)}")
        if arguments.work is not None:
            arguments.work.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=arguments.work) as folder:
            run(arguments, Path(folder))

    return exit_code("benchmarks/growth", work)


def write_pairs(folder: Path, rows: int) -> None:
    """Writes pairs as `pairs.tsv`, their sides as `first.txt` and `second.txt`, and some queries."""
    random = np.random.default_rng(0)
    words = np.array([f"{chr(97 + rank % 26)}w{rank}" for rank in range(_VOCABULARY)])
    shares = 1 / np.arange(1, _VOCABULARY + 1)
    shares /= shares.sum()
    with (
        (folder / "pairs.tsv").open("w") as pairs,
        (folder / "first.txt").open("w") as first,
        (folder / "second.txt").open("w") as second,
    ):
        for start in range(0, rows, 50_000):
            lengths = random.integers(4, 17, size=min(50_000, rows - start))
            total = int(lengths.sum())
            one = random.choice(_VOCABULARY, size=total, p=shares)
            other = np.where(random.random(total) < 0.3, random.choice(_VOCABULARY, size=total, p=shares), one)
            ends = np.cumsum(lengths)[:-1]
            for left, right in zip(np.split(words[one], ends), np.split(words[other], ends), strict=True):
                sides = " ".join(left), " ".join(right)
                pairs.write("\t".join(sides) + "\n")
                first.write(sides[0] + "\n")
                second.write(sides[1] + "\n")
    with (folder / "first.txt").open() as lines, (folder / "queries.txt").open("w") as queries:
        queries.writelines(line for _, line in zip(range(_QUERIES), lines, strict=False))


def _verb(*words: str | Path) -> Words:
    return [sys.executable, "-m", "hf_paraphrase", *map(str, words)]


def _prepare(folder: Path) -> list[Words]:
    return [_verb("prepare", "pairs", "--tsv", folder / "pairs.tsv", "--output", folder / "pairs")]


def _score(folder: Path, workers: int = 1) -> list[Words]:
    words = _verb("score", "--pairs", folder / "pairs", "--output", folder / "scored", "--workers", str(workers))
    return [words if workers == 1 else [*words, *_shard_size(folder, workers)]]


def _in_parts(words: Words, folder: Path, parts: int) -> list[Words]:
    if parts == 1:
        return [words]
    return [[*words, *_shard_size(folder, parts), "--shard", f"{part + 1}/{parts}"] for part in range(parts)]


def _shard_size(folder: Path, parts: int) -> Words:
    with (folder / "first.txt").open("rb") as lines:
        rows = sum(1 for _ in lines)
    return ["--shard-size", str(max(1, rows // (4 * parts)))]


def _filter(folder: Path, parts: int = 1) -> list[Words]:
    keep = ("--keep", "overlap_1<=0.9", "length>=5")
    words = _verb("filter", "--pairs", folder / "scored", "--output", folder / "kept", *keep)
    return _in_parts(words, folder, parts)


def _encode(folder: Path, parts: int = 1) -> list[Words]:
    inputs = ("--input", folder / "pairs", "--columns", "sentence1", "--model", folder / "encoder")
    words = _verb("encode", *inputs, "--output", folder / "embedded")
    return _in_parts(words, folder, parts)


def _train(folder: Path, processes: int = 1) -> list[Words]:
    settings = ("--hidden-size", "100", "--epochs", "1", "--report-to", "none")
    words = _verb("train-encoder", "--pairs", folder / "pairs", "--output", folder / "encoder", *settings)
    if processes == 1:
        return [words]
    launcher = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", str(processes)]
    return [[*launcher, *words[1:]]]


def _search(folder: Path) -> list[Words]:
    corpus = ("--corpus", folder / "first.txt", "--query-file", folder / "queries.txt")
    return [_verb("search", "--model", folder / "encoder", *corpus)]


def _mine(folder: Path) -> list[Words]:
    sides = ("--source", folder / "first.txt", "--target", folder / "second.txt")
    return [_verb("mine", *sides, "--encoder", folder / "encoder", "--output", folder / "mined")]


STAGES = (
    Stage("prepare", _prepare, "pairs"),
    Stage("score", _score, "scored", ("pairs",)),
    Stage("score x2", lambda folder: _score(folder, 2), "scored", ("pairs",)),
    Stage("filter", _filter, "kept", ("scored",)),
    Stage("filter x2", lambda folder: _filter(folder, 2), "kept", ("scored",)),
    Stage("train-encoder", _train, "encoder", ("pairs",)),
    Stage("train-encoder x2", lambda folder: _train(folder, 2), "encoder", ("pairs",)),
    Stage("encode", _encode, "embedded", ("pairs", "encoder")),
    Stage("encode x2", lambda folder: _encode(folder, 2), "embedded", ("pairs", "encoder")),
    Stage("search", _search, "", ("encoder",)),
    Stage("mine", _mine, "mined", ("encoder",)),
)
"""The stages in their order; what one needs an earlier one has left."""


def measured(commands: Sequence[Words], rows: int, output: Path) -> Cost:
    """Runs command lines that make an output at the same time and accounts for all processes that they start."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"}
    started = time.perf_counter()
    with tempfile.TemporaryFile() as shown:
        running = [
            subprocess.Popen(words, stdout=shown, stderr=shown, env=environment)  # noqa: S603
            for words in commands
        ]
        ended = [os.wait4(process.pid, 0)[1:] for process in running]
        wall = time.perf_counter() - started
        if any(status for status, _ in ended):
            shown.seek(0)
            raise HfParaphraseError(f"{' '.join(commands[0][1:5])}: {shown.read().decode()[-2000:]}")
    usages = [usage for _, usage in ended]
    return Cost(
        rows,
        wall,
        sum(usage.ru_utime + usage.ru_stime for usage in usages),
        max(usage.ru_maxrss for usage in usages) * 1024,
        sum(usage.ru_oublock for usage in usages) * _BLOCK,
        sum(path.stat().st_size for path in (output, *output.rglob("*")) if path.is_file()),
    )


def exponent(costs: Sequence[Cost], of: Callable[[Cost], float]) -> float:
    """Tells by which power of the rows a cost grows between the two largest sizes; the first is that of starting."""
    start, *others = costs
    points = [(cost.rows - start.rows, of(cost) - of(start)) for cost in others[-2:] if of(cost) > of(start)]
    if len(points) < 2:
        return float("nan")
    (fewer, less), (more, most) = points
    return float(np.log(most / less) / np.log(more / fewer))


def run(arguments: argparse.Namespace, work: Path) -> None:
    """Measures all stages at all sizes, and writes a table, the picture and the exponents."""
    costs: dict[str, list[Cost]] = {stage.name: [] for stage in STAGES}
    wanted = set(arguments.stages or costs)
    last = max(place for place, stage in enumerate(STAGES) if stage.name in wanted)
    # What a stage reads, earlier ones make with one process.
    needed = [stage for stage in STAGES[: last + 1] if stage.name in wanted or not stage.name.endswith(" x2")]
    stopped: set[str] = set()
    kept = work / "encoder"
    for rows in (arguments.start, *arguments.rows):
        folder = work / str(rows)
        folder.mkdir()
        write_pairs(folder, rows)
        encoder = folder / "encoder"
        if kept.exists():
            kept.rename(encoder)
        for stage in needed:
            if stage.name in stopped or not all((folder / name).exists() for name in stage.needs):
                continue
            if (expected := expected_seconds(costs[stage.name], rows)) > arguments.most_seconds:
                stopped.add(stage.name)
                write(f"{stage.name}: {rows:,} rows are left out, about {expected:,.0f} s")
                continue
            _remove(folder / stage.output)
            cost = measured(stage.commands(folder), rows, folder / (stage.output or "nothing"))
            costs[stage.name].append(cost)
            if arguments.record is not None:
                record = {name: [asdict(cost) for cost in found] for name, found in costs.items()}
                arguments.record.write_text(json.dumps(record, indent=1) + "\n")
            write(
                f"{stage.name}: {rows:,} rows, {cost.wall:.1f} s, {cost.processors:.1f} s of processors, "
                f"{cost.peak / 2**20:,.0f} MiB, {cost.written / 2**20:,.0f} MiB written"
            )
        if encoder.exists():
            encoder.rename(kept)
        shutil.rmtree(folder)
    shown = {name: found for name, found in costs.items() if name in wanted and len(found) > 1}
    write(summary(shown))
    if arguments.plot is not None:
        draw(shown, arguments.plot)
    exponents = {name: exponent(found, lambda cost: cost.processors) for name, found in shown.items()}
    write_ratios({name: value for name, value in exponents.items() if np.isfinite(value)})


def expected_seconds(costs: Sequence[Cost], rows: int) -> float:
    """Expects the time of processors of a run by how the last two grew; 0 where there are not two yet."""
    if len(costs) < 2:
        return 0.0
    before, last = costs[-2:]
    growth = np.log(last.processors / before.processors) / np.log(last.rows / before.rows)
    return float(last.processors * (rows / last.rows) ** max(1.0, growth))


def summary(costs: dict[str, list[Cost]]) -> str:
    """Formats for each stage what its largest run took and how it grows."""
    lines = []
    for name, found in costs.items():
        last, before = found[-1], found[-2]
        a_row = (last.peak - before.peak) / (last.rows - before.rows)
        lines.append(
            [
                name,
                f"{last.rows:,}",
                f"{last.wall:.1f}",
                f"{last.processors:.1f}",
                f"{exponent(found, lambda cost: cost.processors):.2f}",
                f"{last.peak / 2**20:,.0f}",
                f"{a_row:,.0f}",
                f"{last.written / last.rows:,.0f}",
                f"{exponent(found, lambda cost: cost.written):.2f}",
            ]
        )
    heads = ["stage", "rows", "s", "processor s", "exponent", "peak MiB", "bytes a further row", "written a row"]
    return format_table([*heads, "exponent of written"], lines)


def draw(costs: dict[str, list[Cost]], path: Path) -> None:
    """Draws processor time and peak memory over the rows, on logarithmic axes."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError("--plot needs the package matplotlib", remedy="pip install 'hf-paraphrase[plots]'") from error
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    axes = figure.subplots(1, 2)
    for place, (title, of) in enumerate(
        [("seconds of processors", lambda cost: cost.processors), ("peak memory, MiB", lambda cost: cost.peak / 2**20)]
    ):
        for name, found in costs.items():
            style = "--" if name.endswith(" x2") else "-"
            axes[place].plot([cost.rows for cost in found], list(map(of, found)), style, marker="o", label=name)
        axes[place].set(xscale="log", yscale="log", xlabel="rows", ylabel=title)
    axes[1].legend(fontsize="small")
    figure.savefig(path)


def _remove(path: Path) -> None:
    if path.is_dir() and path.name in {stage.output for stage in STAGES}:
        shutil.rmtree(path)
    elif path.is_file():
        path.unlink()


if __name__ == "__main__":
    sys.exit(main())
