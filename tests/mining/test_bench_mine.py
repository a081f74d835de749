from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "bench_mine.py"


def run(*words):
    return subprocess.run([sys.executable, SCRIPT, *map(str, words)], capture_output=True, text=True, check=False)


def test_all_contestants_find_the_same_and_the_last_line_has_the_ratios():
    words = "--sources 60 --targets 300 --dimension 16 --n 5 --slice 40 --rounds 1 --threads 1 --full".split()
    done = run(*words)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    shares = [float(line.rpartition(" at ")[2].partition(" %")[0]) for line in lines if "the same candidates" in line]
    assert len(shares) >= 2 and min(shares) > 99
    assert any(line.startswith("the whole filter, 1 threads:") for line in lines)
    assert json.loads(lines[-1])["mine_candidates_vs_numpy"] > 0


def test_bad_numbers_are_one_line():
    for words in (["--n", 0], ["--sources", 5, "--slice", 9]):
        done = run(*words)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and words[-2] in done.stderr
