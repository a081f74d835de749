from __future__ import annotations

import json

import pytest
from hub_stand_in import TOKEN

from hf_paraphrase.hub.published_record import published_record
from hf_paraphrase.hub.publishing import push

RECORD = {
    "command": "hf-paraphrase train-encoder",
    "settings": {
        "pairs": "/home/alice/client_x/pairs",
        "dev_data": "~/sets/sts/",
        "initial_vectors": "C:\\Users\\alice\\glove.txt",
        "decontaminate": ["/srv/data/sts", "sick", "../relative/set"],
        "tokenizers": ["word=/home/alice/tokenizers/word"],
        "keep": "overlap_1<=0.8",
        "seed": 0,
        "nested": {"output": "/home/alice/out"},
    },
    "inputs": [{"name": "pairs", "sha256": "00"}],
    "results": {"text": "/not a path of the settings"},
    "evaluations": {"sts": {"settings": {"data": "/home/alice/sts"}, "scores": [1.0]}},
}


def test_settings_keep_the_names_of_files_and_lose_where_they_lie():
    published = json.loads(published_record(json.dumps(RECORD)))
    assert published["settings"] == {
        "pairs": "pairs",
        "dev_data": "sts",
        "initial_vectors": "glove.txt",
        "decontaminate": ["sts", "sick", "../relative/set"],
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


def test_the_record_on_the_hub_has_no_paths_of_this_machine_and_the_one_here_stays(hub, model_folder):
    path = model_folder / "provenance.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "settings": {"pairs": "/home/alice/pairs"}}))
    before = path.read_bytes()
    push(model_folder, "ann/thing", token=TOKEN)
    assert path.read_bytes() == before
    sent = json.loads(hub.files("ann/thing")["provenance.json"])
    assert sent["settings"] == {"pairs": "pairs"}
