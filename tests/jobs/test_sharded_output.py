"""`--shard`: parts of one job, in any order and at the same time, make what one run makes."""

from __future__ import annotations

import json
import shutil
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.errors import OutputError, UsageError
from hf_paraphrase.jobs import shards as shards_module
from hf_paraphrase.jobs.shard_settings import ShardSettings
from hf_paraphrase.jobs.sharded_output import ShardedOutput
from hf_paraphrase.jobs.shards import cut


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    generator = np.random.default_rng(0)
    words = [f"w{i}" for i in range(12)]
    sentences = [" ".join(generator.choice(words, size=generator.integers(0, 9))) for _ in range(160)]
    table = pa.table({"sentence1": sentences[:80], "sentence2": sentences[80:], "note": list(range(80))})
    folder = tmp_path_factory.mktemp("data") / "pairs"
    write_split(folder, "train", table.to_batches(max_chunksize=17), table.schema, rows_per_shard=50)
    write_split(folder, "test", [table.slice(3, 11)], table.schema)
    return folder


def score(pairs, output, *words):
    return main(["score", "--pairs", str(pairs), "--output", str(output), "--shard-size", "9", *words])


def tree(folder):
    """The files of a folder, which name the place where it lies as if it lay nowhere."""
    place = str(folder.parent).encode()
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes().replace(place, b"") for path in files}


@pytest.fixture(scope="module")
def whole(pairs, tmp_path_factory):
    output = tmp_path_factory.mktemp("whole") / "scored"
    assert score(pairs, output) == 0
    return output


def test_parts_in_any_order_one_twice_and_one_killed_leave_every_byte_of_one_run(
    pairs, whole, tmp_path, monkeypatch, capsys
):
    output = tmp_path / "scored"
    write = shards_module.write_shard

    def killed(job, shard, *arguments):
        if shard.index == 5:
            raise KeyboardInterrupt
        write(job, shard, *arguments)

    assert score(pairs, output, "--shard", "4/4") == 0
    assert "--shard 4/4 is done; 9 of all 11 shards are left to other parts" in capsys.readouterr().err
    with monkeypatch.context() as context:
        context.setattr(shards_module, "write_shard", killed)
        assert score(pairs, output, "--shard", "2/4") == 130
    for part in ("1/4", "4/4", "2/4"):
        assert score(pairs, output, "--shard", part) == 0
        assert not output.exists()
    assert score(pairs, output, "--shard", "3/4") == 0
    assert tree(output) == tree(whole) and [path.name for path in tmp_path.iterdir()] == ["scored"]
    assert score(pairs, output, "--shard", "3/4") == 0
    assert "nothing is left to do, the output is finished" in capsys.readouterr().err


def test_a_run_of_all_that_is_left_goes_on_where_parts_were(pairs, whole, tmp_path, capsys):
    output = tmp_path / "scored"
    assert score(pairs, output, "--shard", "1/3") == 0
    assert score(pairs, output, "--shard", "2/5") == 0
    assert score(pairs, output) == 2 and "--resume continues it" in capsys.readouterr().err
    assert score(pairs, output, "--resume") == 0
    record = json.loads((output / "provenance.json").read_text())
    assert len(record.pop("interruptions")) == 1
    record["settings"]["output"] = str(whole)
    assert record == json.loads((whole / "provenance.json").read_text())
    names = {name for name in tree(whole) if name != "provenance.json"}
    assert {name: tree(output)[name] for name in names} == {name: tree(whole)[name] for name in names}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--shard", "5/4"], "--shard 5/4 is no part of the work (1/4 to 4/4)"),
        (["--shard", "0/4"], "--shard 0/4 is no part of the work (1/4 to 4/4)"),
        (["--shard", "3"], "--shard 3 is no part of the work (e.g. 3/64 for the third of 64)"),
        (["--shard", "1/0"], "--shard 1/0 is no part of the work"),
        (
            ["--shard", "2/12"],
            "--shard 2/12: the 91 rows make 11 shards, fewer than parts (give all parts --shard-size 7 or less)",
        ),
        (["--shard", "2/92"], "--shard 2/92: the 91 rows make 11 shards, fewer than parts (make at most 91 parts)"),
        (["--shard", "2/4", "--overwrite"], "--overwrite"),
    ],
)
def test_what_is_no_part_is_one_line_and_nothing_is_written(pairs, tmp_path, capsys, words, problem):
    assert score(pairs, tmp_path / "scored", *words) == 2
    error = capsys.readouterr().err
    assert problem in error and error.count("\n") == 1 and not list(tmp_path.iterdir())


def test_parts_with_other_settings_are_refused_and_the_work_is_kept(pairs, whole, tmp_path, capsys):
    output = tmp_path / "scored"
    assert score(pairs, output, "--shard", "1/2") == 0
    before = tree(tmp_path)
    assert score(pairs, output, "--shard", "2/2", "--measures", "length") == 2
    assert "the unfinished run had other settings: measures" in capsys.readouterr().err and tree(tmp_path) == before
    assert score(pairs, output, "--shard", "2/2") == 0 and tree(output) == tree(whole)
    assert score(pairs, output, "--shard", "2/2", "--measures", "length") == 2
    assert "the output is finished, and was made with other settings or inputs" in capsys.readouterr().err


def part(folder, which, **flags):
    return ShardedOutput(str(folder / "made"), ShardSettings(shard=which), **flags)


def test_parts_share_the_work_which_keeps_others_out_and_the_last_waits_for_all(tmp_path):
    shards = cut("train", 4, 2)
    first, second = part(tmp_path, "1/2"), part(tmp_path, "2/2")
    moved = threading.Event()

    def finish():
        with second.working({"job": 1}) as staging:
            for shard in shards:
                pa.parquet.write_table(pa.table({"row": [1]}), _made(shard.path(staging)))
                _made(shard.report(staging)).write_text('{"rows": 1, "report": {}}')
            assert second.is_whole(shards)
            second.finish()
            moved.set()

    with first.working({"job": 1}):
        other = threading.Thread(target=finish)
        other.start()
        with pytest.raises(OutputError, match="another run is at work"), part(tmp_path, None, resume=True).working({}):
            pass
        with pytest.raises(OutputError, match="other settings"), part(tmp_path, "2/2").working({"job": 2}):
            pass
        assert not moved.wait(0.3)
    other.join(60)
    assert moved.is_set() and (tmp_path / "made" / "data").is_dir()
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def _made(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def test_of_two_that_find_all_there_one_ends_the_work_without_locks_too(tmp_path, monkeypatch):
    monkeypatch.setattr("hf_paraphrase.artefacts.claims.fcntl", None)
    first, second = part(tmp_path, "1/2"), part(tmp_path, "2/2")
    with first.working({"job": 1}), second.working({"job": 1}):
        assert first.is_whole([]) and not second.is_whole([])
        first.finish()
        assert not second.is_whole([])
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


@pytest.mark.parametrize("its_mark_is_gone", [False, True])
def test_a_part_that_comes_while_another_ends_the_work_waits_and_finds_it_finished(tmp_path, its_mark_is_gone):
    last, late = part(tmp_path, "1/2"), part(tmp_path, "2/2")
    found = []

    def come_late():
        with late:
            late.claim()
            found.append((tmp_path / "made").is_dir())

    with last.working({"job": 1}) as staging:
        assert last.is_whole([])
        if its_mark_is_gone:
            (staging / "ending").unlink()
        other = threading.Thread(target=come_late)
        other.start()
        other.join(0.3)
        assert other.is_alive()
        last.finish()
    other.join(60)
    assert found == [True]
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_the_output_stays_where_it_is_from_the_first_look_of_a_part_on(tmp_path):
    last, other = part(tmp_path, "1/2"), part(tmp_path, "2/2")
    ended = threading.Event()

    def end():
        with last.working({"job": 1}):
            assert last.is_whole([])
            last.finish()
            ended.set()

    with other:
        other.claim()
        thread = threading.Thread(target=end)
        thread.start()
        assert not ended.wait(0.2) and not (tmp_path / "made").exists()
    thread.join(60)
    assert ended.is_set()
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_the_end_of_a_part_that_was_killed_in_it_is_taken_over(tmp_path):
    killed, after = part(tmp_path, "1/2"), part(tmp_path, "2/2")
    with killed.working({"job": 1}):
        assert killed.is_whole([])
    with after, after.working({"job": 1}):
        assert after.is_whole([])
        after.finish()
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_a_part_does_not_wait_for_a_run_of_all_the_work(tmp_path):
    killed, whole = part(tmp_path, "1/2"), part(tmp_path, None, resume=True)
    with killed.working({"job": 1}):
        assert killed.is_whole([])
    with whole.working({"job": 1}), pytest.raises(OutputError, match="another run is at work"):
        part(tmp_path, "2/2").claim()


def test_after_an_error_work_of_which_nothing_was_done_goes_and_what_was_done_stays(tmp_path):
    (shard,) = cut("train", 2)
    for done in (False, True):
        with pytest.raises(UsageError), part(tmp_path, None).working({"job": 1}) as staging:
            if done:
                pa.parquet.write_table(pa.table({"row": [1]}), _made(shard.path(staging)))
            raise UsageError("no room")
        assert staging.exists() == done
    with pytest.raises(UsageError), part(tmp_path / "shared", "1/2").working({"job": 1}) as staging:
        raise UsageError("no room")
    assert staging.exists()


def test_a_part_of_more_parts_than_shards_is_refused(tmp_path):
    with pytest.raises(UsageError, match="the 1 rows make 1 shard, fewer than parts"):
        part(tmp_path, "1/2").own(cut("train", 1))
    assert [shard.index for shard in part(tmp_path, "2/3").own(cut("train", 8, 1))] == [
        1,
        4,
        7,
    ]


def test_an_input_that_has_changed_since_another_part_was_made_is_refused(pairs, tmp_path, capsys):
    copy = shutil.copytree(pairs, tmp_path / "pairs")
    assert score(copy, tmp_path / "out", "--shard", "1/2") == 0
    # As many rows of the same texts' lengths: no footer shows it.
    swapped = pq.read_table(copy / "data/test-00000-of-00001.parquet").take(list(range(11))[::-1])
    pq.write_table(swapped, copy / "data/test-00000-of-00001.parquet")
    capsys.readouterr()
    assert score(copy, tmp_path / "out", "--shard", "2/2") == 2
    assert "the unfinished run had other settings: pairs" in capsys.readouterr().err.splitlines()[-1]
