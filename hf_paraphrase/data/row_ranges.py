"""Rows of a split by their numbers, so that several processes can each take their share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pyarrow as pa

from .parquet import batches_of, open_shard, shard_paths


def iterate_rows(
    folder: str | os.PathLike[str], split: str, start: int, stop: int, *, batch_size: int = 10_000
) -> Iterator[pa.Table]:
    """Streams the rows `start` to `stop` of a split, reading only the row groups that hold them.

    Args:
        folder: The data folder.
        split: The split.
        start: The first row.
        stop: The row after the last one.
        batch_size: Rows of a table; the last one has the rest. Where the row groups of the files end does not matter.

    Raises:
        InputError: For a missing split or a shard that is not Parquet.
    """
    pending: list[pa.Table] = []
    waiting = 0
    for table in _pieces(folder, split, start, stop, batch_size):
        pending.append(table)
        waiting += table.num_rows
        while waiting >= batch_size:
            whole = pa.concat_tables(pending)
            yield whole.slice(0, batch_size)
            waiting -= batch_size
            pending = [whole.slice(batch_size)] if waiting else []
    if waiting:
        yield pa.concat_tables(pending)


def _pieces(folder: str | os.PathLike[str], split: str, start: int, stop: int, batch_size: int) -> Iterator[pa.Table]:
    first = 0
    for path in shard_paths(folder, split):
        with open_shard(path) as file:
            groups = []
            skipped = None
            place = first
            for group in range(file.num_row_groups):
                end = place + file.metadata.row_group(group).num_rows
                if place < stop and end > start:
                    groups.append(group)
                    skipped = place if skipped is None else skipped
                place = end
            if skipped is not None:
                for batch in batches_of(file, path, batch_size=batch_size, row_groups=groups):
                    kept = batch.slice(max(0, start - skipped), max(0, stop - max(start, skipped)))
                    skipped += batch.num_rows
                    if kept.num_rows:
                        yield pa.Table.from_batches([kept])
                    if skipped >= stop:
                        break
            first = place
        if first >= stop:
            return
