from __future__ import annotations

import json
import logging
import sys
from functools import partial

import pytest

SMALL = ["--vocabulary", 3_000, "--dimension", 4, "--batch", 10, "--mega-batch", 2, "--steps", 20, "--slow-steps", 10]


@pytest.fixture
def bench(run_script):
    logger = logging.getLogger("transformers")
    level = logger.level
    yield partial(run_script, "benchmarks/train", *SMALL, "--rounds", 1)
    logger.setLevel(level)


def test_every_way_of_training_is_timed_and_an_absent_peer_is_named(bench, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    assert bench() == 0
    lines = capsys.readouterr().out.splitlines()
    assert list(json.loads(lines[-1])) == ["avg_train_vs_dense"]
    assert any("sentence-transformers is left out" in line for line in lines)
    names = [line[:40].strip() for line in lines]
    assert {"row-wise Adam", "row-wise Adam, mega-batches of 2", "dense Adam"} <= set(names)


def test_bad_numbers_are_one_line(bench, capsys):
    assert bench("--batch", 1) == 2
    assert capsys.readouterr().err == "benchmarks/train: error: --batch must be at least 2, not 1\n"
