from __future__ import annotations

import hashlib
import platform

import pytest

from hf_paraphrase.artefacts.provenance import (
    add_evaluation,
    fingerprint,
    read_provenance,
    versions,
    without_places,
    write_provenance,
)
from hf_paraphrase.errors import InputError


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
    with pytest.raises(InputError, match="no such file"):
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


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('["no", "mapping"]', "not a JSON object"),
        ("3", "not a JSON object"),
        ('{"results": ["no", "mapping"]}', "`results` is not an object"),
        ('{"settings": "text"}', "`settings` is not an object"),
        ('{"evaluations": []}', "`evaluations` is not an object"),
        ('{"inputs": {}}', "`inputs` is not a list"),
        ("[" * 100_000, "provenance.json is damaged"),
        ('{"results": ', "provenance.json is damaged"),
        (b"\xff\xfe", "provenance.json is damaged"),
    ],
)
def test_a_record_that_is_none_is_an_input_error_that_names_the_file(tmp_path, content, reason):
    path = tmp_path / "provenance.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        read_provenance(tmp_path)
    assert reason in str(caught.value) and caught.value.path == str(path)


def test_an_evaluation_is_added_to_the_record_and_an_earlier_one_of_its_name_replaced(folder):
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
    write_provenance(bitext, command="prepare bitext", settings={"url": url}, inputs=[raw])
    assert write_provenance(pairs, command="filter", settings={}, inputs=[bitext])["inputs"] == [
        {
            "name": "bitext",
            "sha256": fingerprint(bitext),
            "license": ["cc-by-2.0"],
            "language": ["fr", "en"],
            "made_by": "hf-paraphrase prepare bitext",
            "url": url,
        }
    ]
    record = write_provenance(tmp_path / "model", command="train-encoder", settings={}, inputs=[pairs])
    assert record["inputs"] == [
        {"name": "pairs", "sha256": fingerprint(pairs), "made_by": "hf-paraphrase filter"},
    ]


@pytest.mark.parametrize("setting", ["decontaminate", "expansion_decontaminate"])
def test_evaluation_data_that_was_kept_out_is_marked_and_nothing_else_is(tmp_path, setting):
    read, kept_out = tmp_path / "text.txt", tmp_path / "sts.txt"
    read.write_text("read")
    kept_out.write_text("kept out")
    settings = {setting: [str(kept_out)], "seed": 0}
    record = write_provenance(tmp_path, command="x", settings=settings, inputs=[read, kept_out])
    assert [(item["name"], item.get("kept_out")) for item in record["inputs"]] == [
        ("text.txt", None),
        ("sts.txt", True),
    ]
    assert read_provenance(tmp_path) == record


def test_what_is_published_names_no_store_of_ones_own_and_keeps_public_addresses():
    given = ["s3://bucket/team/pairs", "a=gs://bucket/pairs", "simplecache::s3://bucket/pairs", "hf://datasets/a/b"]
    assert without_places(given) == ["pairs", "a=pairs", "pairs", "hf://datasets/a/b"]
    assert without_places(["https://example.org/a/b", "pairs/train"]) == ["https://example.org/a/b", "pairs/train"]
