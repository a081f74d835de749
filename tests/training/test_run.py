from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest
from small_runs import record
from tiny_training import Killed
from toy_run import train_toy

from hf_paraphrase.artefacts.artefact import incomplete_runs
from hf_paraphrase.artefacts.provenance import fingerprint
from hf_paraphrase.errors import OutputError

WHOLE = {"README.md", "model.safetensors", "provenance.json", "report.html"}


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("1 2 3 4 5 6 7 8")
    return str(path)


def test_a_run_leaves_a_whole_folder_with_its_record_and_nothing_else(data, tmp_path):
    found = train_toy(data=data, output=str(tmp_path / "made" / "toy"), seed=3)
    assert found["weight"].shape == (1, 1)
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["toy"]
    assert {path.name for path in (tmp_path / "made" / "toy").iterdir()} == WHOLE
    made = record(tmp_path / "made" / "toy")
    assert made["command"] == "hf-paraphrase train-toy" and made["seed"] == 3
    assert made["inputs"][0]["name"] == "data.txt" and made["results"]["steps"] == 8
    # The loss is logged every 3 steps, and wherever a checkpoint is written, every 2.
    assert [entry["step"] for entry in made["results"]["log"]] == [2, 3, 4, 6, 8]
    report = (tmp_path / "made" / "toy" / "report.html").read_text()
    assert "Loss in training" in report and report.count("<circle") == 5
    assert str(tmp_path) not in report


def test_a_run_that_is_killed_when_all_is_trained_trains_no_step_again(data, tmp_path, monkeypatch):
    with monkeypatch.context() as deadly, pytest.raises(Killed):
        deadly.setattr("hf_paraphrase.artefacts.artefact._replace_folder", Mock(side_effect=Killed))
        train_toy(data=data, output=str(tmp_path / "toy"))
    assert not (tmp_path / "toy").exists() and len(incomplete_runs(tmp_path / "toy")) == 1
    with monkeypatch.context() as several, pytest.raises(OutputError, match="other settings: processes"):
        several.setattr("hf_paraphrase.training.run.process_count", lambda: 2)
        train_toy(data=data, output=str(tmp_path / "toy"), resume=True)
    monkeypatch.setattr("toy_run.Trainer.training_step", lambda *words, **more: pytest.fail("trained again"))
    train_toy(data=data, output=str(tmp_path / "toy"), resume=True)
    assert {path.name for path in (tmp_path / "toy").iterdir()} == WHOLE


def test_a_finished_run_that_is_resumed_says_so_and_changes_nothing(data, tmp_path, monkeypatch, capsys):
    output = tmp_path / "toy"
    train_toy(data=data, output=str(output), steps=2)
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in output.iterdir()}
    monkeypatch.setattr("toy_run.Trainer.train", lambda *words, **more: pytest.fail("trained again"))
    assert train_toy(data=data, output=str(output), steps=2, resume=True)["weight"].shape == (1, 1)
    Path(data).write_text("1 2")
    with pytest.raises(OutputError, match="made with other settings or inputs"):
        train_toy(data=data, output=str(output), steps=2, resume=True)
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in output.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir() if path.name != Path(data).name] == ["toy"]


def test_what_tensorboard_writes_lies_in_the_output_and_in_no_fingerprint(data, tmp_path):
    pytest.importorskip("tensorboard")
    silent, logged = tmp_path / "silent", tmp_path / "logged"
    train_toy(data=data, output=str(silent))
    train_toy(data=data, output=str(logged), report_to="tensorboard")
    assert {path.name for path in logged.iterdir()} == {*WHOLE, "logs"}
    assert [path.name.split(".")[2] for path in (logged / "logs").iterdir()] == ["tfevents"]
    assert fingerprint(logged) == fingerprint(silent)
