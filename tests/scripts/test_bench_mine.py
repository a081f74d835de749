from __future__ import annotations

import json

import pytest
import torch

SMALL = {"--sources": 60, "--targets": 300, "--dimension": 16, "--n": 5, "--slice": 40, "--rounds": 1, "--threads": 1}


@pytest.fixture
def bench(run_script):
    """Runs the benchmark with the small sizes or others, and puts the number of threads back."""
    threads = torch.get_num_threads()
    yield lambda *more, **sizes: run_script(
        "benchmarks/mine", *[word for item in {**SMALL, **sizes}.items() for word in item], *more
    )
    torch.set_num_threads(threads)


def test_all_contestants_find_the_same_and_the_last_line_has_the_ratios(bench, capsys):
    assert bench("--full") == 0
    lines = capsys.readouterr().out.splitlines()
    shares = [float(line.rpartition(" at ")[2].partition(" %")[0]) for line in lines if "the same candidates" in line]
    assert len(shares) >= 2 and min(shares) > 99
    assert any(line.startswith("the whole filter, 1 threads:") for line in lines)
    assert json.loads(lines[-1])["mine_candidates_vs_numpy"] > 0


@pytest.mark.parametrize("sizes", [{"--n": 0}, {"--slice": 61}])
def test_bad_numbers_are_one_line(bench, capsys, sizes):
    assert bench(**sizes) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and next(iter(sizes)) in err
