from __future__ import annotations

import errno
import json
import shutil
import signal
from pathlib import Path

import pytest
import torch
from fresh_python import MAIN
from train_nmt_runs import command, train
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, GenerationConfig
from two_processes import launch

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.translation.beam_search import translate
from hf_paraphrase.translation.bleu import corpus_scores
from hf_paraphrase.translation.loading import load_translation_model
from hf_paraphrase.translation.train_settings import TranslationTrainingSettings
from hf_paraphrase.translation.trainer import finished_checkpoints


def weights(folder):
    return (folder / "model.safetensors").read_bytes()


def results(folder):
    return json.loads((folder / "provenance.json").read_text())["results"]


def measured(folder):
    return [(entry["step"], entry["eval_bleu"]) for entry in results(folder)["log"] if "eval_bleu" in entry]


def test_the_output_is_a_complete_model_folder_and_nothing_else(trained):
    assert [path.name for path in trained.parent.iterdir()] == ["model"]
    assert {path.name for path in trained.iterdir()} == {
        "README.md",
        "config.json",
        "configuration_rnn_search.py",
        "generation_config.json",
        "model.safetensors",
        "matrix_products.py",
        "modeling_rnn_search.py",
        "provenance.json",
        "report.html",
        "readout_loss.py",
        "rnn_search_layers.py",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    model = AutoModelForSeq2SeqLM.from_pretrained(trained)
    assert model.dtype == torch.float32
    assert (model.config.source_lang, model.config.target_lang, model.config.lowercase) == ("fr", "en", False)
    assert GenerationConfig.from_pretrained(trained).num_beams == 5
    tokenizer = AutoTokenizer.from_pretrained(trained)
    assert len(tokenizer) == model.config.vocab_size
    sequences = model.generate(**tokenizer(["Un deux"], return_tensors="pt"))
    assert tokenizer.batch_decode(sequences, skip_special_tokens=True)[0].isascii()


def test_provenance_says_how_the_model_was_made(trained, tiny_bitext):
    record = json.loads((trained / "provenance.json").read_text())
    assert record["command"] == "hf-paraphrase train-nmt" and record["seed"] == 0
    assert record["settings"]["hidden_size"] == 8 and record["inputs"][0]["name"] == tiny_bitext.name
    assert record["results"]["training_pairs"] == 60 and record["results"]["pairs_left_out"] == 0


def test_a_warm_up_that_is_not_given_is_a_tenth_of_a_short_run_and_recorded_as_it_was(tiny_bitext, tmp_path):
    words = [word for word in command(tiny_bitext, tmp_path / "model") if not word.startswith("--warmup-steps")]
    assert main(words) == 0
    record = json.loads((tmp_path / "model" / "provenance.json").read_text())
    assert record["settings"]["warmup_steps"] == 2  # of 16 steps
    assert "after\n2 steps of warm-up" in (tmp_path / "model" / "README.md").read_text()


def test_dev_bleu_is_measured_evenly_and_at_the_very_end(trained):
    steps = [step for step, _ in measured(trained)]
    assert steps == [4, 8, 12, 16]  # 60 pairs in 8 mini-batches, 2 epochs


def test_the_weights_kept_are_those_of_the_best_dev_bleu(trained, tiny_bitext):
    scores = [score for _, score in measured(trained)]
    model, tokenizer = load_translation_model(trained)
    dev = DataFolder(tiny_bitext).table("validation")
    translations = translate(model, tokenizer, dev["source"].to_pylist(), num_beams=1)
    found = corpus_scores(translations, dev["target"].to_pylist()).bleu
    assert found == pytest.approx(max(scores), abs=1e-6)
    assert results(trained)["dev_bleu"] == max(scores)
    assert len(set(scores)) > 1, "all measurements are alike, so this test shows nothing"


def test_the_best_weights_are_kept_even_if_later_ones_are_worse(tiny_bitext, tmp_path):
    # A learning rate that ruins the model soon: its first measurements are the better ones.
    assert train(tiny_bitext, tmp_path / "model", "--learning-rate", "0.5", "--warmup-steps", "20", "--seed", "3") == 0
    scores = measured(tmp_path / "model")
    best = max(score for _, score in scores)
    step = next(step for step, score in scores if score == best)
    assert results(tmp_path / "model")["dev_bleu"] == best
    assert results(tmp_path / "model")["best_epoch"] == pytest.approx(step / 8)
    model, tokenizer = load_translation_model(tmp_path / "model")
    dev = DataFolder(tiny_bitext).table("validation")
    translations = translate(model, tokenizer, dev["source"].to_pylist(), num_beams=1)
    assert corpus_scores(translations, dev["target"].to_pylist()).bleu == pytest.approx(best, abs=1e-6)


def test_two_runs_give_the_same_weights_and_another_seed_gives_others(trained, tiny_bitext, tmp_path):
    assert train(tiny_bitext, tmp_path / "again") == 0
    assert weights(tmp_path / "again") == weights(trained)
    assert train(tiny_bitext, tmp_path / "other", "--seed", "1") == 0
    assert weights(tmp_path / "other") != weights(trained)


KILLED = """
import os, signal, sys
from hf_paraphrase.commands import main
from hf_paraphrase.translation.trainer import TranslationTrainer
step = TranslationTrainer.training_step
taken = 0
def killed_at_step_15(self, *arguments, **settings):
    global taken
    taken += 1
    if taken == 15:
        os.kill(os.getpid(), signal.SIGKILL)
    return step(self, *arguments, **settings)
TranslationTrainer.training_step = killed_at_step_15
main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def trained_with_bpe_dropout(tiny_bitext, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bpe_dropout") / "model"
    assert train(tiny_bitext, folder, "--bpe-dropout", "0.2") == 0
    return folder


def test_bpe_dropout_changes_what_is_learnt_and_is_recorded(trained, trained_with_bpe_dropout):
    assert weights(trained_with_bpe_dropout) != weights(trained)
    assert (trained_with_bpe_dropout / "tokenizer.json").read_bytes() == (trained / "tokenizer.json").read_bytes()
    record = json.loads((trained_with_bpe_dropout / "provenance.json").read_text())
    assert record["settings"]["bpe_dropout"] == 0.2


@pytest.mark.parametrize("flags", [[], ["--bpe-dropout", "0.2"]])
def test_a_killed_run_that_is_resumed_ends_with_the_weights_of_an_undisturbed_one(
    trained, trained_with_bpe_dropout, tiny_bitext, tmp_path, run_python, flags
):
    undisturbed = trained_with_bpe_dropout if flags else trained
    output = tmp_path / "model"
    killed = run_python(KILLED, *command(tiny_bitext, output, *flags))
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    checkpoints = tmp_path / ".model.partial" / "checkpoints"
    assert finished_checkpoints(checkpoints)[-1] == checkpoints / "checkpoint-12"  # in the middle of an epoch
    assert not output.exists()

    assert train(tiny_bitext, output, *flags) == 2, (
        "without a flag the unfinished run is neither continued nor destroyed"
    )
    assert train(tiny_bitext, output, *flags, "--resume", "--seed", "5") == 2, "another seed is another run"
    assert checkpoints.is_dir()

    assert train(tiny_bitext, output, *flags, "--resume") == 0
    assert weights(output) == weights(undisturbed)
    assert measured(output) == measured(undisturbed)
    assert json.dumps(results(output)["log"]) == json.dumps(results(undisturbed)["log"])
    assert (output / "report.html").read_bytes() == (undisturbed / "report.html").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_a_run_that_was_killed_behind_its_last_checkpoint_makes_no_update_more(tiny_bitext, tmp_path, monkeypatch):
    def killed(*arguments, **words):
        raise KeyboardInterrupt

    # An epoch and a quarter: 10 updates.
    output, words = tmp_path / "model", ["--epochs", "1.25", "--evaluations", "2"]
    with monkeypatch.context() as interrupted:
        interrupted.setattr("hf_paraphrase.training.run.write_card", killed)
        assert train(tiny_bitext, output, *words) == 130
    written, found = weights(tmp_path / ".model.partial"), measured(tmp_path / ".model.partial")
    assert [step for step, _ in found] == [5, 10]
    assert train(tiny_bitext, output, *words, "--resume") == 0
    assert measured(output) == found and weights(output) == written


def cannot_rename(self, target):
    raise OSError(errno.EIO, "Input/output error")


def test_a_model_that_could_not_be_moved_into_place_is_not_trained_again(tiny_bitext, tmp_path, monkeypatch, capsys):
    output, staging = tmp_path / "model", tmp_path / ".model.partial"
    words = ["--epochs", "1", "--evaluations", "1"]
    with monkeypatch.context() as broken:
        broken.setattr(Path, "rename", cannot_rename)
        assert train(tiny_bitext, output, *words) == 2
    assert "cannot move the finished folder into place" in capsys.readouterr().err
    written = weights(staging)
    monkeypatch.setattr("hf_paraphrase.translation.train._train", lambda *arguments: pytest.fail("trained again"))
    assert train(tiny_bitext, output, *words, "--resume", "--seed", "5") == 2
    assert "the run there had other settings" in capsys.readouterr().err and staging.is_dir()
    assert train(tiny_bitext, output, *words, "--resume") == 0
    assert weights(output) == written and not (output / "checkpoints").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.slow
def test_two_processes_train_one_model_and_a_killed_run_of_theirs_ends_like_an_undisturbed_one(
    tiny_bitext, tmp_path, capsys
):
    # 60 pairs in mini-batches of 4: 15, an odd number; 8 updates an epoch.
    program = ("-m", "hf_paraphrase")
    words = ["--batch-size", "4", "--epochs", "3", "--evaluations", "6", "--bpe-dropout", "0.2"]
    result = launch(*program, *command(tiny_bitext, tmp_path / "model", *words))
    assert result.returncode == 0, result.stderr[-3_000:]
    assert [path.name for path in tmp_path.iterdir()] == ["model"] and result.stdout == ""
    assert [step for step, _ in measured(tmp_path / "model")] == [4, 8, 12, 16, 20, 24]
    assert result.stderr.count("training pairs") == result.stderr.count("translation model: ") == 1
    AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "model")

    (tmp_path / "killed.py").write_text(KILLED)
    output = tmp_path / "again" / "model"
    assert launch(tmp_path / "killed.py", *command(tiny_bitext, output, *words)).returncode != 0
    checkpoints = output.parent / ".model.partial" / "checkpoints"
    assert finished_checkpoints(checkpoints)[-1] == checkpoints / "checkpoint-12"  # in the middle of an epoch
    assert train(tiny_bitext, output, *words, "--resume") == 2, "one process would share the batches otherwise"
    assert "other settings: processes" in capsys.readouterr().err
    result = launch(*program, *command(tiny_bitext, output, *words, "--resume"))
    assert result.returncode == 0, result.stderr[-3_000:]
    assert weights(output) == weights(tmp_path / "model")
    assert measured(output) == measured(tmp_path / "model")


def test_a_training_that_diverges_ends_with_one_line_and_without_a_model(tiny_bitext, tmp_path, capsys):
    words = ["--learning-rate", "1e30", "--epochs", "1", "--evaluations", "1"]
    assert train(tiny_bitext, tmp_path / "model", *words) == 2
    assert "error: the training diverged: weights of" in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "model").exists()


def test_only_complete_checkpoints_are_continued(tmp_path):
    for step, state in ((4, "{}"), (8, "{}"), (12, '{"epoch": 1.'), (16, None)):
        (tmp_path / f"checkpoint-{step}").mkdir()
        if state is not None:
            (tmp_path / f"checkpoint-{step}" / "trainer_state.json").write_text(state)
    assert finished_checkpoints(tmp_path) == [tmp_path / "checkpoint-4", tmp_path / "checkpoint-8"]
    assert finished_checkpoints(tmp_path / "absent") == []


def test_a_single_evaluation_comes_at_the_end(tiny_bitext, tmp_path):
    assert train(tiny_bitext, tmp_path / "model", "--epochs", "1", "--evaluations", "1") == 0
    assert [step for step, _ in measured(tmp_path / "model")] == [8]


def test_the_last_update_is_measured_once_whatever_the_interval(tiny_bitext, tmp_path, trainer_flow):
    # 8 updates an epoch.
    assert train(tiny_bitext, tmp_path / "model", "--epochs", "3.125", "--evaluations", "3") == 0
    assert [step for step, _ in measured(tmp_path / "model")] == [9, 18, 25]


def test_weights_that_are_stored_once_are_not_called_missing(tiny_bitext, tmp_path, run_python):
    words = command(tiny_bitext, tmp_path / "model", "--epochs", "1", "--evaluations", "2")
    log = run_python(MAIN, *words).stderr
    assert "best dev BLEU" in log and "missing keys" not in log


def test_standard_output_stays_empty(tiny_bitext, tmp_path, capfd):
    words = ["--epochs", "1", "--evaluations", "2", "--initialization", "reference"]
    assert train(tiny_bitext, tmp_path / "model", *words) == 0
    out, err = capfd.readouterr()
    assert out == "" and "60 training pairs" in err and "translation model: " in err


def test_separate_embeddings_and_gradient_accumulation(tiny_bitext, tmp_path):
    words = ["--no-share-embeddings", "--gradient-accumulation-steps", "2", "--epochs", "1", "--evaluations", "1"]
    assert train(tiny_bitext, tmp_path / "model", *words) == 0
    model = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "model")
    assert model.encoder.embeddings.weight is not model.decoder.embeddings.weight
    assert measured(tmp_path / "model")[0][0] == 4


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--epochs", "0"], "--epochs must be above 0"),
        (["--batch-size", "0"], "--batch-size must be at least 1"),
        (["--evaluations", "0"], "--evaluations must be at least 1"),
        (["--learning-rate", "nan"], "--learning-rate must be above 0"),
        (["--hidden-size", "9"], "--hidden-size 9 must be even"),
        (["--dropout", "1"], "--dropout must be at least 0 and below 1"),
        (["--label-smoothing", "-0.1"], "--label-smoothing must be at least 0"),
        (["--warmup-steps", "-1"], "--warmup-steps must be at least 0"),
        (["--max-dev-pairs", "-1"], "--max-dev-pairs must be at least 1"),
        (["--initialization", "zeros"], "invalid choice"),
        (["--report-to", "nobody"], "--report-to nobody is not installed"),
        (["--dev-split", "dev"], "no split `dev`"),
        (["--max-words", "1"], "none of the 60 sentence pairs"),
    ],
)
def test_bad_settings_are_one_line_and_leave_nothing_behind(tiny_bitext, tmp_path, capsys, words, problem):
    assert train(tiny_bitext, tmp_path / "model", *words) == 2
    err = capsys.readouterr().err
    assert problem in err and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_bitext_without_a_validation_split_is_one_line(tiny_bitext, tmp_path, capsys):
    shutil.copytree(tiny_bitext, tmp_path / "bitext")
    for path in (tmp_path / "bitext" / "data").glob("validation-*"):
        path.unlink()
    assert train(tmp_path / "bitext", tmp_path / "model") == 2
    assert "no split `validation`" in capsys.readouterr().err and not (tmp_path / "model").exists()


def test_an_existing_output_is_refused_and_left_alone(trained, tiny_bitext, capsys):
    before = weights(trained)
    assert train(tiny_bitext, trained) == 2
    assert "exists and is not empty" in capsys.readouterr().err and weights(trained) == before


def test_the_defaults_are_documented_settings():
    arguments = TranslationTrainingSettings(bitext=["b"], output="o")
    assert (arguments.batch_size, arguments.vocab_size, arguments.initialization) == (80, 8_000, "xavier")
