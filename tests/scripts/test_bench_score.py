from __future__ import annotations

import json

import pyarrow as pa
import pytest

from hf_paraphrase.data.folder import write_split


@pytest.fixture
def pairs(tmp_path):
    table = pa.table({"sentence1": ["A cat sat .", "dogs bark", ""], "sentence2": ["the cat sat .", "dogs", "x y z"]})
    write_split(tmp_path, "train", [table], table.schema)
    return tmp_path


def test_the_loop_agrees_with_the_measures_and_the_last_line_has_the_ratio(run_script, pairs, capsys):
    sizes = ("--rows", 50, "--loop-rows", 9, "--rounds", 1, "--workers", 0)
    assert run_script("benchmarks/score", "--pairs", pairs, *sizes) == 0
    printed = capsys.readouterr().out
    assert "agree to 1e-9" in printed
    assert json.loads(printed.splitlines()[-1])["score_vs_plain_loop"] > 0


def test_bad_numbers_are_one_line(run_script, capsys):
    assert run_script("benchmarks/score", "--rows", 0) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "--rows" in error
