from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys

import pytest
import sacrebleu
import torch
from seq2seq_models import LANGUAGES, save_model
from small_runs import command, number_pairs, record, train, write_bitext
from transformers import AutoModelForSeq2SeqLM

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.translation.bleu import corpus_scores
from hf_paraphrase.translation.loading import load_translation_model
from hf_paraphrase.translation.trainer import TranslationTrainer
from hf_paraphrase.translation.translator import translate


def measured(folder):
    return [(entry["step"], entry["eval_bleu"]) for entry in record(folder)["results"]["log"] if "eval_bleu" in entry]


def test_the_best_weights_are_kept_even_if_later_ones_are_worse(tiny_bitext, tmp_path):
    # A learning rate that ruins the model soon: its first measurements are the better ones.
    assert train(tiny_bitext, tmp_path / "model", "--learning-rate", "0.5", "--warmup-steps", "20", "--seed", "3") == 0
    scores = measured(tmp_path / "model")
    best = max(score for _, score in scores)
    step = next(step for step, score in scores if score == best)
    assert record(tmp_path / "model")["results"]["dev_bleu"] == best
    assert record(tmp_path / "model")["results"]["best_epoch"] == pytest.approx(step / 8)
    dev = DataFolder(tiny_bitext).table("validation")
    model, tokenizer = load_translation_model(tmp_path / "model")
    # Which call was the last differs between a run that was resumed and one that was not.
    assert tokenizer.backend_tokenizer.truncation is tokenizer.backend_tokenizer.padding is None
    translations = translate(model, tokenizer, dev["source"].to_pylist(), num_beams=1)
    assert corpus_scores(translations, dev["target"].to_pylist())["bleu"] == pytest.approx(best, abs=1e-6)


@pytest.mark.slow
def test_two_processes_train_one_model(tiny_bitext, tmp_path):
    # 60 pairs in mini-batches of 4: 15, an odd number; 8 updates an epoch.
    words = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    words += ["--main_process_port", "0", "-m", "hf_paraphrase"]
    words += command(tiny_bitext, tmp_path / "model", "--batch-size", "4", "--epochs", "3", "--evaluations", "6")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    result = subprocess.run(words, capture_output=True, text=True, check=False, env=environment, timeout=300)
    assert result.returncode == 0, result.stderr[-3_000:]
    assert [path.name for path in tmp_path.iterdir()] == ["model"] and result.stdout == ""
    assert [step for step, _ in measured(tmp_path / "model")] == [4, 8, 12, 16, 20, 24]
    assert result.stderr.count("training pairs") == result.stderr.count("translation model saved to ") == 1
    AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "model")


# ----- settings of the reference


def test_adadelta_has_the_reference_settings_and_a_constant_rate(tiny_bitext, tmp_path, monkeypatch):
    begin, trainers = TranslationTrainer.train, []
    monkeypatch.setattr(TranslationTrainer, "train", lambda self, **more: trainers.append(self) or begin(self, **more))
    words = [word for word in command(tiny_bitext, tmp_path / "m") if not word.startswith(("--learning", "--warmup"))]
    assert main([*words, "--optimizer", "adadelta", "--epochs", "1", "--evaluations", "1"]) == 0
    (trainer,) = trainers
    optimizer = getattr(trainer.optimizer, "optimizer", trainer.optimizer)
    assert type(optimizer) is torch.optim.Adadelta
    for group in optimizer.param_groups:
        assert (group["rho"], group["eps"], group["lr"], group["weight_decay"]) == (0.95, 1e-6, 1.0, 0.0)
    assert trainer.args.max_grad_norm == 1.0
    assert trainer.lr_scheduler.get_last_lr() == [1.0] * len(optimizer.param_groups)
    settings = json.loads((tmp_path / "m" / "provenance.json").read_text())["settings"]
    assert (settings["learning_rate"], settings["warmup_steps"]) == (1.0, 0)
    assert "Adadelta with learning rate 1.0" in (tmp_path / "m" / "README.md").read_text()


# ----- several bitexts, and a model to continue from


def test_several_bitexts_are_mixed_one_named_twice_counts_twice_and_long_pairs_are_left_out(
    tiny_bitext, tmp_path, capsys
):
    other = write_bitext(tmp_path / "other", train=number_pairs(60, 200))
    words = [word for word in command(tiny_bitext, tmp_path / "model") if not word.startswith("--warmup-steps")]
    words += ["--bitext", str(other), str(tiny_bitext), "--epochs=3.25", "--evaluations=3", "--max-units=9"]
    assert main([*words, "--gradient-accumulation-steps", "2"]) == 0
    made = record(tmp_path / "model")
    counts = made["results"]
    assert 0 < counts["training_pairs"] < 180 and counts["training_pairs"] + counts["pairs_left_out"] == 180
    assert "have too many subwords and are left out" in capsys.readouterr().err
    steps = [step for step, _ in measured(tmp_path / "model")]
    assert len(steps) == len(set(steps)) == 3, "the last update is measured once"
    warmup = made["settings"]["warmup_steps"]
    assert warmup == math.ceil(steps[-1] / 10), "a tenth of a short run"
    assert f"after\n{warmup} steps of warm-up" in (tmp_path / "model" / "README.md").read_text()
    assert [item["name"] for item in made["inputs"]] == [tiny_bitext.name, "other"]
    assert f"`{tiny_bitext.name} + other + {tiny_bitext.name}`" in (tmp_path / "model" / "README.md").read_text()


def test_a_run_that_goes_on_with_frozen_embeddings_keeps_those_of_the_model_and_learns_the_rest(
    tiny_model, tiny_bitext, tmp_path
):
    words = ["--initial-model", str(tiny_model), "--freeze-embeddings", "--seed", "9", "--epochs", "1"]
    assert train(tiny_bitext, tmp_path / "model", *words) == 0
    before, after = (load_translation_model(folder)[0].state_dict() for folder in (tiny_model, tmp_path / "model"))
    same = {name for name, tensor in before.items() if torch.equal(tensor, after[name])}
    frozen = {name for name in before if "embeddings" in name}
    assert "lm_head.weight" not in same
    assert frozen and frozen <= same and len(same) < len(before)
    card = (tmp_path / "model" / "README.md").read_text()
    assert f"began with the weights and the units of `{tiny_model.name}`" in card


def test_a_new_transformer_learns_and_is_a_marian_model_for_everybody(tiny_bitext, tmp_path):
    words = ["--architecture", "transformer", "--hidden-size", "32", "--num-layers", "1", "--num-heads", "2"]
    assert train(tiny_bitext, tmp_path / "model", *words, "--lower-case") == 0
    losses = [entry["loss"] for entry in record(tmp_path / "model")["results"]["log"] if "loss" in entry]
    assert losses and losses[-1] < losses[0]
    model, tokenizer = load_translation_model(tmp_path / "model")
    assert model.config.model_type == "marian" and (model.config.source_lang, model.config.target_lang) == ("fr", "en")
    sources = DataFolder(tiny_bitext).table("validation")["source"].to_pylist()
    plain = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "model")
    batch = tokenizer(sources, return_tensors="pt", padding=True)
    texts = tokenizer.batch_decode(plain.generate(**batch, num_beams=1), skip_special_tokens=True)
    # Ours end at three times the length of the source.
    found = translate(model, tokenizer, sources, num_beams=1)
    assert all(map(str.startswith, texts, found)) and any(found)
    assert "transformer" in (tmp_path / "model" / "README.md").read_text()
    made = record(tmp_path / "model")["settings"]
    assert (made["dropout"], made["learning_rate"]) == (0.1, 0.01)


@pytest.mark.parametrize("kind", ["nllb", "mbart", "t5"])
def test_a_model_of_the_hub_is_fine_tuned_between_its_own_languages(kind, tiny_bitext, tmp_path):
    save_model(kind, tmp_path / "initial")
    words = command(tiny_bitext, tmp_path / "model", "--initial-model", str(tmp_path / "initial"), "--epochs", "2")
    assert main([*words, "--evaluations", "2", "--dropout", "0"]) == 0
    losses = [entry["loss"] for entry in record(tmp_path / "model")["results"]["log"] if "loss" in entry]
    assert losses and losses[-1] < losses[0]
    # It opens without languages, which its configuration names.
    (before, _), (after, tokenizer) = (
        load_translation_model(tmp_path / name, **languages)
        for name, languages in (("initial", LANGUAGES[kind]), ("model", {}))
    )
    assert after.config.source_lang == before.config.source_lang and after.config.prefix == before.config.prefix
    assert any(not torch.equal(old, new) for old, new in zip(before.parameters(), after.parameters(), strict=True))
    assert translate(after, tokenizer, ["un deux"], num_beams=1)
    assert json.loads((tmp_path / "model" / "config.json").read_text())["model_type"] == before.config.model_type


def evaluate(model, bitext, *words):
    return main(["evaluate-nmt", "--model", str(model), "--bitext", str(bitext), *words])


def test_scores_equal_sacrebleu_on_the_translations_and_case_split_and_limit_are_followed(
    tiny_model, tiny_bitext, tmp_path, capfd
):
    words = ["--num-beams", "1", "3", "--output", str(tmp_path / "s.json"), "--translations", str(tmp_path / "t.txt")]
    assert evaluate(tiny_model, tiny_bitext, *words) == 0
    out, err = capfd.readouterr()
    model, tokenizer = load_translation_model(tiny_model)
    table = DataFolder(tiny_bitext).table("test")
    references = table["target"].to_pylist()
    scores = json.loads((tmp_path / "s.json").read_text())
    assert [entry["num_beams"] for entry in scores] == [1, 3]
    for entry in scores:
        translations = translate(model, tokenizer, table["source"].to_pylist(), num_beams=entry["num_beams"])
        assert entry["bleu"] == pytest.approx(sacrebleu.corpus_bleu(translations, [references]).score)
        assert entry["sentences"] == 8 and entry["sources_cut"] == 0 and "case:mixed" in entry["bleu_signature"]
    assert (tmp_path / "t.txt").read_text().splitlines() == translations
    lines = out.splitlines()
    assert len(lines) == 5 and re.match(r"beam   1(  (BLEU|chrF2|TER) +\d+\.\d\d){3}$", lines[0])
    assert lines[2].startswith("BLEU  nrefs:1|case:mixed") and lines[3].startswith("chrF2 nrefs:1")
    assert "scores saved to " in err and "8/8" not in out
    words = ["--split", "validation", "--max-sentences", "3", "--lower-case", "--output", str(tmp_path / "lc.json")]
    assert evaluate(tiny_model, tiny_bitext, *words) == 0
    (entry,) = json.loads((tmp_path / "lc.json").read_text())
    assert entry["sentences"] == 3 and "case:lc" in entry["bleu_signature"] and entry["num_beams"] == 5


def test_empty_sources_have_no_translation_and_those_longer_than_the_model_reads_are_cut_and_counted_once(
    tiny_model, tmp_path, capsys
):
    pairs = [("", "nothing"), ("un " * 10_000, "ten thousand"), (None, "no source"), ("deux", None)]
    bitext = write_bitext(tmp_path / "bitext", test=pairs)
    outputs = ["--translations", str(tmp_path / "t.txt"), "--output", str(tmp_path / "s.json")]
    assert evaluate(tiny_model, bitext, "--num-beams", "1", "2", *outputs) == 0
    lines = (tmp_path / "t.txt").read_text().split("\n")
    assert len(lines) == 5 and lines[0] == lines[2] == ""
    assert [score["sources_cut"] for score in json.loads((tmp_path / "s.json").read_text())] == [1, 1]
    message = "1 of 4 sources are truncated to 1,000 subwords, the limit of the model"
    assert capsys.readouterr().err.count(message) == 1
