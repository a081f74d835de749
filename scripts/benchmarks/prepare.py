"""Times `prepare bitext` against the csv loader of `datasets` with a cleaning function in Python, in one run.

All read the same tab-separated file, leave out rows with an empty side, identical sides, too long ones, those of too
different length and repeats, and write Parquet. The peer is what one writes by hand: `load_dataset("csv")` without
quoting, a `map` over batches that keeps the good rows of each, `to_parquet`; it runs once in one process and once with
one process a core. All must keep the same rows. Start-up and imports do not count. The ratio is the one to the faster
of the two peers.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq

from hf_paraphrase.data.batch_function import available_cores
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.sample import sample_bitext
from hf_paraphrase.data.schema import BITEXT
from hf_paraphrase.data.sources.bitext import REPEATING, BitextSource
from hf_paraphrase.data.sources.rows import SourceRows
from hf_paraphrase.errors import HfParaphraseError
from interleaved import Contestant, argument_parser, compare, rate, run_benchmark, write

MOST_WORDS, MOST_RATIO = 40, 2.5


def main() -> int:
    """Runs the benchmark and returns the exit code."""
    parser = argument_parser(__doc__)
    parser.add_argument("--tsv", help="source and target, tab-separated; none = made from the sample")
    parser.add_argument("--rows", type=int, default=500_000, help="rows of the file that is made from the sample")
    datasets.disable_progress_bars()
    return run_benchmark(parser, run)


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
    options = BitextSource(
        tsv=str(path),
        source_lang="fr",
        target_lang="en",
        drop_identical=True,
        max_length=MOST_WORDS,
        max_length_ratio=MOST_RATIO,
        drop_duplicates="pair",
    )
    with SourceRows(options, work=folder) as rows:
        write_split(folder, "train", rows.tables("train"), BITEXT, repeating=REPEATING)
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


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Measures everything and returns the ratio."""
    path = Path(arguments.tsv) if arguments.tsv else sample_file(folder / "sample.tsv", arguments.rows)
    with path.open("rb") as stream:
        lines = sum(1 for _ in stream)
    cores = available_cores()
    write(f"{lines:,} rows, {path.stat().st_size / 1e6:,.0f} MB, {cores} cores")
    peers = {"1 process": None, **({f"{cores} processes": cores} if cores > 1 else {})}
    preparing: dict[str, Callable[[Path, Path], list[Path]]] = {"hf_paraphrase": prepare_ours}
    for name, count in peers.items():
        preparing[f"datasets csv + map, {name}"] = partial(prepare_datasets, processes=count)
    kept: dict[str, list[str]] = {}

    def turn(name: str) -> float:
        """Prepares the file once, notes which rows are kept, and returns rows per second."""
        with tempfile.TemporaryDirectory(dir=folder) as work:
            files: list[Path] = []
            rows_a_second = rate(lines, lambda: files.extend(preparing[name](path, Path(work))))
            kept[name] = [value for file in files for value in pq.read_table(file, columns=["id"])["id"].to_pylist()]
        return rows_a_second

    contestants = [Contestant("prepare_vs_datasets", name, partial(turn, name)) for name in preparing]
    ratios = compare("rows/s", contestants, arguments.rounds)
    ours, *theirs = kept.values()
    if any(ids != ours for ids in theirs):
        numbers = ", ".join(f"{len(ids):,}" for ids in kept.values())
        raise HfParaphraseError(f"the rows that are kept differ: {numbers}")
    write(f"all keep the same {len(ours):,} rows")
    return ratios


if __name__ == "__main__":
    sys.exit(main())
