from __future__ import annotations

import hashlib
import platform

import pytest

from hf_paraphrase.artefacts.provenance import (
    add_evaluation,
    fingerprint,
    read_provenance,
    versions,
    with_short_paths,
    write_provenance,
)
from hf_paraphrase.errors import InputError


def hashed(*inputs):
    return {str(item): fingerprint(item) for item in inputs}


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


def test_a_missing_input_is_named_with_a_remedy(tmp_path):
    with pytest.raises(InputError, match=r"nope: no such file or folder \(check the path\)"):
        fingerprint(tmp_path / "nope")


def test_the_fingerprint_of_a_folder_changes_with_every_content_and_name(folder):
    found = {fingerprint(folder)}
    (folder / "config.json").write_text("{ }")
    found.add(fingerprint(folder))
    (folder / "config.json").rename(folder / "config2.json")
    found.add(fingerprint(folder))
    (folder / "empty").write_text("")
    found.add(fingerprint(folder))
    assert len(found) == 4


def test_the_fingerprint_ignores_cards_records_logs_hidden_files_and_the_path_of_the_folder(folder, tmp_path):
    before = fingerprint(folder)
    ignored = ("README.md", "provenance.json", "report.html", ".lock", ".cache/huggingface/download.metadata")
    for name in (*ignored, "logs/wandb/run.txt", "events.out.tfevents.17"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("today")
    assert fingerprint(folder) == before == fingerprint(folder.rename(tmp_path / ".hidden"))


def test_a_snapshot_of_the_hub_whose_files_are_links_has_the_fingerprint_of_its_files(folder, tmp_path):
    for name in ("data/a.bin", "config.json"):
        link = tmp_path / "snapshots" / "0123" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(folder / name)
    assert fingerprint(tmp_path / "snapshots" / "0123") == fingerprint(folder)


def test_a_missing_input_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        fingerprint(tmp_path / "absent")


def test_the_record_has_command_settings_seed_versions_inputs_and_results(folder, tmp_path):
    settings = {"seed": 7, "epochs": 2.5, "output": "model"}
    results = {"bleu": 12.5, "path": folder}
    record = write_provenance(tmp_path, command="train-nmt", settings=settings, inputs=hashed(folder), results=results)
    assert read_provenance(tmp_path) == {**record, "results": {"bleu": 12.5, "path": str(folder)}}
    assert record["command"] == "hf-paraphrase train-nmt"
    assert record["settings"] == settings and record["seed"] == 7
    assert record["inputs"] == [{"name": "model", "sha256": fingerprint(folder)}]
    assert record["versions"] == versions() and versions()["python"] == platform.python_version()
    assert {"torch", "transformers", "tokenizers"} <= set(versions())


def test_an_artefact_without_a_record_has_an_empty_one(tmp_path):
    assert read_provenance(tmp_path) == {}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'["no", "mapping"]', "not a JSON object"),
        (b'{"results": ["no", "mapping"]}', "`results` is not an object"),
        (b'{"settings": "text"}', "`settings` is not an object"),
        (b'{"evaluations": []}', "`evaluations` is not an object"),
        (b'{"inputs": {}}', "`inputs` is not a list"),
        (b'{"results": ', "provenance.json is damaged"),
    ],
)
def test_a_damaged_record_is_an_input_error_that_names_the_file(tmp_path, content, reason):
    path = tmp_path / "provenance.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_provenance(tmp_path)
    assert reason in str(caught.value) and caught.value.path == str(path)


def test_an_evaluation_is_added_to_the_record_and_replaces_an_earlier_one_of_its_name(folder):
    before = write_provenance(folder, command="train-nmt", settings={"seed": 7}, results={"bleu": 12.5})
    digest = fingerprint(folder)
    add_evaluation(folder, "evaluate sts", {"kind": "evaluate", "sets": [1]})
    add_evaluation(folder, "evaluate-nmt x", {"kind": "evaluate-nmt"})
    add_evaluation(folder, "evaluate sts", {"kind": "evaluate", "sets": [2]})
    assert read_provenance(folder) == {
        **before,
        "evaluations": {"evaluate sts": {"kind": "evaluate", "sets": [2]}, "evaluate-nmt x": {"kind": "evaluate-nmt"}},
    }
    assert fingerprint(folder) == digest


def test_inputs_are_recorded_one_level_deep_with_what_their_cards_and_records_say(tmp_path):
    raw = tmp_path / "raw.tsv"
    raw.write_text("a\tb\n")
    for name in ("bitext", "pairs", "model"):
        (tmp_path / name).mkdir()
    bitext, pairs = tmp_path / "bitext", tmp_path / "pairs"
    (bitext / "README.md").write_text("---\nlanguage: [fr, en]\nlicense: cc-by-2.0\n---\n# Bitext\n")
    url = "https://huggingface.co/datasets/org/name"
    write_provenance(bitext, command="prepare bitext", settings={"url": url}, inputs=hashed(raw))
    assert write_provenance(pairs, command="filter", settings={}, inputs=hashed(bitext))["inputs"] == [
        {
            "name": "bitext",
            "sha256": fingerprint(bitext),
            "license": ["cc-by-2.0"],
            "language": ["fr", "en"],
            "made_by": "hf-paraphrase prepare bitext",
            "url": url,
        }
    ]
    record = write_provenance(tmp_path / "model", command="train-encoder", settings={}, inputs=hashed(pairs))
    assert record["inputs"] == [
        {"name": "pairs", "sha256": fingerprint(pairs), "made_by": "hf-paraphrase filter"},
    ]


@pytest.mark.parametrize("setting", ["decontaminate", "expansion_decontaminate"])
def test_evaluation_data_that_was_kept_out_is_marked_and_nothing_else_is(tmp_path, setting):
    read, kept_out = tmp_path / "text.txt", tmp_path / "sts.txt"
    read.write_text("read")
    kept_out.write_text("kept out")
    settings = {setting: [str(kept_out)], "seed": 0}
    record = write_provenance(tmp_path, command="x", settings=settings, inputs=hashed(read, kept_out))
    assert [(item["name"], item.get("kept_out")) for item in record["inputs"]] == [
        ("text.txt", None),
        ("sts.txt", True),
    ]


def test_what_is_published_names_no_private_store_and_keeps_public_urls():
    given = ["s3://bucket/team/pairs", "a=gs://bucket/pairs", "simplecache::s3://bucket/pairs", "hf://datasets/a/b"]
    assert with_short_paths(given) == ["pairs", "a=pairs", "pairs", "hf://datasets/a/b"]
    assert with_short_paths(["https://example.org/a/b", "pairs/train"]) == ["https://example.org/a/b", "pairs/train"]
