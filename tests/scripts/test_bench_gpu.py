from __future__ import annotations

import json
import logging
from functools import partial

import pytest

SIZES = {"batch": 4, "dimension": 4, "hidden": 8, "vocabulary": 200, "steps": 10, "updates": 1, "sentences": 20}
SMALL = [word for name, value in SIZES.items() for word in (f"--{name}", value)]


@pytest.fixture
def bench(run_script):
    logger = logging.getLogger("transformers")
    level = logger.level
    yield partial(run_script, "benchmarks/gpu", *SMALL, "--rounds", 1)
    logger.setLevel(level)


def test_the_last_line_is_one_json_object_of_the_device_and_its_rates(bench, capsys):
    assert bench("--device", "cpu") == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found.pop("device").startswith("cpu") and found.pop("torch")
    rates = ("avg_training_pairs", "avg_dense_training_pairs", "gran_encoding_sentences", "nmt_training_target_tokens")
    assert set(found) == {f"{name}_a_s" for name in (*rates, "beam_search_hypothesis-steps")}
    assert all(rate > 0 for rate in found.values())


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "there is no GPU here (--device cpu tries the script out)"),
        (["--device", "cuda"], "there is no --device cuda here"),
        (["--device", "cpu", "--batch", 1], "--batch must be at least 2, not 1"),
    ],
)
def test_without_a_gpu_and_with_bad_numbers_it_is_one_line(bench, monkeypatch, capsys, words, problem):
    monkeypatch.setattr("hf_paraphrase.training.devices.devices", lambda: ["cpu"])
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert bench(*words) == 2
    err = capsys.readouterr().err
    assert problem in err and err.count("\n") == 1
