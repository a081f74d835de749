"""Applies a batch function to the splits of a data folder, shard by shard, in several processes.

A shard is a range of rows of a split. Its bytes depend on these rows and the job alone, so that any number of
processes and runs gives the same result. The file of its rows is written first, and then its report, which marks it
as finished.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pyarrow.parquet as pq

from ..artefacts.files import atomic_write, atomic_write_text
from ..data.batch_function import BatchFunction, Progress, Report, add_report, no_progress
from ..data.folder import DataFolder

REPORTS = "shards"
"""The folder of the reports of an incomplete job."""
_SHARDS, _MAX_SHARDS = 16, 99_999
_MIN_ROWS, _MAX_ROWS = 10_000, 250_000


@dataclass(frozen=True)
class Shard:
    """Shard number `index` of `count` of a split, made from the rows `start` to `stop` of the split `source`."""

    split: str
    index: int
    count: int
    start: int
    stop: int
    source: str

    @property
    def rows(self) -> int:
        """The number of rows of the source."""
        return self.stop - self.start

    def path(self, folder: Path) -> Path:
        """Return the path of its rows, by a name that `load_dataset` reads."""
        return folder / "data" / f"{self.split}-{self.index:05d}-of-{self.count:05d}.parquet"

    def report(self, folder: Path) -> Path:
        """Return the path of its report, which is outside the output."""
        return folder.parent / REPORTS / f"{self.split}-{self.index:05d}.json"

    def is_finished(self, folder: Path) -> bool:
        """Whether its report, which is written last, exists."""
        return self.report(folder).is_file()


@dataclass(frozen=True)
class ShardJob:
    """The job that processes receive: a batch function for each split to make."""

    folder: DataFolder
    functions: Mapping[str, BatchFunction]
    batch_size: int

    def schema(self, split: str, source: str | None = None) -> pa.Schema:
        """Return the schema of the result; this opens the models, so that a missing one is reported early."""
        return self.functions[split](self.folder.schema(source or split).empty_table()).schema


def cut(split: str, rows: int, size: int | None = None, *, source: str | None = None) -> list[Shard]:
    """Divide a split, which is made from the split `source`, into at most 99,999 shards.

    They have `size` rows, by default a sixteenth of the split, but at least 10,000 and at most 250,000.
    """
    size = size or min(max(math.ceil(rows / _SHARDS), _MIN_ROWS), _MAX_ROWS)
    size = max(size, math.ceil(rows / _MAX_SHARDS))
    count = max(1, math.ceil(rows / size))
    return [Shard(split, i, count, i * size, min(rows, (i + 1) * size), source or split) for i in range(count)]


def run_shards(
    job: ShardJob, shards: Sequence[Shard], output: Path, *, workers: int = 1, progress: Progress = no_progress
) -> Iterator[Shard]:
    """Make shards in several processes and yield each when it is complete; complete shards survive an error."""
    if workers <= 1 or len(shards) <= 1:
        for shard in shards:
            write_shard(job, shard, output, progress)
            yield shard
        return
    # A forked process would inherit the libraries' locks, but not the threads that release them.
    spawn = get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(shards)), spawn, initializer=_begin_process, initargs=(job,)) as pool:
        futures = {pool.submit(_write_shard_of_this_process, shard, output): shard for shard in shards}
        try:
            for future in as_completed(futures):
                future.result()
                progress(futures[future].rows)
                yield futures[future]
        except BaseException as error:
            # The signal may have reached this process alone, and a shard may take minutes.
            for process in active_children() if isinstance(error, KeyboardInterrupt) else ():
                process.terminate()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def write_shard(job: ShardJob, shard: Shard, output: Path, progress: Progress = no_progress) -> None:
    """Write the rows of a shard, then its report, each renamed when it is complete."""
    total: Report = {}
    schema = job.schema(shard.split, shard.source)
    # Components of vectors do not repeat, so a dictionary would not save space.
    repeating = [field.name for field in schema if not pa.types.is_nested(field.type)]
    with (
        atomic_write(shard.path(output)) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd", use_dictionary=repeating) as writer,
    ):
        rows = job.folder.rows(shard.source)
        for table in rows.tables(start=shard.start, stop=shard.stop, size=job.batch_size):
            batch, report = job.functions[shard.split].process(table, progress)
            add_report(total, report)
            if batch.num_rows:  # `datasets` cannot read a row group without rows
                writer.write_table(batch.cast(writer.schema))
    atomic_write_text(shard.report(output), json.dumps(total, ensure_ascii=False))


def reports(shards: Iterable[Shard], output: Path) -> Iterator[Report]:
    """Read the reports of finished shards, one at a time."""
    for shard in shards:
        yield json.loads(shard.report(output).read_text(encoding="utf-8"))


def limit_threads(threads: int) -> None:
    """Limit the threads of a new process, in which PyTorch and `tokenizers` are not imported yet."""
    os.environ.update(OMP_NUM_THREADS=str(threads), TOKENIZERS_PARALLELISM="false")
    pa.set_cpu_count(threads)


_JOB_OF_PROCESS: list[ShardJob] = []
"""The job of a worker process, which opens its models once."""


def _write_shard_of_this_process(shard: Shard, output: Path) -> None:
    write_shard(_JOB_OF_PROCESS[0], shard, output)


def _begin_process(job: ShardJob) -> None:
    _JOB_OF_PROCESS.append(job)
    limit_threads(1)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process with its parent, even if the parent is killed."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
