"""Measures added to every split of a folder of pairs, shard by shard, by several processes.

A shard is a run of rows of a split. Its bytes depend on nothing but those rows and the job, and it is written whole or
not at all: so any number of processes gives the same result, and a job that was killed continues where it was.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..artefacts.whole_files import written_whole
from ..data.folder import DataFolder
from .measuring import PairScorer

_SHARDS = 16
_FEWEST_ROWS, _MOST_ROWS = 10_000, 250_000


@dataclass(frozen=True)
class Shard:
    """A run of rows of a split.

    Attributes:
        split: The split.
        index: Its number in the split.
        count: How many shards the split has.
        start: Its first row.
        stop: The row after its last one.
    """

    split: str
    index: int
    count: int
    start: int
    stop: int

    def path(self, folder: Path) -> Path:
        """Returns where it is written; `load_dataset` knows this name."""
        return folder / "data" / f"{self.split}-{self.index:05d}-of-{self.count:05d}.parquet"


@dataclass(frozen=True)
class ScoringJob:
    """What determines the result, and what travels to the processes.

    Attributes:
        folder: The data folder of the pairs.
        scorers: For each split what scores its rows.
        batch_size: Rows measured at a time, and of a row group.
    """

    folder: DataFolder
    scorers: dict[str, PairScorer]
    batch_size: int

    def schema(self, split: str) -> pa.Schema:
        """Returns the schema of a scored split; loads what its measures need, so that what is missing shows here."""
        return self.scorers[split](self.folder.schema(split).empty_table()).schema


_OF_THIS_PROCESS: list[ScoringJob] = []
"""The job of a process that was started for one: it is handed over once, so that its models are opened once."""


def plan_shards(folder: DataFolder, rows_per_shard: int | None = None) -> list[Shard]:
    """Cuts every split into shards.

    Args:
        folder: The data folder.
        rows_per_shard: Rows of a shard; None for a sixteenth of the split, at least 10,000 and at most 250,000. The
            number of processes has no part in it.
    """
    shards = []
    for split in folder.splits:
        rows = folder.count(split)
        size = rows_per_shard or min(max(math.ceil(rows / _SHARDS), _FEWEST_ROWS), _MOST_ROWS)
        count = max(1, math.ceil(rows / size))
        shards += [Shard(split, index, count, index * size, min(rows, (index + 1) * size)) for index in range(count)]
    return shards


def run_scoring(job: ScoringJob, shards: Sequence[Shard], output: Path, workers: int = 1) -> Iterator[Shard]:
    """Writes the shards that are not there yet.

    Every process computes on a single thread: how many threads share a sum changes its last digits, and several
    processes with several threads each would only wait for each other.

    Args:
        job: What to do.
        shards: The shards.
        output: The folder to write to.
        workers: Processes at a time; 1 computes in this one.

    Yields:
        Each shard when it is there, those of earlier runs first.

    Raises:
        HfParaphraseError: The first error of any shard; those that are finished stay.
    """
    (output / "data").mkdir(parents=True, exist_ok=True)
    left = []
    for shard in shards:
        if shard.path(output).is_file():
            yield shard
        else:
            left.append(shard)
    if workers <= 1 or len(left) <= 1:
        with _one_thread():
            for shard in left:
                yield write_shard(job, shard, output)
        return
    # A forked process would inherit the threads' locks of the libraries, but not the threads.
    pool = ProcessPoolExecutor(
        min(workers, len(left)), mp_context=get_context("spawn"), initializer=_begin_process, initargs=(job,)
    )
    with pool:
        futures = [pool.submit(_write_shard_of_this_process, shard, output) for shard in left]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def write_shard(job: ScoringJob, shard: Shard, output: Path) -> Shard:
    """Scores the rows of a shard and writes it by way of a temporary file.

    Raises:
        OutputError: If it cannot be written.
    """
    path = shard.path(output)
    with (
        written_whole(path) as temporary,
        pq.ParquetWriter(temporary, job.schema(shard.split), compression="zstd") as writer,
    ):
        for table in job.folder.row_range(shard.split, shard.start, shard.stop, batch_size=job.batch_size):
            scored = job.scorers[shard.split](table)
            if scored.num_rows:  # `datasets` cannot read a row group without rows
                writer.write_table(scored.cast(writer.schema))
    return shard


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keeps PyTorch, if a measure has loaded it, to one thread."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        yield
        return
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _write_shard_of_this_process(shard: Shard, output: Path) -> Shard:
    return write_shard(_OF_THIS_PROCESS[0], shard, output)


def _begin_process(job: ScoringJob) -> None:
    _OF_THIS_PROCESS.append(job)
    # Read by PyTorch and `tokenizers` when they are first imported, which no process has done yet.
    os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
    pa.set_cpu_count(1)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A killed parent says nothing to its processes, which would otherwise wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
