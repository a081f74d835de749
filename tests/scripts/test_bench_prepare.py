from __future__ import annotations

import json
from functools import partial

import datasets
import pytest

from hf_paraphrase.errors import HfParaphraseError


@pytest.fixture
def bench(run_script, monkeypatch, tmp_path):
    # One peer is enough: a process for each core takes seconds to start.
    monkeypatch.setattr("hf_paraphrase.data.batch_function.available_cores", lambda: 1)
    yield partial(run_script, "benchmarks/prepare")
    datasets.enable_progress_bars()


def test_both_keep_the_same_rows_and_the_last_line_has_the_ratio(bench, capsys):
    assert bench("--rows", 300, "--rounds", 1) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("300 rows, ") and lines[1].startswith("all keep the same ")
    assert int(lines[1].split()[4]) < 300
    assert json.loads(lines[-1])["prepare_vs_datasets"] > 0


def test_a_peer_that_keeps_other_rows_ends_the_benchmark(load_script):
    module = load_script("benchmarks/prepare")
    module.check_same({"ours": ["a", "b"], "peer": ["a", "b"]})
    with pytest.raises(HfParaphraseError, match="peer keeps 1 rows that are not our 2"):
        module.check_same({"ours": ["a", "b"], "peer": ["a"]})


def test_bad_numbers_are_one_line(bench, capsys):
    assert bench("--rows", 0) == 2
    assert capsys.readouterr().err == "benchmarks/prepare: error: --rows must be at least 1, not 0\n"
