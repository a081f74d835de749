from __future__ import annotations

import json

import pytest
import torch
from train_nmt_runs import train
from transformers import AutoConfig

from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.translation.loading import load_translation_model
from hf_paraphrase.translation.scoring import score_translations


@pytest.fixture(scope="module")
def continued(trained, tiny_bitext, tmp_path_factory):
    folder = tmp_path_factory.mktemp("continued") / "model"
    words = ["--initial-model", str(trained), "--hidden-size", "20", "--vocab-size", "70", "--dropout", "0.0"]
    assert train(tiny_bitext, folder, *words) == 0
    return folder


def test_a_run_that_goes_on_begins_where_the_model_is(trained, tiny_bitext, tmp_path):
    # Steps of length zero: whatever is learnt, the weights are still those of the model.
    words = ["--initial-model", str(trained), "--learning-rate", "1e-12", "--seed", "9"]
    assert train(tiny_bitext, tmp_path / "model", *words) == 0
    before, _ = load_translation_model(trained)
    after, _ = load_translation_model(tmp_path / "model")
    for (name, old), new in zip(before.state_dict().items(), after.state_dict().values(), strict=True):
        torch.testing.assert_close(new, old, msg=name, atol=1e-6, rtol=0)


def test_units_and_sizes_are_the_models_and_dropout_is_the_runs(trained, continued):
    assert (continued / "tokenizer.json").read_bytes() == (trained / "tokenizer.json").read_bytes()
    old, new = AutoConfig.from_pretrained(trained), AutoConfig.from_pretrained(continued)
    assert (new.hidden_size, new.vocab_size) == (old.hidden_size, old.vocab_size) == (8, old.vocab_size)
    assert (old.dropout, new.dropout) == (0.3, 0.0)
    settings = json.loads((continued / "provenance.json").read_text())["settings"]
    assert (settings["hidden_size"], settings["vocab_size"]) == (8, old.vocab_size)


def test_provenance_and_card_name_the_model_it_went_on_from(trained, continued):
    inputs = [entry["name"] for entry in json.loads((continued / "provenance.json").read_text())["inputs"]]
    assert trained.name in inputs and len(inputs) == 2
    assert f"went on from the weights and the units of `{trained.name}`" in (continued / "README.md").read_text()
    assert "went on from" not in (trained / "README.md").read_text()


def test_going_on_fits_the_training_pairs_better_than_the_model_did(trained, continued, tiny_bitext):
    pairs = DataFolder(tiny_bitext).table("train")
    totals = [
        score_translations(*load_translation_model(folder), pairs["source"].to_pylist(), pairs["target"].to_pylist())
        for folder in (trained, continued)
    ]
    assert totals[1].log_probs.sum() > totals[0].log_probs.sum()


def test_a_model_of_other_languages_or_another_kind_is_one_line(trained, tiny_bitext, tmp_path, capsys):
    other = tmp_path / "other"
    other.mkdir()
    for path in trained.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps({**config, "source_lang": "de"}))
    for folder, problem in [
        (other, "de→en"),
        (tmp_path / "none", "no such model folder"),
        (tiny_bitext, "config.json"),
    ]:
        assert train(tiny_bitext, tmp_path / "model", "--initial-model", str(folder)) == 2
        assert problem in capsys.readouterr().err.strip().splitlines()[-1]
        assert not (tmp_path / "model").exists()


def test_a_run_is_not_resumed_from_another_model(trained, continued, tiny_bitext, tmp_path, capsys, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("hf_paraphrase.translation.trainer.TranslationTrainer.train", stop)
    assert train(tiny_bitext, tmp_path / "model", "--initial-model", str(trained)) not in (0, 2)
    monkeypatch.undo()
    assert train(tiny_bitext, tmp_path / "model", "--initial-model", str(continued), "--resume") == 2
    assert "initial_model" in capsys.readouterr().err
