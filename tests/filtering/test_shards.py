from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pytest
from peak_memory import ROWS_AT_A_TIME, bytes_a_row, peak_bytes

from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.errors import InputError
from hf_paraphrase.filtering.measuring import Measures, PairScorer, add_measures
from hf_paraphrase.filtering.shards import ScoringJob, plan_shards, run_scoring

NAMES = ["length", "overlap", "bleu", "edit_distance", "repetition"]


@pytest.fixture
def pairs(tmp_path):
    generator = np.random.default_rng(0)
    words = [f"w{i}" for i in range(12)]
    sentences = [" ".join(generator.choice(words, size=generator.integers(0, 9))) for _ in range(400)]
    table = pa.table({"sentence1": sentences[:200], "sentence2": sentences[200:], "note": list(range(200))})
    folder = tmp_path / "pairs"
    write_split(folder, "train", table.to_batches(max_chunksize=17), table.schema, rows_per_shard=90)
    write_split(folder, "test", [table.slice(0, 0)], table.schema)
    return folder


def job_of(pairs, batch_size=16):
    scorer = PairScorer(tuple(NAMES), Measures())
    return ScoringJob(DataFolder(pairs), {"train": scorer, "test": scorer}, batch_size)


def digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.rglob("*.parquet"))}


def test_shards_hold_the_rows_in_order_with_the_measures_of_a_single_pass(pairs, tmp_path):
    output = tmp_path / "out"
    shards = plan_shards(DataFolder(pairs), 30)
    assert [shard.split for shard in shards] == ["train"] * 7 + ["test"]
    assert list(run_scoring(job_of(pairs), shards, output)) == shards
    expected = add_measures(DataFolder(pairs).table(), NAMES)
    assert repr(DataFolder(output).table().to_pydict()) == repr(expected.to_pydict())
    assert DataFolder(output).table("test").schema == DataFolder(output).table().schema


def test_two_processes_write_the_same_bytes_as_one(pairs, tmp_path):
    shards = plan_shards(DataFolder(pairs), 70)
    for workers in (1, 2):
        list(run_scoring(job_of(pairs), shards, tmp_path / str(workers), workers))
    assert digests(tmp_path / "1") == digests(tmp_path / "2") and len(digests(tmp_path / "1")) == 4


def test_a_job_that_was_interrupted_continues_and_leaves_the_same_bytes(pairs, tmp_path):
    shards = plan_shards(DataFolder(pairs), 30)
    list(run_scoring(job_of(pairs), shards, tmp_path / "whole"))
    running = run_scoring(job_of(pairs), shards, tmp_path / "killed")
    for _ in range(3):
        next(running)
    running.close()
    kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "killed" / "data").iterdir()}
    assert len(kept) == 3
    (tmp_path / "killed" / "data" / f".train-00005-of-00007.parquet.{'0' * 16}.partial").write_bytes(b"half")
    assert len(list(run_scoring(job_of(pairs), shards, tmp_path / "killed"))) == len(shards)
    assert digests(tmp_path / "killed") == digests(tmp_path / "whole")
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "killed" / "data").iterdir()}
    assert {name: after[name] for name in kept} == kept and all(name.endswith(".parquet") for name in after)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_shard_reaches_the_caller_whole_and_leaves_no_half_shard(pairs, tmp_path, workers):
    shard = sorted((pairs / "data").glob("train-*"))[1]
    content = bytearray(shard.read_bytes())
    content[40:200] = bytes(160)
    shard.write_bytes(bytes(content))
    with pytest.raises(InputError) as caught:
        list(run_scoring(job_of(pairs), plan_shards(DataFolder(pairs), 60), tmp_path / "out", workers))
    assert caught.value.path == str(shard)
    assert all(path.suffix == ".parquet" for path in (tmp_path / "out" / "data").iterdir())


def test_the_plan_depends_on_the_rows_alone(pairs):
    train, test = plan_shards(DataFolder(pairs))
    assert (train.start, train.stop, train.count) == (0, 200, 1)
    assert (test.start, test.stop, test.count) == (0, 0, 1)
    assert [shard.stop - shard.start for shard in plan_shards(DataFolder(pairs), 90)] == [90, 90, 20, 0]


def test_the_memory_of_scoring_does_not_grow_with_the_pairs_of_a_shard(tmp_path):
    def scored(folder):
        job = ScoringJob(DataFolder(folder), {"train": PairScorer(("length", "overlap"), Measures())}, ROWS_AT_A_TIME)
        shards = plan_shards(DataFolder(folder), 1_000_000)
        assert len(list(run_scoring(job, shards, tmp_path / f"scored_{folder.name}"))) == 1

    # A pair has 2,000 bytes of text, and its few new columns have eight bytes each.
    assert bytes_a_row(lambda folder: peak_bytes(lambda: scored(folder)), tmp_path) < 200
