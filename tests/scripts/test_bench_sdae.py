from __future__ import annotations

import json
import logging
from functools import partial

import pytest
import torch

from hf_paraphrase.models.configuration_sdae import SdaeConfig
from hf_paraphrase.models.modeling_sdae import SdaeModel

SMALL = ["--vocabulary", 2_000, "--embedding", 4, "--hidden", 6, "--batch", 8, "--steps", 10, "--rounds", 1]


@pytest.fixture
def bench(run_script):
    logger = logging.getLogger("transformers")
    level = logger.level
    yield partial(run_script, "benchmarks/sdae", *SMALL)
    logger.setLevel(level)


@pytest.mark.parametrize("fast", [True, False])
def test_every_way_of_training_is_timed_and_bf16_left_out_where_it_is_no_gain(
    bench, load_script, capsys, monkeypatch, fast
):
    monkeypatch.setattr("hf_paraphrase.training.devices.bf16_is_fast", lambda device=None: fast)
    assert bench() == 0
    lines = capsys.readouterr().out.splitlines()
    keys = ["sdae_train_vs_plain", *(["sdae_train_bf16_vs_plain"] if fast else [])]
    assert list(json.loads(lines[-1])) == keys
    names = [line[:40].strip() for line in lines]
    assert {"this package, fp32", "plain loop over the steps, fp32"} <= set(names)
    assert any("bf16 is left out" in line for line in lines) != fast


def test_the_plain_loop_is_the_same_network(load_script):
    module = load_script("benchmarks/sdae")
    torch.manual_seed(0)
    plain = module.PlainAutoencoder(20, 4, 6)
    model = SdaeModel(SdaeConfig(vocab_size=20, hidden_size=6, embedding_size=4))
    with torch.no_grad():
        for cell, layer in ((plain.encoder, model.recurrent), (plain.decoder, model.decoder.recurrent)):
            cell.bias_hh.zero_()
            layer.weight_state.copy_(cell.weight_hh)
            layer.weight_input.copy_(cell.weight_ih[:, :4])
            layer.bias.copy_(cell.bias_ih)
        model.decoder.recurrent.weight_context.copy_(plain.decoder.weight_ih[:, 4:])
        model.embeddings.copy_(plain.embeddings.weight)
        model.decoder.start.load_state_dict(plain.start.state_dict())
        model.decoder.output.load_state_dict(plain.output.state_dict())
    batch = {
        "input_ids": torch.tensor([[5, 6, 7, 0], [3, 0, 0, 0], [9, 8, 0, 0]]),
        "attention_mask": torch.tensor([[1, 1, 1, 0], [1, 0, 0, 0], [1, 1, 0, 0]]),
        "labels": torch.tensor([[5, 6, -100], [3, 4, 2], [9, -100, -100]]),
    }
    torch.testing.assert_close(plain(**batch), model(**batch).loss)


def test_bad_numbers_and_text_are_one_line(bench, tmp_path, capsys):
    assert bench("--vocabulary", 3) == 2
    assert capsys.readouterr().err == "benchmarks/sdae: error: --vocabulary must be at least 4, not 3\n"
    (tmp_path / "words.txt").write_text("one\ntwo\n")
    assert bench("--text", tmp_path / "words.txt") == 2
    assert "no sentence of two words or more" in capsys.readouterr().err
