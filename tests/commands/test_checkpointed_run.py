from __future__ import annotations

import itertools
import os

import pytest

from hf_paraphrase.artefacts.folders import check_same_job, staging_path
from hf_paraphrase.artefacts.provenance import write_provenance
from hf_paraphrase.errors import OutputError
from hf_paraphrase.training.checkpointed_run import checkpointed_output, end_at_once, job_of

RECORDS = ["job.json", "checkpoints/settings.json"]
JOB = {"seed": 1}
SETTINGS = {"seed": 1, "license": None, "keep_decoder": False, "overwrite": False, "resume": True}
WHOLE = {"README.md", "model.safetensors", "provenance.json"}


def train_and_write(folder, record):
    """Leaves what a training run has written when it comes to its end, the card last."""
    checkpoint = folder / "checkpoints" / "checkpoint-8"
    checkpoint.mkdir(parents=True)
    for name in ("model.safetensors", "trainer_state.json"):
        (checkpoint / name).write_text(name)
    check_same_job(folder / record, JOB)
    (folder / "model.safetensors").write_text("weights")
    write_provenance(folder, command="train", settings=SETTINGS, inputs=[], results={})
    (folder / "README.md").write_text("card")


def run(output, record):
    with checkpointed_output(output, overwrite=False, resume=False, record=record) as staging:
        train_and_write(staging, record)


def kill_at(monkeypatch, moment):
    """Ends the run at its `moment`-th change of the file system once the card is written; tells whether it did."""
    done = {"changes": 0, "killed": False}

    def watched(change):
        def call(path, *arguments, **settings):
            if not str(path).endswith(".json.partial"):
                done["changes"] += 1
                if done["changes"] == moment:
                    done["killed"] = True
                    raise KeyboardInterrupt
            return change(path, *arguments, **settings)

        return call

    for name in ("unlink", "rmdir", "rename"):
        monkeypatch.setattr(os, name, watched(getattr(os, name)))
    return done


@pytest.mark.parametrize("record", RECORDS)
def test_wherever_a_run_is_killed_at_its_end_nothing_is_trained_again(tmp_path, record):
    resumed = 0
    for moment in itertools.count(1):
        output = tmp_path / str(moment)
        with pytest.MonkeyPatch.context() as monkeypatch:
            killed = kill_at(monkeypatch, moment)
            try:
                run(output, record)
            except KeyboardInterrupt:
                assert killed["killed"]
        if not killed["killed"]:
            break
        if not output.exists():
            assert end_at_once(output, SETTINGS, lambda: JOB, record=record)
            assert {path.name for path in output.iterdir()} == WHOLE
            resumed += 1
        assert (output / "model.safetensors").read_text() == "weights" and not staging_path(output).exists()
    assert resumed >= 3, "hardly any of the moments was before the output was in its place"
    assert {path.name for path in output.iterdir()} == WHOLE


@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize(
    ("job", "settings", "message"),
    [({"seed": 2}, {}, "other settings: seed"), (JOB, {"license": "mit"}, "other settings: license")],
)
def test_what_was_written_with_other_settings_is_neither_taken_nor_lost(tmp_path, record, job, settings, message):
    output = tmp_path / "model"
    train_and_write(staging_path(output), record)
    with pytest.raises(OutputError, match=message):
        end_at_once(output, {**SETTINGS, **settings}, lambda: job, record=record)
    assert not output.exists() and (staging_path(output) / "checkpoints" / "checkpoint-8").is_dir()
    assert end_at_once(output, SETTINGS, lambda: JOB, record=record)


def test_a_setting_of_what_is_written_must_be_the_same(tmp_path):
    output = tmp_path / "model"
    train_and_write(staging_path(output), "job.json")
    with pytest.raises(OutputError, match="other settings: keep_decoder"):
        end_at_once(output, {**SETTINGS, "keep_decoder": True}, lambda: JOB, unchecked=["keep_decoder"])


def test_a_run_goes_on_where_it_is_not_resumed_or_not_all_is_written(tmp_path):
    output = tmp_path / "model"
    assert not end_at_once(output, SETTINGS, lambda: JOB)
    train_and_write(staging_path(output), "job.json")
    assert not end_at_once(output, {**SETTINGS, "resume": False}, lambda: JOB)
    (staging_path(output) / "README.md").unlink()
    assert not end_at_once(output, SETTINGS, lambda: JOB)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"WORLD_SIZE": "2"}, None),
        ({"RANK": "0", "WORLD_SIZE": "2"}, 2),
        ({"RANK": "0", "WORLD_SIZE": "1"}, None),
    ],
)
def test_a_run_by_several_processes_is_another_run_than_by_one(monkeypatch, environment, expected):
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert job_of({"seed": 0, "resume": True}, []).get("processes") == expected
