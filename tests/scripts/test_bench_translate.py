from __future__ import annotations

import json
from functools import partial

import pytest

from hf_paraphrase.translation.decoder_steps import int8_is_fast

SEARCH = ["--hidden", 8, "--embedding", 4, "--vocabulary", 40, "--candidates", 12, "--beams", 3, "--batch", 2]
TRAINING = ["--train-hidden", 4, 8, "--train-vocabulary", 30, "--train-batch", 2, "--train-length", 4, "--updates", 1]
SMALL = [*SEARCH, "--source", 4, "--steps", 3, *TRAINING, "--rounds", 1]


@pytest.fixture
def bench(run_script):
    return partial(run_script, "benchmarks/translate")


@pytest.fixture
def stand_in(tmp_path):
    """An interpreter whose JoeyNMT takes 1,000 s for everything."""
    path = tmp_path / "python"
    path.write_text(
        '#!/bin/sh\necho \'{"version": "0.0"}\'\nwhile read order; do echo "$order" >> "$0.orders"; '
        "echo '{\"seconds\": 1000}'; done\n"
    )
    path.chmod(0o755)
    return path


def test_without_joeynmt_all_of_ours_are_timed_and_the_peer_is_named_and_left_out(bench, capsys):
    assert bench(*SMALL) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "JoeyNMT is left out: --joeynmt-python is not given" in lines
    assert json.loads(lines[-1]) == {}
    names = [line[:40].strip() for line in lines]
    for name in ("12 candidates, bf16", "full vocabulary, bf16, rescored", "plain generate, fp32"):
        assert names.count(name) == 1
    assert names.count("training, bf16") == names.count("training, fp32") == 2
    assert not any("this/JoeyNMT" in line for line in lines)


def test_an_interpreter_that_cannot_be_started_is_named_and_left_out(bench, tmp_path, capsys):
    assert bench(*SMALL, "--only-train", "--joeynmt-python", tmp_path / "absent") == 0
    out = capsys.readouterr().out
    assert "JoeyNMT is left out: " in out and "absent" in out


def test_with_joeynmt_the_last_line_has_every_ratio_and_the_lowest_over_the_hidden_sizes(bench, stand_in, capsys):
    assert bench(*SMALL, "--joeynmt-python", stand_in) == 0
    lines = capsys.readouterr().out.splitlines()
    ratios = json.loads(lines[-1])
    eight = ["candidates_int8", "full_int8"] if int8_is_fast() else []
    search = [*eight, "candidates", "full_bf16", "full_fp32"]
    training = ["nmt_train_bf16_vs_joeynmt", "nmt_train_fp32_vs_joeynmt"]
    assert list(ratios) == [*(f"beam50_{name}_vs_joeynmt" for name in search), *training]
    for key in training:
        column = [float(line.split()[-1]) for line in lines if line.startswith(f"training, {key[10:14]}")]
        assert len(column) == 2 and ratios[key] == pytest.approx(min(column), abs=0.01)
    # A turn to warm up and one that counts, of the search and of training at both sizes.
    orders = [json.loads(line) for line in (stand_in.parent / "python.orders").read_text().splitlines()]
    assert [order["do"] for order in orders] == ["search"] * 2 + ["train"] * 4
    assert [order["hidden"] for order in orders] == [8, 8, 4, 4, 8, 8]


def test_the_cost_of_growing_searches_has_a_row_a_case(bench, capsys, monkeypatch, load_script):
    module = load_script("benchmarks/translate")
    monkeypatch.setattr(module, "search", lambda model, sources, beams, steps, clock: float(beams))
    monkeypatch.setattr(module, "random_model", lambda *sizes: FakeModel())
    arguments = module.argparse.Namespace(
        beams=3, vocabulary=40, source=4, hidden=8, embedding=4, batch=2, rounds=2, steps=3, cpu_time=False
    )
    module.scaling(arguments)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 5 + 4 + 4
    # At so many hypothesis-steps a second as there are beams, a sentence takes a second a step.
    assert all(float(line.split()[4]) == 1e3 * int(line.split()[3]) for line in lines[2:])


class FakeModel:
    def to(self, kind):
        return self

    @property
    def lm_head(self):
        import torch

        return torch.nn.Linear(1, 3)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--rounds", "0"], "--rounds must be at least 1, not 0"),
        (["--candidates", "41"], "--candidates must be at most --vocabulary"),
        (["--train-hidden", "5"], "must be even"),
        (["--only-search", "--only-train"], "leave nothing to do"),
    ],
)
def test_numbers_that_make_no_sense_are_one_line(bench, capsys, words, expected):
    assert bench(*SMALL, *words) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("benchmarks/translate: error: ") and err.count("\n") == 1 and expected in err
