from __future__ import annotations

import json

import pytest
from hub_stand_in import TOKEN

from hf_paraphrase.hub.published_record import published_record
from hf_paraphrase.hub.publishing import push_folder

RECORD = {
    "command": "hf-paraphrase train-encoder",
    "settings": {
        "pairs": "/srv/alice/client_x/pairs",
        "dev_data": "~/sets/sts/",
        "initial_vectors": "C:\\Users\\alice\\glove.txt",
        "decontaminate": ["/srv/data/sts", "sick", "../relative/set"],
        "tokenizers": ["word=/srv/alice/tokenizers/word"],
        "keep": "overlap_1<=0.8",
        "seed": 0,
        "nested": {"output": "/srv/alice/out"},
    },
    "inputs": [{"name": "pairs", "sha256": "00"}],
    "results": {"text": "/not a path of the settings"},
    "evaluations": {"sts": {"settings": {"data": "/srv/alice/sts"}, "scores": [1.0]}},
}


def test_settings_keep_the_names_of_files_and_lose_where_they_lie():
    published = json.loads(published_record(json.dumps(RECORD)))
    assert published["settings"] == {
        "pairs": "pairs",
        "dev_data": "sts",
        "initial_vectors": "glove.txt",
        "decontaminate": ["sts", "sick", "set"],
        "tokenizers": ["word=word"],
        "keep": "overlap_1<=0.8",
        "seed": 0,
        "nested": {"output": "out"},
    }
    assert published["evaluations"] == {"sts": {"settings": {"data": "sts"}, "scores": [1.0]}}
    assert {key: published[key] for key in ("command", "inputs", "results")} == {
        key: RECORD[key] for key in ("command", "inputs", "results")
    }
    assert "alice" not in published_record(json.dumps(RECORD))


@pytest.mark.parametrize("text", ["", "{", "[1]", '"x"', '{"settings": {"pairs": "pairs"}}', '{"settings": null}'])
def test_a_text_without_absolute_paths_stays_byte_by_byte(text):
    assert published_record(text) == text


def test_halves_of_characters_stay_escaped():
    published = published_record('{"settings": {"pairs": "/srv/ann/\\ud800", "name": "\\udcff"}}')
    assert json.loads(published.encode()) == {"settings": {"pairs": "\ud800", "name": "\udcff"}}


@pytest.mark.parametrize("depth", [600, 100_000])
def test_a_record_nested_without_end_stops_no_push(depth):
    text = '{"settings": ' + "[" * depth + "]" * depth + "}"
    assert published_record(text) == text


@pytest.mark.parametrize(
    ("path", "published"),
    [
        ("../set", "set"),
        ("../../alice/client_x/set/", "set"),
        ("./../alice/set", "set"),
        ("..\\alice\\set", "set"),
        ("word=../alice/set", "word=set"),
        ("file:///srv/alice/set", "set"),
        ("FILE://server/alice/set/", "set"),
        ("name=file:/srv/alice/set", "name=set"),
        ("~alice/set", "set"),
        ("/srv/alice/a set.txt", "a set.txt"),
        ("../", ".."),
        ("/", ""),
    ],
)
def test_every_way_to_name_a_place_outside_of_the_working_folder_is_shortened(path, published):
    record = {"settings": {"data": path}}
    assert json.loads(published_record(json.dumps(record))) == {"settings": {"data": published}}


@pytest.mark.parametrize(
    "value",
    [
        "sets/sts",
        "./sets/sts",
        "..",
        "...",
        "ann/avg",
        "https://example.org/a/b",
        "hf://ann/sts",
        "a ~ b/c",
        "../a\nb",
    ],
)
def test_names_within_the_working_folder_and_of_the_hub_stay(value):
    text = json.dumps({"settings": {"data": value}})
    assert published_record(text) == text


def test_the_record_of_the_model_that_was_exported_is_shortened_as_well(hub, model_folder):
    path = model_folder / "source_provenance.json"
    path.write_text(json.dumps(RECORD))
    before = path.read_bytes()
    push_folder(model_folder, "ann/thing", token=TOKEN)
    assert path.read_bytes() == before
    assert hub.files("ann/thing")["source_provenance.json"].decode() == published_record(before.decode())
    assert b"alice" not in hub.files("ann/thing")["source_provenance.json"]
    assert push_folder(model_folder, "ann/thing", token=TOKEN).changes.send == ()


def test_the_record_on_the_hub_has_no_paths_of_this_machine_and_the_one_here_stays(hub, model_folder):
    path = model_folder / "provenance.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "settings": {"pairs": "/srv/alice/pairs"}}))
    before = path.read_bytes()
    push_folder(model_folder, "ann/thing", token=TOKEN)
    assert path.read_bytes() == before
    sent = json.loads(hub.files("ann/thing")["provenance.json"])
    assert sent["settings"] == {"pairs": "pairs"}
