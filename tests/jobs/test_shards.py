from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from peak_memory import ROWS_AT_A_TIME, bytes_a_row, peak_bytes
from small_runs import tree, write_pairs

from hf_paraphrase.data.batch_function import BatchFunction, no_progress
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.errors import InputError
from hf_paraphrase.filtering.measuring import PairScorer
from hf_paraphrase.jobs.shards import ShardJob, cut, run_shards

NAMES = ["length", "overlap", "bleu", "edit_distance", "repetition"]


@pytest.fixture
def pairs(tmp_path):
    return write_pairs(tmp_path / "pairs", 200, rows_per_shard=90)


def job_of(pairs, batch_size=16):
    scorer = PairScorer(tuple(NAMES))
    return ShardJob(DataFolder(pairs), {"train": scorer, "test": scorer}, batch_size)


def plan(pairs, size=None):
    folder = DataFolder(pairs)
    return [shard for split in folder.splits for shard in cut(split, folder.count(split), size)]


def test_two_processes_write_the_same_bytes_as_one(pairs, tmp_path):
    shards = plan(pairs, 70)
    for workers in (1, 2):
        rows = []
        made = list(run_shards(job_of(pairs), shards, tmp_path / str(workers), workers=workers, progress=rows.append))
        assert set(made) == set(shards) and sum(rows) == 200
    assert tree(tmp_path / "1") == tree(tmp_path / "2") and len(list((tmp_path / "1").rglob("*.parquet"))) == 4


@dataclass(frozen=True)
class Sleeper(BatchFunction):
    """Lasts long for all rows but the first hundred, and leaves a file at the end."""

    woken: Path

    def process(self, table, progress=no_progress):
        if table.num_rows and table.column("note")[-1].as_py() >= 100:
            time.sleep(30)
            self.woken.touch()
        return table, {}


def test_an_interruption_does_not_wait_for_the_shards_of_other_processes(pairs, tmp_path):
    def interrupted(rows):
        raise KeyboardInterrupt

    job = ShardJob(DataFolder(pairs), dict.fromkeys(["train", "test"], Sleeper(tmp_path / "woken")), 100)
    with pytest.raises(KeyboardInterrupt):
        list(run_shards(job, plan(pairs, 100)[:2], tmp_path / "out", workers=2, progress=interrupted))
    assert not (tmp_path / "woken").exists()


def test_an_error_in_a_shard_leaves_no_half_shard(pairs, tmp_path):
    shard = sorted((pairs / "data").glob("train-*"))[1]
    content = bytearray(shard.read_bytes())
    content[40:200] = bytes(160)
    shard.write_bytes(bytes(content))
    with pytest.raises(InputError) as caught:
        list(run_shards(job_of(pairs), plan(pairs, 60), tmp_path / "out"))
    assert caught.value.path == str(shard)
    assert all(path.suffix == ".parquet" for path in (tmp_path / "out" / "data").iterdir())


def test_the_memory_of_scoring_does_not_grow_with_the_pairs_of_a_shard(tmp_path):
    def scored(folder):
        job = ShardJob(DataFolder(folder), {"train": PairScorer(("length", "overlap"))}, ROWS_AT_A_TIME)
        assert len(list(run_shards(job, plan(folder, 1_000_000), tmp_path / f"scored_{folder.name}"))) == 1

    # Each pair is 2,000 bytes of text, with a few new columns of eight bytes.
    assert bytes_a_row(lambda folder: peak_bytes(lambda: scored(folder)), tmp_path) < 200
