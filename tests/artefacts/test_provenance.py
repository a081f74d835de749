from __future__ import annotations

import hashlib
import json

import pytest

from hf_paraphrase.artefacts.provenance import (
    described,
    fingerprint,
    hub_datasets,
    is_url,
    origin_of,
    read_provenance,
    versions,
    with_short_paths,
    write_provenance,
)
from hf_paraphrase.errors import InputError

URL = "https://huggingface.co/datasets/org/name"
CARD = """---
language: 'no'
license: cc-by-2.0
source_datasets:
- original
- org/name
model-index:
- name: x
---
"""


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "model"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "a.bin").write_bytes(b"\x00" * 300)
    (folder / "config.json").write_text("{}")
    return folder


def hashed(*inputs):
    return {str(item): fingerprint(item) for item in inputs}


def test_the_fingerprint_is_that_of_the_contents_and_names(folder, tmp_path):
    path = folder / "data" / "a.bin"
    assert fingerprint(path) == hashlib.sha256(path.read_bytes()).hexdigest()
    found = {fingerprint(folder)}
    (folder / "config.json").write_text("{ }")
    found.add(fingerprint(folder))
    (folder / "config.json").rename(folder / "config2.json")
    assert len({*found, fingerprint(folder)}) == 3
    with pytest.raises(InputError, match=r"nope: no such file or folder \(check the path\)"):
        fingerprint(tmp_path / "nope")


def test_the_fingerprint_ignores_cards_records_logs_hidden_files_links_and_the_path_of_the_folder(folder, tmp_path):
    before = fingerprint(folder)
    ignored = ("README.md", "provenance.json", "report.html", ".lock", ".cache/huggingface/download.metadata")
    for name in (*ignored, "logs/wandb/run.txt", "events.out.tfevents.17"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("today")
    snapshot = tmp_path / "snapshots" / "0123"
    for name in ("data/a.bin", "config.json"):
        (snapshot / name).parent.mkdir(parents=True, exist_ok=True)
        (snapshot / name).symlink_to(folder / name)
    assert fingerprint(snapshot) == fingerprint(folder) == before
    assert fingerprint(folder.rename(tmp_path / ".hidden")) == before


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"results": ["no", "mapping"]}', "`results` is not an object"),
        (b'{"inputs": {}}', "`inputs` is not a list"),
        (b'{"results": ', "provenance.json is damaged"),
    ],
)
def test_a_damaged_record_is_an_input_error_that_names_the_file(tmp_path, content, reason):
    assert read_provenance(tmp_path) == {}
    path = tmp_path / "provenance.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_provenance(tmp_path)
    assert reason in str(caught.value) and caught.value.path == str(path)


def test_inputs_are_recorded_one_level_deep_with_what_their_cards_and_records_say(tmp_path):
    raw, bitext, pairs = (tmp_path / name for name in ("raw.tsv", "bitext", "pairs"))
    raw.write_text("a\tb\n")
    for folder in (bitext, pairs):
        folder.mkdir()
    (bitext / "README.md").write_text(CARD)
    write_provenance(bitext, command="prepare bitext", settings={"url": URL}, inputs=hashed(raw))
    origin = {"license": ["cc-by-2.0"], "language": ["no"], "datasets": ["org/name"], "url": URL}
    origin["made_by"] = "hf-paraphrase prepare bitext"
    assert origin_of(bitext) == origin
    settings = {"seed": 7, "epochs": 2.5}
    record = write_provenance(pairs, command="filter", settings=settings, inputs=hashed(bitext), results={"rows": 3})
    assert read_provenance(pairs) == record and record["inputs"] == [
        {"name": "bitext", "sha256": fingerprint(bitext), **origin}
    ]
    assert (record["settings"], record["seed"], record["results"]) == (settings, 7, {"rows": 3})
    assert record["versions"] == versions() and {"torch", "transformers", "tokenizers"} <= set(versions())
    (item,) = write_provenance(tmp_path, command="train-encoder", settings={}, inputs=hashed(pairs))["inputs"]
    assert item == {"name": "pairs", "sha256": fingerprint(pairs), "made_by": "hf-paraphrase filter"}


def test_inputs_are_listed_with_what_is_known_of_them():
    inputs = [
        {"name": "pairs", "made_by": "x", "license": ["mit"], "datasets": ["squad", "org/name"]},
        {"name": "bitext", "url": URL, "language": ["fr", "en"]},
        {"name": "sts", "kept_out": True, "url": f"{URL}-sts"},
        {"name": "a`\n# Title\n<script>", "url": "javascript:alert(1)", "license": ["x\n---\n"]},
    ]
    *lines, hostile, kept_out = described(inputs)
    assert lines == [
        f"`pairs` (`x`; licence: mit; <https://huggingface.co/datasets/squad>; <{URL}>)",
        f"`bitext` (language: fr, en; <{URL}>)",
    ]
    assert kept_out == "decontaminated against `sts`" and hub_datasets(inputs) == ["squad", "org/name"]
    assert "\n" not in hostile and hostile.count("`") == 2 and "javascript" not in hostile and "<script" not in hostile
    assert is_url("https://example.org/a?b=c")
    assert not any(map(is_url, ("ftp://example.org", "https://example.org/a b", "https://example.org/)", None)))


def test_what_is_published_names_no_private_place_and_keeps_public_urls():
    short = {
        "s3://bucket/team/pairs": "pairs",
        "a=gs://bucket/pairs": "a=pairs",
        "~/sets/sts/": "sts",
        "C:\\Users\\alice\\glove.txt": "glove.txt",
        "../relative/set": "set",
        "file:///srv/alice/set": "set",
    }
    kept = ["hf://datasets/a/b", "https://example.org/a/b", "pairs/train", "overlap_1<=0.8", 7, None]
    assert with_short_paths({"a": [*short, *kept]}) == {"a": [*short.values(), *kept]}


def test_a_record_is_json_without_credentials_whatever_its_values_are(tmp_path):
    url, text = "https://me:password@host/a?token=s3cret", "x\x1b[31m\u202e\ud800"
    results = {"text": text, "nan": float("nan"), 7: {"set": {1}}, "path": tmp_path}
    write_provenance(tmp_path, command="x", settings={"url": url}, results=results)
    written = (tmp_path / "provenance.json").read_text(encoding="utf-8")
    assert not {"\x1b", "\u202e"} & {*written} and "password" not in written and "s3cret" not in written
    record = json.loads(written, parse_constant=pytest.fail)
    assert record["results"]["text"] == text and record["results"]["nan"] is None
    assert record["settings"]["url"].startswith("https://host/a")
