"""Times `prepare bitext` against the csv loader of `datasets` with a cleaning function in Python, in one run.

All read the same tab-separated file, leave out rows with an empty side, identical sides, too long ones, those of too
different length and repeats, and write Parquet. The peer is what one writes by hand: `load_dataset("csv")` without
quoting, a `map` over batches that keeps the good rows of each, `to_parquet`; it runs once in one process and once with
one process a core. They take turns, so that a slow minute of the machine meets all of them, and must all keep the same
rows. Start-up and imports do not count. Ratios are of the medians, above 1 = this package is faster; the last line
gives the one to the faster of the two peers.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import pyarrow.parquet as pq

from hf_paraphrase.data.bitext_corpus import REPEATING, BitextCorpus, BitextOptions
from hf_paraphrase.data.parallel import available_cores
from hf_paraphrase.data.parquet import write_split
from hf_paraphrase.data.sample.bitext import sample_bitext
from hf_paraphrase.data.schema import BITEXT
from hf_paraphrase.errors import HfParaphraseError, UsageError

KEY = "prepare_vs_datasets"
MOST_WORDS = 40
MOST_RATIO = 2.5


class Contestant(NamedTuple):
    """What is timed.

    Attributes:
        name: What the table says.
        prepare: Reads the file, cleans it, writes Parquet to a folder that is there, and returns the files.
    """

    name: str
    prepare: Callable[[Path, Path], list[Path]]


def main() -> int:
    """Runs the benchmark and returns the exit code."""
    arguments = read_arguments()
    datasets.disable_progress_bars()
    try:
        check(arguments)
        with tempfile.TemporaryDirectory() as folder:
            run(arguments, Path(folder))
    except HfParaphraseError as error:
        sys.stderr.write(f"bench_prepare: error: {error}\n")
        return 2
    return 0


def read_arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--tsv", help="source and target, tab-separated; none = made from the sample")
    parser.add_argument("--rows", type=int, default=500_000, help="rows of the file that is made from the sample")
    parser.add_argument("--rounds", type=int, default=5, help="timed turns of each contestant, after one to warm up")
    return parser.parse_args()


def check(arguments: argparse.Namespace) -> None:
    """Refuses numbers that make no sense.

    Raises:
        UsageError: If a number is too small.
    """
    for name in ("rows", "rounds"):
        if getattr(arguments, name) < 1:
            raise UsageError(f"--{name} must be at least 1, not {getattr(arguments, name)}")


def sample_file(path: Path, rows: int) -> Path:
    """Writes sample pairs, joined by chance to sentences of one to three, with every fault that the rules look for."""
    pairs = sample_bitext()["train"]
    draw = random.Random(0)
    lines: list[str] = []
    while len(lines) < rows:
        chosen = draw.choices(pairs, k=draw.randint(1, 3))
        source, target = (" ".join(getattr(pair, side) for pair in chosen) for side in ("french", "english"))
        fault = draw.random()
        if fault < 0.01:
            target = draw.choice(["", " ", "\u00a0"])
        elif fault < 0.02:
            target = source.upper()
        elif fault < 0.04:
            source = f"{source} " * 6
        elif fault < 0.05:
            target = target.split()[0]
        elif fault < 0.1 and lines:
            source, target = draw.choice(lines[-1000:]).split("\t")
        lines.append(f"{source}\t{target}")
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


def prepare_ours(path: Path, folder: Path) -> list[Path]:
    """Prepares with this package."""
    options = BitextOptions(
        tsv=str(path),
        source_lang="fr",
        target_lang="en",
        drop_identical=True,
        max_length=MOST_WORDS,
        max_length_ratio=MOST_RATIO,
        drop_duplicates="pair",
    )
    with BitextCorpus(options, work=folder) as corpus:
        write_split(folder, "train", corpus.batches("train"), BITEXT, repeating=REPEATING)
    return sorted((folder / "data").glob("*.parquet"))


def keep_good(batch: dict[str, list[str]], indices: list[int]) -> dict[str, list[Any]]:
    """Keeps the good rows of a batch and gives them ids and languages: plain Python, as one writes it."""
    kept: dict[str, list[Any]] = {name: [] for name in BITEXT.names}
    for index, source, target in zip(indices, batch["source"], batch["target"], strict=True):
        source_length, target_length = len(source.split()), len(target.split())
        shorter, longer = min(source_length, target_length), max(source_length, target_length)
        if not shorter or longer > MOST_WORDS or longer > MOST_RATIO * shorter:
            continue
        if source.strip().lower() == target.strip().lower():
            continue
        row = (f"fr-en-{index + 1:07d}", source, target, "fr", "en")
        for name, value in zip(BITEXT.names, row, strict=True):
            kept[name].append(value)
    return kept


def keep_first(batch: dict[str, list[str]], seen: set[int]) -> list[bool]:
    """Marks the rows whose pair did not occur before."""
    marks = []
    for pair in zip(batch["source"], batch["target"], strict=True):
        key = hash(pair)
        marks.append(key not in seen)
        seen.add(key)
    return marks


def prepare_datasets(path: Path, folder: Path, processes: int | None) -> list[Path]:
    """Prepares with `datasets` and a cleaning function in Python."""
    rows = datasets.load_dataset(
        "csv",
        data_files=str(path),
        split="train",
        cache_dir=str(folder / "cache"),
        delimiter="\t",
        column_names=["source", "target"],
        quoting=3,
        keep_default_na=False,
    )
    rows = rows.map(
        keep_good,
        batched=True,
        with_indices=True,
        num_proc=processes,
        features=datasets.Features.from_arrow_schema(BITEXT),
    )
    rows = rows.filter(keep_first, batched=True, fn_kwargs={"seen": set()}, new_fingerprint=f"kept{time.time_ns():x}")
    rows.to_parquet(str(folder / "train.parquet"))
    return [folder / "train.parquet"]


def run(arguments: argparse.Namespace, folder: Path) -> None:
    """Measures everything and writes the report, the ratio as one JSON object on its last line."""
    path = Path(arguments.tsv) if arguments.tsv else sample_file(folder / "sample.tsv", arguments.rows)
    with path.open("rb") as stream:
        lines = sum(block.count(b"\n") for block in iter(partial(stream.read, 1 << 20), b""))
    cores = available_cores()
    write(f"{lines:,} rows, {path.stat().st_size / 1e6:,.0f} MB, {cores} cores")
    contestants = [
        Contestant("hf_paraphrase", prepare_ours),
        Contestant("datasets csv + map, 1 process", partial(prepare_datasets, processes=None)),
    ]
    if cores > 1:
        peer = partial(prepare_datasets, processes=cores)
        contestants.append(Contestant(f"datasets csv + map, {cores} processes", peer))
    medians = measure(contestants, path, lines, folder, arguments.rounds)
    write(json.dumps({KEY: round(medians[0] / max(medians[1:]), 3)}))


def measure(contestants: list[Contestant], path: Path, lines: int, folder: Path, rounds: int) -> list[float]:
    """Lets the contestants take turns, writes a table and returns the median rate of each in rows per second."""
    rates: list[list[float]] = [[] for _ in contestants]
    for turn in range(rounds + 1):
        results = []
        for contestant, column in zip(contestants, rates, strict=True):
            work = folder / "work"
            work.mkdir()
            gc.collect()
            begin = time.perf_counter()
            files = contestant.prepare(path, work)
            seconds = time.perf_counter() - begin
            if turn:
                column.append(lines / seconds)
            else:
                results.append([pq.read_table(file) for file in files])
            shutil.rmtree(work)
        if not turn:
            check_same(contestants, results)
    medians = [statistics.median(column) for column in rates]
    write(f"{'rows/s':40}{'median':>12}{'min':>12}{'max':>12}{'ours/this':>11}")
    for contestant, column, median in zip(contestants, rates, medians, strict=True):
        row = f"{median:12,.0f}{min(column):12,.0f}{max(column):12,.0f}{medians[0] / median:11.2f}"
        write(f"{contestant.name:40}{row}")
    return medians


def check_same(contestants: list[Contestant], results: list[list[Any]]) -> None:
    """Makes sure that all keep the same rows in the same order.

    Raises:
        HfParaphraseError: If they do not.
    """
    columns = [[value for table in tables for value in table.column("id").to_pylist()] for tables in results]
    for contestant, ids in zip(contestants, columns, strict=True):
        if ids != columns[0]:
            raise HfParaphraseError(f"{contestant.name} keeps {len(ids):,} rows that are not our {len(columns[0]):,}")
    write(f"all keep the same {len(columns[0]):,} rows")


def write(line: str) -> None:
    """Writes a line of the report to standard output."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
