"""The back-translation job, shard by shard, and its files.

A shard is a run of consecutive sentences. It is written whole or not at all and depends on nothing but its sentences,
the model and the settings, so a job that was killed continues where it was, several processes share the work, and the
result is the same, byte for byte, with any number of processes and threads (on one kind of processor or device, with
one version of PyTorch). For each shard there are its pairs, and a report that marks it as finished.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..artefacts.whole_files import write_parts_whole, written_whole
from ..data.batch_function import Progress, Report, no_progress
from ..data.folder import DataFolder
from ..errors import UsageError
from .back_translator import BackTranslator
from .table_translator import COLUMNS, SearchOptions

MOST_SHARDS = 99_999
"""How many shards of a split can be told apart by the five digits in their names."""


def number_of_shards(rows: int, size: int) -> int:
    """Returns how many shards a number of rows makes, at least one."""
    return max(1, math.ceil(rows / size))


def check_number_of_shards(rows: int, size: int) -> None:
    """Refuses a job with more shards than file names.

    Raises:
        UsageError: If so many rows make more than :data:`MOST_SHARDS` shards of this size.
    """
    if (count := number_of_shards(rows, size)) > MOST_SHARDS:
        raise UsageError(
            f"--shard-size {size} makes {count:,} shards of {rows:,} sentences, more than {MOST_SHARDS:,}",
            remedy=f"--shard-size {math.ceil(rows / MOST_SHARDS)} or more",
        )


@dataclass(frozen=True)
class Share:
    """What falls to one of the processes of a job.

    Attributes:
        sentences: How many sentences its shards have.
        finished: Its shards that need no more work.
        finished_sentences: How many sentences these have.
    """

    sentences: int
    finished: frozenset[int]
    finished_sentences: int


@dataclass(frozen=True)
class ShardFiles:
    """Where a job keeps its shards while it runs, and their names once it is finished."""

    folder: Path
    count: int

    def pairs(self, index: int) -> Path:
        """Returns the path of a shard's pairs; `load_dataset` knows this name."""
        return self.folder / "data" / f"train-{index:05d}-of-{self.count:05d}.parquet"

    def report(self, index: int) -> Path:
        """Returns the path of a shard's report, which is written last and so marks the shard as finished."""
        return self.folder / "shards" / f"{index:05d}.json"

    def is_finished(self, index: int) -> bool:
        """Tells whether a shard needs no more work: its report is there and its pairs are as many as it says."""
        try:
            report = json.loads(self.report(index).read_text(encoding="utf-8"))
            return bool(pq.read_metadata(self.pairs(index)).num_rows == report["pairs"])
        except (OSError, ValueError, KeyError, pa.ArrowInvalid):
            return False

    def share(self, rows: int, size: int, *, rank: int = 0, world_size: int = 1) -> Share:
        """Counts what falls to one process, and what of it is done.

        Args:
            rows: Sentences of the job.
            size: Sentences per shard.
            rank: Number of the process.
            world_size: Number of processes; shard i falls to process i mod `world_size`.
        """
        own = range(rank, self.count, world_size)
        finished = frozenset(index for index in own if self.is_finished(index))
        return Share(_sentences(own, rows, size), finished, _sentences(finished, rows, size))

    def write(self, index: int, pairs: pa.Table, report: Report) -> None:
        """Writes a shard: first its pairs, then its report, each by way of a temporary file.

        Raises:
            OutputError: If a file cannot be written; the shard is not finished then.
        """
        path = self.pairs(index)
        with (
            written_whole(path) as temporary,
            pq.ParquetWriter(temporary, pairs.schema, compression="zstd") as writer,
        ):
            # `datasets` cannot read a row group without rows, which is what `write_table` makes of an empty table.
            if pairs.num_rows:
                writer.write_table(pairs)
        write_parts_whole(self.report(index), [json.dumps(report, ensure_ascii=False)])

    def reports(self) -> Iterator[dict[str, Any]]:
        """Reads the reports of all shards in their order, one at a time."""
        for index in range(self.count):
            yield json.loads(self.report(index).read_text(encoding="utf-8"))


def _sentences(shards: Iterable[int], rows: int, size: int) -> int:
    return sum(min(size, max(0, rows - index * size)) for index in shards)


def shards(bitext: str | DataFolder, split: str, size: int, limit: int | None) -> Iterator[pa.Table]:
    """Streams the first `limit` rows of a split as tables of `size` rows, the last one with the rest."""
    pending: list[pa.RecordBatch] = []
    waiting = taken = 0
    for batch in DataFolder.open(bitext).batches(split, COLUMNS, batch_size=size):
        if limit is not None:
            batch = batch.slice(0, limit - taken)
        taken += batch.num_rows
        pending.append(batch)
        waiting += batch.num_rows
        while waiting >= size:
            table = pa.Table.from_batches(pending)
            yield table.slice(0, size)
            pending, waiting = table.slice(size).to_batches(), waiting - size
        if limit is not None and taken >= limit:
            break
    if waiting:
        yield pa.Table.from_batches(pending)


def run_job(
    translator: BackTranslator,
    bitext: str | DataFolder,
    split: str,
    files: ShardFiles,
    *,
    limit: int | None = None,
    rank: int = 0,
    world_size: int = 1,
    finished: Collection[int] | None = None,
    progress: Progress = no_progress,
) -> None:
    """Translates the shards that are not finished and that fall to this process.

    Args:
        translator: Model and settings.
        bitext: The bitext folder.
        split: Its split.
        files: Where the shards go.
        limit: Translate only the first rows.
        rank: Number of this process.
        world_size: Number of processes; shard i falls to process i mod `world_size`.
        finished: The shards that need no more work; those with complete files if not given.
        progress: Is told of sentences as they are done, those of finished shards left out.
    """
    for index, table in enumerate(shards(bitext, split, translator.options.shard_size, limit)):
        if index % world_size != rank:
            continue
        if files.is_finished(index) if finished is None else index in finished:
            continue
        files.write(index, *translator.reported(table, progress))


def job_description(options: SearchOptions, **inputs: Any) -> dict[str, Any]:
    """Returns what must be the same for a job to be continued."""
    return {**asdict(options), **inputs}
