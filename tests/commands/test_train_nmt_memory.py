from __future__ import annotations

import json

import pytest
from safetensors.torch import load_file
from train_nmt_runs import command, train
from two_processes import launch

from hf_paraphrase.models.modeling_rnn_search import RnnSearchForConditionalGeneration
from hf_paraphrase.translation import trainer

# Adam's first steps have the same length however small a gradient is, which makes rounding errors large.
WORDS = ["--dropout", "0", "--optimizer", "adadelta", "--learning-rate", "1", "--epochs", "1", "--evaluations", "1"]
LIMIT = 4 * 8 * 60
"""Bytes of attention of width 8 in fp32 for 60 pairs of a source and a target unit."""


@pytest.fixture
def steps(monkeypatch):
    """Pairs, source length and target length of every forward pass in training."""
    found = []
    forward = RnnSearchForConditionalGeneration.forward

    def note(self, input_ids=None, **arguments):
        if self.training:
            found.append((*input_ids.shape, arguments["labels"].shape[1]))
        return forward(self, input_ids, **arguments)

    monkeypatch.setattr(RnnSearchForConditionalGeneration, "forward", note)
    return found


def losses(folder):
    log = json.loads((folder / "provenance.json").read_text())["results"]["log"]
    return [entry["train_loss"] for entry in log if "train_loss" in entry]


def assert_same_training(first, second):
    expected = load_file(first / "model.safetensors")
    for name, found in load_file(second / "model.safetensors").items():
        assert found.numpy() == pytest.approx(expected[name].numpy(), abs=1e-4), name


def test_long_sentences_go_through_in_pieces_and_are_learnt_as_in_whole_batches(
    tiny_bitext, tmp_path, steps, monkeypatch
):
    assert train(tiny_bitext, tmp_path / "whole", *WORDS) == 0
    whole = list(steps)
    assert len(whole) == 8 and any(pairs * source * target > 60 for pairs, source, target in whole)
    steps.clear()
    monkeypatch.setattr(trainer, "ATTENTION_BYTES", LIMIT)
    assert train(tiny_bitext, tmp_path / "pieces", *WORDS) == 0
    assert all(pairs * source * target <= 60 or pairs == 1 for pairs, source, target in steps)
    assert sum(pairs for pairs, *_ in steps) == sum(pairs for pairs, *_ in whole) == 60
    assert_same_training(tmp_path / "whole", tmp_path / "pieces")
    assert losses(tmp_path / "pieces") == pytest.approx(losses(tmp_path / "whole"), abs=1e-3)


PROGRAM = """
import sys
from hf_paraphrase.commands import main
from hf_paraphrase.translation import trainer
trainer.ATTENTION_BYTES = int(sys.argv[1])
main(sys.argv[2:])
"""


@pytest.mark.slow
def test_two_processes_with_different_numbers_of_pieces_learn_as_with_whole_batches(tiny_bitext, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    for name, limit in (("whole", trainer.ATTENTION_BYTES), ("pieces", LIMIT)):
        result = launch(tmp_path / "program.py", limit, *command(tiny_bitext, tmp_path / name, *WORDS))
        assert result.returncode == 0, result.stderr[-3_000:]
    assert_same_training(tmp_path / "whole", tmp_path / "pieces")
