"""A batch function applied to the splits of a data folder, shard by shard, by several processes.

A shard is a run of rows of a split. Its bytes depend on nothing but those rows and the job, and it is written whole or
not at all: so any number of processes and runs gives the same result, and a job that was killed continues where it
was. For each shard there are its rows, and a report that marks it as finished.
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

from ..artefacts.whole_files import write_text_whole, written_whole
from ..data.batch_function import BatchFunction, Progress, Report, add_report, no_progress
from ..data.folder import DataFolder
from ..errors import UsageError

REPORTS = "shards"
"""The folder of the reports, in unfinished work."""
MOST_SHARDS = 99_999
"""How many shards of a split can be told apart by the five digits in their names."""
_SHARDS = 16
_FEWEST_ROWS, _MOST_ROWS = 10_000, 250_000


@dataclass(frozen=True)
class Shard:
    """A run of rows of a split.

    Attributes:
        split: The split that it is a part of.
        index: Its number in the split.
        count: How many shards the split has.
        start: The first row that it is made of.
        stop: The row after the last one.
        source: The split that these rows are in.
    """

    split: str
    index: int
    count: int
    start: int
    stop: int
    source: str

    @property
    def rows(self) -> int:
        """How many rows it is made of."""
        return self.stop - self.start

    def path(self, folder: Path) -> Path:
        """Returns where it is written; `load_dataset` knows this name."""
        return folder / "data" / f"{self.split}-{self.index:05d}-of-{self.count:05d}.parquet"

    def report(self, folder: Path) -> Path:
        """Returns where its report is written, last; it is no part of the output."""
        return folder.parent / REPORTS / f"{self.split}-{self.index:05d}.json"

    def is_finished(self, folder: Path) -> bool:
        """Tells whether it needs no more work: its report is there, and its rows are as many as that says."""
        try:
            report = json.loads(self.report(folder).read_text(encoding="utf-8"))
            return bool(pq.read_metadata(self.path(folder)).num_rows == report["rows"])
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowInvalid):
            return False


@dataclass(frozen=True)
class ShardJob:
    """What determines the result, and what travels to the processes.

    Attributes:
        folder: The data folder that is read.
        functions: For each split that is made what makes it.
        batch_size: Rows of a batch at most.
    """

    folder: DataFolder
    functions: Mapping[str, BatchFunction]
    batch_size: int

    def schema(self, split: str, source: str | None = None) -> pa.Schema:
        """Returns the schema of what is made; opens what the function needs, so that what is missing shows here."""
        return self.functions[split](self.folder.schema(source or split).empty_table()).schema


def cut(split: str, rows: int, size: int | None = None, *, source: str | None = None) -> list[Shard]:
    """Cuts a split into shards; the number of processes and runs has no part in it.

    Args:
        split: The split that is made.
        rows: How many rows it is made of.
        size: Rows of a shard; None for a sixteenth of them, at least 10,000 and at most 250,000.
        source: The split that the rows are in; the one of the same name by default.

    Raises:
        UsageError: If there would be more shards than file names.
    """
    size = size or min(max(math.ceil(rows / _SHARDS), _FEWEST_ROWS), _MOST_ROWS)
    count = max(1, math.ceil(rows / size))
    if count > MOST_SHARDS:
        raise UsageError(
            f"--shard-size {size} makes {count:,} shards of {rows:,} rows, more than {MOST_SHARDS:,}",
            remedy=f"--shard-size {math.ceil(rows / MOST_SHARDS)} or more",
        )
    places = range(count)
    return [Shard(split, i, count, i * size, min(rows, (i + 1) * size), source or split) for i in places]


def run_shards(
    job: ShardJob, shards: Sequence[Shard], output: Path, *, workers: int = 1, progress: Progress = no_progress
) -> Iterator[Shard]:
    """Makes shards.

    Args:
        job: What to do.
        shards: The shards.
        output: The folder to write to.
        workers: Processes at a time; 1 computes in this one.
        progress: Is told of rows as they are done, by other processes of whole shards.

    Yields:
        Each shard when it is there.

    Raises:
        HfParaphraseError: The first error of any shard; those that are finished stay.
    """
    if workers <= 1 or len(shards) <= 1:
        for shard in shards:
            write_shard(job, shard, output, progress)
            yield shard
        return
    # A forked process would inherit the threads' locks of the libraries, but not the threads.
    pool = ProcessPoolExecutor(
        min(workers, len(shards)), mp_context=get_context("spawn"), initializer=_begin_process, initargs=(job,)
    )
    with pool:
        futures = {pool.submit(_write_shard_of_this_process, shard, output): shard for shard in shards}
        try:
            for future in as_completed(futures):
                future.result()
                progress(futures[future].rows)
                yield futures[future]
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                # It does not reach them where it was meant for this process alone; a shard may take minutes.
                for process in active_children():
                    process.terminate()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def write_shard(job: ShardJob, shard: Shard, output: Path, progress: Progress = no_progress) -> None:
    """Makes a shard and writes it: first its rows, then its report, each by way of a temporary file.

    Raises:
        OutputError: If a file cannot be written; the shard is not finished then.
    """
    made = job.functions[shard.split]
    total: Report = {}
    rows = 0
    schema = job.schema(shard.split, shard.source)
    # Numbers of vectors do not repeat, and a reader cannot tell how long lists of repeated ones become.
    repeating = [field.name for field in schema if not pa.types.is_nested(field.type)]
    with (
        written_whole(shard.path(output)) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd", use_dictionary=repeating) as writer,
    ):
        for table in job.folder.row_range(shard.source, shard.start, shard.stop, batch_size=job.batch_size):
            batch, report = made.reported(table, progress)
            add_report(total, report)
            rows += batch.num_rows
            if batch.num_rows:  # `datasets` cannot read a row group without rows
                writer.write_table(batch.cast(writer.schema))
    report = {"rows": rows, "report": total}
    write_text_whole(shard.report(output), json.dumps(report, ensure_ascii=False))


def reports(shards: Iterable[Shard], output: Path) -> Iterator[Report]:
    """Reads what there is to say of finished shards, one at a time."""
    for shard in shards:
        yield json.loads(shard.report(output).read_text(encoding="utf-8"))["report"]


def limit_threads(threads: int) -> None:
    """Limits the threads of a process that has just begun, one of many: else they would only wait for each other."""
    # Read by PyTorch and `tokenizers` when they are first imported, which no such process has done yet.
    os.environ.update(OMP_NUM_THREADS=str(threads), TOKENIZERS_PARALLELISM="false")
    pa.set_cpu_count(threads)


_OF_THIS_PROCESS: list[ShardJob] = []
"""The job of a process that was started for one: it is handed over once, so that its models are opened once."""


def _write_shard_of_this_process(shard: Shard, output: Path) -> None:
    write_shard(_OF_THIS_PROCESS[0], shard, output)


def _begin_process(job: ShardJob) -> None:
    _OF_THIS_PROCESS.append(job)
    limit_threads(1)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A killed parent says nothing to its processes, which would otherwise wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
