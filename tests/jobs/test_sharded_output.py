"""`--shard`: parts of one job, in any order and at the same time, make what one run makes."""

from __future__ import annotations

import json
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_runs import tree, write_pairs

from hf_paraphrase.artefacts.artefact import Card
from hf_paraphrase.commands import main
from hf_paraphrase.jobs.shard_settings import ShardSettings
from hf_paraphrase.jobs.sharded_output import ShardedOutput
from hf_paraphrase.jobs.shards import cut


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("data") / "pairs", 80, slice(3, 14), rows_per_shard=50)


def score(pairs, output, *words):
    return main(["score", "--pairs", str(pairs), "--output", str(output), "--shard-size", "9", *words])


@pytest.fixture(scope="module")
def whole(pairs, tmp_path_factory):
    output = tmp_path_factory.mktemp("whole") / "scored"
    assert score(pairs, output) == 0
    return output


def test_a_run_of_all_that_is_left_goes_on_where_parts_were(pairs, whole, tmp_path, capsys):
    output = tmp_path / "scored"
    assert score(pairs, output, "--shard", "1/3") == 0
    assert score(pairs, output, "--shard", "2/5") == 0
    assert score(pairs, output) == 2 and "--resume continues it" in capsys.readouterr().err
    assert score(pairs, output, "--resume") == 0
    record = json.loads((output / "provenance.json").read_text())
    record["settings"]["output"] = str(whole)
    assert record == json.loads((whole / "provenance.json").read_text())
    names = {name for name in tree(whole) if name != "provenance.json"}
    assert {name: tree(output)[name] for name in names} == {name: tree(whole)[name] for name in names}


def test_parts_with_other_settings_are_refused_and_the_work_is_kept(pairs, whole, tmp_path, capsys):
    output = tmp_path / "scored"
    assert score(pairs, output, "--shard", "1/2") == 0
    before = tree(tmp_path)
    assert score(pairs, output, "--shard", "2/2", "--measures", "length") == 2
    assert "the incomplete run had other settings: measures" in capsys.readouterr().err and tree(tmp_path) == before
    assert score(pairs, output, "--shard", "2/2") == 0 and tree(output) == tree(whole)
    assert score(pairs, output, "--shard", "2/2", "--measures", "length") == 2
    assert "the output is finished and was made with other settings or inputs" in capsys.readouterr().err


def part(folder, which, **flags):
    return ShardedOutput(
        str(folder / "made"), ShardSettings(shard=which), command="toy", inputs=[], job={"job": 1}, **flags
    )


def write(shard, staging):
    for path in (shard.path(staging), shard.report(staging)):
        path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"row": [1] * shard.rows}), shard.path(staging))
    shard.report(staging).write_text(json.dumps({"rows": shard.rows, "report": {}}))


def test_of_parts_at_the_same_time_the_one_that_finds_all_shards_finishes_the_output(tmp_path):
    one, two = cut("train", 4, 2)
    card = Card("toy", {})
    with part(tmp_path, "1/2") as first, part(tmp_path, "2/2") as second:
        write(one, first.begin())
        assert second.begin() == first.begin()
        assert not first.is_whole([one, two])
    with part(tmp_path, "1/2") as first, part(tmp_path, "2/2") as second:
        write(two, second.begin())
        first.begin()
        assert second.is_whole([one, two])
        with mock.patch("hf_paraphrase.artefacts.artefact.write_card"):
            second.finish(results={}, card=card)
        second.__exit__(None, None, None)
        # This one was still at work on a shard that it had made before.
        assert not first.is_whole([one, two]) and first.current == tmp_path / "made"
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
    with part(tmp_path, "2/2") as late:
        assert late.finished
