from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from hf_paraphrase.commands import main
from hf_paraphrase.translation.trainer import TranslationTrainer

SMALL = ["--hidden-size", "8", "--embedding-size", "6", "--batch-size", "8", "--precision", "fp32"]
SMALL += ["--vocab-size", "60", "--warmup-steps", "2"]


def train(bitext, output, *words):
    return main(["train-nmt", "--bitext", str(bitext), "--output", str(output), *SMALL, *words])


def results(folder):
    return json.loads((folder / "provenance.json").read_text())["results"]


@pytest.fixture
def trainers(monkeypatch):
    """Every trainer of a run, as it was when it began, with the weights it started from."""
    found = []
    begin = TranslationTrainer.train

    def train_and_note(self, *arguments, **settings):
        weights = {name: value.clone() for name, value in self.model.state_dict().items()}
        begun = begin(self, *arguments, **settings)
        found.append((self, weights))
        return begun

    monkeypatch.setattr(TranslationTrainer, "train", train_and_note)
    return found


def test_adadelta_has_the_reference_settings_and_a_constant_rate(tiny_bitext, tmp_path, trainers):
    assert train(tiny_bitext, tmp_path / "m", "--optimizer", "adadelta", "--epochs", "2", "--evaluations", "2") == 0
    ((trainer, before),) = trainers
    optimizer = getattr(trainer.optimizer, "optimizer", trainer.optimizer)
    assert type(optimizer) is torch.optim.Adadelta
    for group in optimizer.param_groups:
        assert (group["rho"], group["eps"], group["lr"], group["weight_decay"]) == (0.95, 1e-6, 1.0, 0.0)
    assert trainer.args.max_grad_norm == 1.0 and trainer.lr_scheduler.get_last_lr() == [1.0] * len(
        optimizer.param_groups
    )
    after = load_file(tmp_path / "m" / "model.safetensors")
    assert all(not torch.equal(value, before[name]) for name, value in after.items())
    settings = json.loads((tmp_path / "m" / "provenance.json").read_text())["settings"]
    assert (settings["learning_rate"], settings["warmup_steps"]) == (1.0, 0)
    assert "Adadelta with learning rate 1.0" in (tmp_path / "m" / "README.md").read_text()


def test_separate_vocabularies_train_and_open_from_the_folder_alone(tiny_bitext, tmp_path, run_python):
    output = tmp_path / "m"
    words = ["--no-joint-vocabulary", "--no-share-embeddings", "--epochs", "1", "--evaluations", "1"]
    assert train(tiny_bitext, output, *words, "--vocab-size", "50") == 0
    model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(output), AutoTokenizer.from_pretrained(output)
    assert model.config.source_vocab_size == tokenizer.source_vocab_size <= 50
    assert model.config.vocab_size == len(tokenizer) <= 50
    assert tokenizer.decode(tokenizer(text_target="two three")["input_ids"], skip_special_tokens=True) == "two three"
    assert tokenizer("deux")["input_ids"] != tokenizer(text_target="deux")["input_ids"]
    assert main(["evaluate-nmt", "--model", str(output), "--bitext", str(tiny_bitext), "--num-beams", "2"]) == 0
    script = (
        "import sys; from transformers import AutoModelForSeq2SeqLM, AutoTokenizer\n"
        "assert not any(name.startswith('hf_paraphrase') for name in sys.modules)\n"
        "folder = sys.argv[1]; tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)\n"
        "model = AutoModelForSeq2SeqLM.from_pretrained(folder, trust_remote_code=True)\n"
        "print(tokenizer(['un deux'])['input_ids'], tokenizer(text_target=['one two'])['input_ids'])\n"
        "model.generate(**tokenizer(['un deux'], return_tensors='pt'), max_new_tokens=5)"
    )
    done = run_python(script, output)
    assert done.returncode == 0, done.stderr
    own = f"{tokenizer(['un deux'])['input_ids']} {tokenizer(text_target=['one two'])['input_ids']}"
    assert done.stdout.strip() == own


def test_pairs_with_too_many_units_are_left_out_and_counted(tiny_bitext, tmp_path, capsys):
    words = ["--epochs", "1", "--evaluations", "1", "--max-units", "9"]
    assert train(tiny_bitext, tmp_path / "m", *words) == 0
    found = results(tmp_path / "m")
    assert 0 < found["training_pairs"] < 60 and found["training_pairs"] + found["pairs_left_out"] == 60
    assert "have too many units and are left out" in capsys.readouterr().err
