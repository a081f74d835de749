from __future__ import annotations

import hashlib
import json
import platform

import pytest

from hf_paraphrase.errors import InputError
from hf_paraphrase.hub.provenance import fingerprint, read_provenance, versions, write_provenance


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "model"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "a.bin").write_bytes(b"\x00" * 3_000_000)
    (folder / "config.json").write_text("{}")
    return folder


def test_the_fingerprint_of_a_file_is_its_sha256(folder):
    path = folder / "data" / "a.bin"
    assert fingerprint(path) == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_fingerprint_of_a_folder_changes_with_every_content_and_name(folder):
    found = {fingerprint(folder)}
    (folder / "config.json").write_text("{ }")
    found.add(fingerprint(folder))
    (folder / "config.json").rename(folder / "config2.json")
    found.add(fingerprint(folder))
    (folder / "empty").write_text("")
    found.add(fingerprint(folder))
    assert len(found) == 4


def test_cards_provenance_and_hidden_files_leave_the_fingerprint_as_it_is(folder):
    before = fingerprint(folder)
    (folder / "README.md").write_text("today")
    (folder / "provenance.json").write_text("{}")
    (folder / ".lock").write_text("x")
    (folder / ".cache" / "huggingface").mkdir(parents=True)
    (folder / ".cache" / "huggingface" / "download.metadata").write_text("x")
    assert fingerprint(folder) == before


def test_the_fingerprint_does_not_depend_on_where_the_folder_lies(folder, tmp_path):
    before = fingerprint(folder)
    assert fingerprint(folder.rename(tmp_path / ".hidden")) == before


def test_a_missing_input_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        fingerprint(tmp_path / "absent")


def test_the_record_holds_command_settings_seed_versions_inputs_and_results(folder, tmp_path):
    settings = {"seed": 7, "epochs": 2.5, "output": "model"}
    record = write_provenance(
        tmp_path, command="train-nmt", settings=settings, inputs=[folder], results={"bleu": 12.5, "path": folder}
    )
    assert read_provenance(tmp_path) == {**record, "results": {"bleu": 12.5, "path": str(folder)}}
    assert record["command"] == "hf-paraphrase train-nmt"
    assert record["settings"] == settings and record["seed"] == 7
    assert record["inputs"] == [{"name": "model", "sha256": fingerprint(folder)}]
    assert record["versions"]["python"] == platform.python_version()
    assert {"torch", "transformers", "tokenizers"} <= set(record["versions"])
    assert "wheel-that-is-not-there" not in versions()


def test_an_artefact_without_a_record_has_an_empty_one(tmp_path):
    assert read_provenance(tmp_path) == {}
    (tmp_path / "provenance.json").write_text(json.dumps(["no", "mapping"]))
    assert read_provenance(tmp_path) == {}
