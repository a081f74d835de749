"""Data sets by their names on the Hub: the rows of `load_dataset`, stored once, from any command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hub_server import TOKEN, HubServer
from test_layouts import LAYOUTS, build

from hf_paraphrase.artefacts.provenance import read_provenance
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.inputs import HubDataset, dataset_of

PROGRAM = Path(__file__).with_name("hub_program.py")
TRAIN, VALIDATION = (f"data/{split}-00000-of-00001.parquet" for split in ("train", "validation"))
PAIRS = [{"sentence1": f"the dog {row} barks", "sentence2": f"a hound {row} barked"} for row in range(40)]
CLASSES = """---
dataset_info:
  features:
  - {name: text, dtype: string}
  - {name: label, dtype: {class_label: {names: {'0': bad, '1': good}}}}
---
"""
READING = ("filter --pairs", "prepare pairs --dataset")
TWO = f"---\nconfigs: [{{config_name: a, data_files: {TRAIN}}}, {{config_name: b}}]\n---\n"
CHOSEN = {
    "shards": LAYOUTS["shards"],
    "configs": LAYOUTS["a card"],
    "card-csv": LAYOUTS["a card of tab-separated text"],
    "skipped-rows-csv": LAYOUTS["a card: data_files: r.csv, skiprows: 1"],
    "zipped-csv": LAYOUTS["zipped"],
    "json-lines": LAYOUTS["compressed json lines"],
    "text": LAYOUTS["text"],
    "arrow": LAYOUTS["arrow"],
    "folders": LAYOUTS["folders of three"],
    "classes": [("train.jsonl", '{"text": "a", "label": 1}\n{"text": "b", "label": 0}\n'), ("README.md", CLASSES)],
}


@pytest.fixture
def hub(tmp_path):
    """A Hub with the data set `org/pairs`."""
    add(tmp_path / "hub", "org/pairs")
    with HubServer(tmp_path / "hub") as server:
        yield server


def add(root, name, card="---\nlicense: cc-by-4.0\nlanguage: en\n---\n", files=(TRAIN, VALIDATION)):
    """Adds a data set, in which each file has its own rows."""
    (root / name).mkdir(parents=True)
    (root / name / "README.md").write_text(card)
    (root / name / ".gitattributes").write_text("")
    for file in files:
        (root / name / file).parent.mkdir(exist_ok=True)
        rows = [{**row, "file": f"{file} {number} {os.urandom(16).hex()}"} for number, row in enumerate(PAIRS)]
        pq.write_table(pa.Table.from_pylist(rows), root / name / file)


def run(hub, tmp_path, *words, **environment):
    """Runs a program of `hub_program` with an own cache, and returns what it printed."""
    path = os.pathsep.join([str(PROGRAM.parents[2]), str(PROGRAM.parent)])
    environment = {**os.environ, "PYTHONPATH": path, **hub.environment(tmp_path / "home", **environment)}
    ended = subprocess.run(
        [sys.executable, PROGRAM, *words], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, check=True
    )
    return json.loads(ended.stdout)


def commands(hub, tmp_path, *lines, **environment):
    return run(hub, tmp_path, "commands", json.dumps([line.split() for line in lines]), **environment)


def test_splits_values_and_classes_are_those_of_load_dataset(hub, tmp_path):
    for name, files in CHOSEN.items():
        build(hub.folder / "org" / name, [(".gitattributes", ""), *files])
    # The viewer states the types that it inferred, which `load_dataset` takes over for a CSV file.
    hub.features["org/skipped-rows-csv"] = {"a": {"dtype": "int64", "_type": "Value"}}
    names = [f"org/{name}" for name in CHOSEN if name != "configs"] + ["org/configs:small", "org/configs:large"]
    found = run(hub, tmp_path, "layouts", *names)
    assert {name: facts for name, facts in found.items() if isinstance(facts, str)} == {}
    assert found["org/folders"] == {"train": 3, "validation": 3, "test": 3}
    assert found["org/configs:small"] == {"train": 3, "held_out": 6}


def test_each_file_is_fetched_and_stored_once_and_then_serves_without_a_network(hub, tmp_path):
    build(hub.folder / "org" / "skipped", [(".gitattributes", ""), *LAYOUTS["a card: data_files: r.csv, skiprows: 1"]])
    lines = [
        "filter --pairs org/pairs --split validation --output filtered --overwrite",
        "prepare pairs --dataset org/pairs --split validation --output prepared --overwrite",
        "prepare pairs --dataset org/skipped --columns sentence1=a,sentence2=b --output skipped --overwrite",
    ]
    ended = commands(hub, tmp_path, *lines)
    assert [code for code, _ in ended] == [0, 0, 0], ended
    size = (hub.folder / "org/pairs" / VALIDATION).stat().st_size
    assert hub.sent[VALIDATION] == size and hub.sent["r.csv"] == len("junk\na,b\n1,2\n") and TRAIN not in hub.sent
    assert not list((tmp_path / "home").rglob("*.arrow"))
    stored = [path for path in (tmp_path / "home").rglob("*") if path.is_file() and not path.is_symlink()]
    assert sum(path.stat().st_size == size for path in stored) == 1
    rows = DataFolder(tmp_path / "filtered").table("validation")
    hub.forget()
    assert [code for code, _ in commands(hub, tmp_path, *lines)] == [0, 0, 0]
    assert not sum(hub.sent.values())
    hub.forget()
    *ended, (code, message) = commands(
        hub, tmp_path, *lines, "filter --pairs org/new --output new", HF_HUB_OFFLINE="1"
    )
    assert [code for code, _ in ended] == [0, 0, 0] and not hub.requests
    assert DataFolder(tmp_path / "filtered").table("validation") == rows
    assert code == 2 and message.count("\n") == 1 and "org/new: no such file or data folder" in message
    assert "offline mode is enabled" in message


def test_the_record_and_the_card_name_the_data_set_and_the_commit(hub, tmp_path):
    add(hub.folder, "org/pairs@v2")
    lines = [
        "prepare pairs --dataset org/pairs@v2 --output prepare",
        "filter --pairs org/pairs@v2 --output filter",
        "deduplicate --force --input org/pairs@v2 --output deduplicate",
        "encode --input org/pairs@v2 --columns sentence1 --output encode",
    ]
    assert [code for code, _ in commands(hub, tmp_path, *lines)] == [0] * len(lines)
    commit = hub.revision("org/pairs", "v2")[1]
    for line in lines:
        output = tmp_path / line.split()[0]
        (read,) = (read for read in read_provenance(output)["inputs"] if read["name"] == "org/pairs@v2")
        assert (read["datasets"], read["revision"]) == (["org/pairs"], commit)
        card = (output / "README.md").read_text()
        assert "org/pairs" in card and commit in card and "hf_paraphrase_" not in card
        assert "cc-by-4.0" in card.partition("\n# ")[0]


def test_a_data_set_keeps_its_sentences_out_of_another_one(hub, tmp_path):
    rows = [PAIRS[3], {"sentence1": "one more sentence here", "sentence2": PAIRS[7]["sentence1"]}]
    build(hub.folder / "org" / "judged", [(".gitattributes", ""), ("test.jsonl", "\n".join(map(json.dumps, rows)))])
    lines = ["filter --pairs org/pairs --output made", "fingerprint --output list.txt"]
    ended = commands(hub, tmp_path, f"{lines[0]} --decontaminate org/judged", f"{lines[1]} --data org/judged")
    assert [code for code, _ in ended] == [0, 0] and "sentence is in org/judged: 2" in ended[0][1]
    assert DataFolder(tmp_path / "made").count() == len(PAIRS) - 2
    assert len((tmp_path / "list.txt").read_text().splitlines()) == 1 + 4


def test_an_encoder_is_trained_on_a_data_set_and_a_local_folder_of_its_name_comes_first(hub, tmp_path):
    rows = [{"anchor": f"dog {row}", "positive": f"hound {row}", "score": float(row % 3)} for row in range(12)]
    build(hub.folder / "org" / "graded", [(".gitattributes", ""), ("train.jsonl", "\n".join(map(json.dumps, rows)))])
    line = "train-encoder --pairs org/graded --dev-data org/graded --epochs 1 --output model"
    ((code, message),) = commands(hub, tmp_path, line)
    assert code == 0, message
    record = read_provenance(tmp_path / "model")
    assert [(read["name"], read["datasets"]) for read in record["inputs"]] == [("org/graded", ["org/graded"])]
    assert record["results"]["pairs"] == 12 and len(record["results"]["dev_scores"]) == 2
    assert "datasets:\n- org/graded\n" in (tmp_path / "model/README.md").read_text()
    (tmp_path / "org").mkdir()
    build(tmp_path / "org" / "graded", [("train.jsonl", "\n".join(map(json.dumps, rows[:5])))])
    assert commands(hub, tmp_path, "filter --pairs org/graded --output filtered")[0][0] == 0
    assert DataFolder(tmp_path / "filtered").count() == 5


def test_what_cannot_be_read_is_one_line_that_names_what_exists(hub, tmp_path):
    for name in ("gated", "closed", "unknown"):
        add(hub.folder, f"org/{name}")
    add(hub.folder, "org/pairs@v2")
    add(hub.folder, "org/empty", files=())
    add(hub.folder, "org/bad", card="---\nconfigs:\n- config_name: one\n  data_files: nothing/*\n---\n")
    add(
        hub.folder,
        "org/two",
        card=f"---\nconfigs: [{{config_name: a, data_files: {TRAIN}}}, {{config_name: b}}]\n---\n",
    )
    hub.gated, hub.refused = {"org/gated"}, {"org/closed": 403, "org/unknown": 401}
    wrong = {
        "org/nothing": "the Hub has no such dataset",
        "org/closed": "access to this dataset is restricted",
        "org/unknown": "access to this dataset is restricted",
        "org/pairs@v9": "no revision `v9` (its branches and tags are main, v2)",
        "hf://datasets/org/pairs@v9": "no revision `v9` (its branches and tags are main, v2)",
        "org/two": "it has ['a', 'b'] (name one: org/two/CONFIG",
        "org/two/c": "'c' not found. Available: ['a', 'b']",
        "org/pairs --split test": "no split `test` (the splits are train, validation)",
        "org/empty": "doesn't contain any data files",
        "org/bad": "No (supported) data files found in org/bad",
    }
    cases = [(f"{verb} {given}", text) for given, text in wrong.items() for verb in READING]
    lines = [f"{line} --output made" for line, _ in cases]
    (first, *ended) = commands(hub, tmp_path, "filter --pairs org/gated --output gated", *lines, HF_TOKEN=TOKEN)
    assert first[0] == 0 and TOKEN not in str(ended)
    for (line, text), (code, message) in zip(cases, ended, strict=True):
        assert code == 2 and message.count("\n") == 1, (line, message)
        assert text in message and "error: org/" in message, (line, message)


def test_a_cut_connection_or_a_server_that_is_down_never_gives_a_part_of_the_rows(hub, tmp_path):
    add(hub.folder, "org/parts", files=("a.parquet", "b.parquet"))
    hub.cut["b.parquet"] = 100
    line = "filter --pairs org/parts --output made"
    ((code, message),) = commands(hub, tmp_path, line)
    assert code == 2 and "b.parquet: cannot be fetched from the Hub" in message and "Traceback" not in message
    ((code, message),) = commands(hub, tmp_path, line, HF_HUB_OFFLINE="1")
    assert code == 2 and message.count("\n") == 1 and "b.parquet: cannot be fetched from the Hub" in message
    hub.cut.clear()
    assert commands(hub, tmp_path, line)[0][0] == 0
    down = {"http_proxy": "", "HF_ENDPOINT": "http://127.0.0.1:9"}
    kept, new = commands(hub, tmp_path, f"{line} --overwrite", "filter --pairs org/pairs --output new", **down)
    assert kept[0] == 0 and DataFolder(tmp_path / "made").count() == 2 * len(PAIRS)
    assert new[0] == 2 and "the Hub cannot be reached" in new[1].splitlines()[-1] and "Traceback" not in new[1]


@pytest.mark.parametrize(
    ("name", "dataset"),
    [
        ("org/name", ("org/name", None, None)),
        ("org/name/sub", ("org/name", "sub", None)),
        ("org/name@v1/sub", ("org/name", "sub", "v1")),
        ("org/name@refs/convert/parquet", ("org/name", None, "refs/convert/parquet")),
        ("hf://datasets/org/name", ("org/name", None, None)),
        ("hf://datasets/org/name@v1", ("org/name", None, "v1")),
        ("hf://datasets/org/name/a.csv", None),
        ("s3://org/name", None),
        ("name", None),
        ("../name", None),
        ("org/name@", None),
    ],
)
def test_names_of_data_sets_may_have_a_revision_and_a_subset(name, dataset, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert dataset_of(name) == (dataset and HubDataset(*dataset))
