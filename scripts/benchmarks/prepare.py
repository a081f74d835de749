"""Time `prepare bitext` against the csv loader of `datasets` with a cleaning function in Python, in one run.

All read the same tab-separated file, leave out rows with an empty side, identical sides, too long sides, sides of too
different length, and repeats, and write Parquet. The peer is the usual code: `load_dataset("csv")` without quoting, a
`map` over batches that keeps good rows, a `filter` for repeats, `to_parquet`; once in one process, and once in one
process per core. All must keep the same rows. Start-up and imports do not count. The ratio compares with the faster
peer.
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

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.sample import sample_bitext
from hf_paraphrase.data.schema import BITEXT
from hf_paraphrase.data.sources.bitext import BitextSource
from hf_paraphrase.data.sources.rows import SourceRows
from hf_paraphrase.errors import HfParaphraseError
from hf_paraphrase.threads import available_cores
from interleaved import ROUNDS, compare, rate, run_benchmark, write

MOST_WORDS, MOST_RATIO = 40, 2.5
FAULTS: list[Callable[[str, str], tuple[str, str]]] = [
    lambda source, target: (source, ""),
    lambda source, target: (source, source.upper()),
    lambda source, target: (f"{source} " * 6, target),
    lambda source, target: (source, target.split()[0]),
]
"""What the rules look for, repeats aside."""
FLAGS = {
    "rounds": (5, ROUNDS),
    "rows": (500_000, "rows of the file, which is made from the sample"),
}


def sample_file(path: Path, rows: int) -> Path:
    """Write sample pairs, joined by chance to sentences of one to three, some with a fault."""
    pairs, draw, lines = sample_bitext()["train"], random.Random(0), list[str]()
    while len(lines) < rows:
        chosen = draw.choices(pairs, k=draw.randint(1, 3))
        source, target = (" ".join(getattr(pair, side) for pair in chosen) for side in ("french", "english"))
        if draw.random() < 0.05:
            source, target = draw.choice(FAULTS)(source, target)
        repeated = lines and draw.random() < 0.05
        lines.append(draw.choice(lines[-1000:]) if repeated else f"{source}\t{target}\n")
    path.write_bytes("".join(lines).encode())
    return path


def prepare_ours(path: Path, folder: Path) -> list[Path]:
    """Prepare with this package."""
    rules: dict[str, Any] = {"drop_identical": True, "max_length": MOST_WORDS, "max_length_ratio": MOST_RATIO}
    options = BitextSource(tsv=str(path), source_lang="fr", target_lang="en", drop_duplicates="pair", **rules)
    with SourceRows(options, work=folder) as rows:
        write_split(folder, "train", rows.tables("train"), BITEXT)
    return sorted((folder / "data").glob("*.parquet"))


def keep_good(batch: dict[str, list[str]], indices: list[int]) -> dict[str, list[Any]]:
    """Keep the good rows of a batch and give them ids and languages: plain Python, as one writes it."""
    kept = []
    for index, source, target in zip(indices, batch["source"], batch["target"], strict=True):
        shorter, longer = sorted((len(source.split()), len(target.split())))
        identical = source.strip().lower() == target.strip().lower()
        if shorter and longer <= MOST_WORDS and longer <= MOST_RATIO * shorter and not identical:
            kept.append((f"fr-en-{index + 1:07d}", source, target, "fr", "en"))
    return {name: [row[place] for row in kept] for place, name in enumerate(BITEXT.names)}


def keep_first(batch: dict[str, list[str]], seen: set[int]) -> list[bool]:
    """Mark the rows whose pair did not occur before."""
    marks = []
    for key in map(hash, zip(batch["source"], batch["target"], strict=True)):
        marks.append(key not in seen)
        seen.add(key)
    return marks


def prepare_datasets(path: Path, folder: Path, processes: int) -> list[Path]:
    """Prepare with `datasets` and a cleaning function in Python."""
    layout: dict[str, Any] = {"delimiter": "\t", "column_names": ["source", "target"], "quoting": 3}
    layout["keep_default_na"] = False
    cache, features = str(folder / "cache"), datasets.Features.from_arrow_schema(BITEXT)
    rows = datasets.load_dataset("csv", data_files=str(path), split="train", cache_dir=cache, **layout)
    workers = processes if processes > 1 else None
    rows = rows.map(keep_good, batched=True, with_indices=True, num_proc=workers, features=features)
    rows = rows.filter(keep_first, batched=True, fn_kwargs={"seen": set()}, new_fingerprint=f"kept{time.time_ns():x}")
    rows.to_parquet(str(folder / "train.parquet"))
    return [folder / "train.parquet"]


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Measure everything and return the ratio."""
    datasets.disable_progress_bars()
    path = sample_file(folder / "sample.tsv", arguments.rows)
    write(f"{path.stat().st_size / 1e6:,.0f} MB")
    preparing: dict[str, Callable[[Path, Path], list[Path]]] = {"hf_paraphrase": prepare_ours}
    for count in dict.fromkeys((1, available_cores())):
        preparing[f"datasets csv + map, processes: {count}"] = partial(prepare_datasets, processes=count)
    kept: dict[str, list[str]] = {}

    def turn(name: str) -> float:
        """Prepare the file once, note which rows are kept, and return rows per second."""
        with tempfile.TemporaryDirectory(dir=folder) as work:
            files: list[Path] = []
            rows_a_second = rate(arguments.rows, lambda: files.extend(preparing[name](path, Path(work))))
            kept[name] = pq.read_table(files, columns=["id"])["id"].to_pylist()
        return rows_a_second

    ours, *peers = preparing
    turns = {name: partial(turn, name) for name in preparing}
    ratios = compare("rows/s", turns, arguments.rounds, dict.fromkeys(peers, "prepare_vs_datasets"))
    if any(kept[peer] != kept[ours] for peer in peers):
        numbers = ", ".join(f"{len(ids):,}" for ids in kept.values())
        raise HfParaphraseError(f"the rows that are kept differ: {numbers}")
    write(f"all keep the same {len(kept[ours]):,} rows")
    return ratios


if __name__ == "__main__":
    sys.exit(run_benchmark(run, __doc__, FLAGS))
