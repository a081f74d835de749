from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from hf_paraphrase.data.folder import write_split

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "benchmarks" / "score.py"


def run(*words):
    return subprocess.run([sys.executable, SCRIPT, *map(str, words)], capture_output=True, text=True, check=False)


@pytest.fixture
def pairs(tmp_path):
    table = pa.table({"sentence1": ["A cat sat .", "dogs bark", ""], "sentence2": ["the cat sat .", "dogs", "x y z"]})
    write_split(tmp_path, "train", [table], table.schema)
    return tmp_path


def test_the_loop_agrees_with_the_measures_and_the_last_line_has_the_ratio(pairs):
    done = run("--pairs", pairs, "--rows", 50, "--loop-rows", 9, "--rounds", 1, "--workers", 0)
    assert done.returncode == 0, done.stderr
    assert "agree to 1e-9" in done.stdout
    assert json.loads(done.stdout.splitlines()[-1])["score_vs_plain_loop"] > 0


def test_bad_numbers_are_one_line():
    done = run("--rows", 0)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "--rows" in done.stderr
