"""Hostile model and data folders, through the commands: exit 2, one line, no traceback, nothing left behind."""

from __future__ import annotations

import json
import os
import shutil
import struct

import pyarrow as pa
import pytest
from tiny_encoders import write_average

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import PAIRS

MODEL_COMMANDS = {
    "encode": "--model {model} --input text.txt --output out",
    "evaluate": "--model {model} --data pairs --suite graded --split train --output out",
    "evaluate-mining": "--task fr-en --encoder {model} --output out",
    "mine": "--source text.txt --target other.txt --encoder {model} --output out",
    "score": "--pairs pairs --encoder {model} --measures similarity --output out",
    "train-encoder": "--pairs pairs --initial-vectors {model} --output out",
    "train-sdae": "--pairs pairs --initial-vectors {model} --output out",
    "train-supervised": "--model {model} --data pairs --task similarity --output out",
    "analyze gates": "--model {model} --text text.txt --output out",
    "train-parallel-classifier": "--bitext bitext --encoder {model} --output out",
    "analyze neighbours": "--model {model} --text text.txt --query one --output out",
    "analyze similarities": "--model {model} --text text.txt --query one --output out",
    "analyze human-scores": "--model {model} --data pairs --split train --output out",
}
TRANSLATION_COMMANDS = {
    "back-translate": "--model {model} --bitext bitext --output out",
    "evaluate-nmt": "--model {model} --bitext bitext --output out",
}
DATA_COMMANDS = {
    "filter": "--pairs {data} --output out",
    "score": "--pairs {data} --measures length --output out",
    "train-encoder": "--pairs {data} --output out",
    "train-sdae": "--pairs {data} --output out",
    "train-tokenizer": "--pairs {data} --output out",
    "train-classifier": "--pairs {data} --output out",
    "train-supervised": "--model avg --data {data} --task similarity --output out",
    "analyze": "--pairs {data} --output out",
    "expand": "--pairs {data} --wordnet wordnet --output out",
    "analyze neighbours": "--model avg --text {data} --query one --output out",
    "analyze similarities": "--model avg --text {data} --query one --output out",
    "analyze human-scores": "--model avg --data {data} --split train --output out",
    "evaluate": "--suite paraphrase --data {data} --dev-split train --test-split train --baseline words "
    "--positive-above 2 --output out",
}
BITEXT_COMMANDS = {
    "prepare comparable": "--bitext {data} --sentences 100 --sample-sentences 50 --output out",
    "train-encoder": "--pairs {data} --output out",
    "train-parallel-classifier": "--bitext {data} --output out",
    "train-bilingual-vectors": "--bitext {data} --output out",
}


@pytest.fixture(scope="module")
def originals(tmp_path_factory, tiny_model, tiny_bitext, tiny_wordnet):
    folder = tmp_path_factory.mktemp("hostile")
    write_average(folder / "avg", ["one", "two", "three"], hidden_size=4)
    shutil.copytree(tiny_model, folder / "rnn_search")
    shutil.copytree(tiny_bitext, folder / "bitext")
    shutil.copytree(tiny_bitext, folder / "one_split", ignore=shutil.ignore_patterns("validation-*", "test-*"))
    shutil.copytree(tiny_wordnet, folder / "wordnet")
    schema = pa.schema([("id", pa.string()), *PAIRS, ("score", pa.float64())])
    count = 40
    scores = [float(place % 2 * 3) for place in range(count)]
    columns = [
        [f"n{i}" for i in range(count)],
        [f"one {i}" for i in range(count)],
        [f"two {i}" for i in range(count)],
        scores,
    ]
    write_split(folder / "pairs", "train", [pa.table(columns, schema=schema)], schema)
    (folder / "text.txt").write_text("one two\n")
    (folder / "other.txt").write_text("two three\n")
    (folder / "secret").mkdir()
    (folder / "secret" / "x.json").write_text('{"password": "hunter2"}')
    return folder


@pytest.fixture
def work(originals, tmp_path, monkeypatch):
    folder = shutil.copytree(originals, tmp_path / "work")
    monkeypatch.chdir(folder)
    return folder


def change(path, **values):
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def lying_header(folder):
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", 8 << 30) + b"{}")


def absent_tensors(folder):
    header = json.dumps({"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))


def linked(name, target):
    def harm(folder):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)

    return harm


def pipe(folder):
    (folder / "tokenizer.json").unlink()
    os.mkfifo(folder / "tokenizer.json")


HARM = {
    "a header of gigabytes": lying_header,
    "missing tensors": absent_tensors,
    "a vocabulary of trillions": lambda folder: change(folder / "config.json", vocab_size=10**12),
    "a state of trillions": lambda folder: change(folder / "config.json", hidden_size=10**12),
    "another shape": lambda folder: change(folder / "config.json", hidden_size=6, attention_size=6),
    "a tokenizer elsewhere": lambda folder: change(
        folder / "tokenizer_config.json", source_tokenizer_file="../secret/x.json"
    ),
    "code elsewhere": lambda folder: change(folder / "config.json", auto_map={"AutoModel": "../../evil.Evil"}),
    "a tokenizer that is none": lambda folder: (folder / "tokenizer.json").write_text('{"password": 1}'),
    "a configuration that is a list": lambda folder: (folder / "config.json").write_text("[]"),
    "a configuration without end": lambda folder: (folder / "config.json").write_text('{"a":' * 100_000),
    "a record that is a list": lambda folder: (folder / "provenance.json").write_text("[]"),
    "a link to a secret": linked("tokenizer.json", "../secret/x.json"),
    "a hidden link": linked(".README.md.partial", "../secret/x.json"),
    "a link to a device": linked("generation_config.json", "/dev/zero"),
    "a pipe": pipe,
}
# Of a folder that only lends its word vectors, neither the shapes in its configuration nor its code matter.
LENDING = ("train-encoder", "train-sdae")
UNREAD = {"another shape", "code elsewhere", "missing tensors", "a tokenizer elsewhere"}


def fails(words, work, capfd):
    before = sorted(path.relative_to(work) for path in work.rglob("*"))
    assert main(words) == 2
    out, err = capfd.readouterr()
    lines = [line for line in err.splitlines() if line.startswith("hf-paraphrase: error: ")]
    assert len(lines) == 1 and err.rstrip().endswith(lines[0]) and len(lines[0]) < 1_500
    assert "Traceback" not in err and out == "" and "hunter2" not in err
    assert sorted(path.relative_to(work) for path in work.rglob("*")) == before
    return lines[0]


@pytest.mark.parametrize(
    ("verb", "harm"),
    [(verb, harm) for verb in MODEL_COMMANDS for harm in HARM if verb not in LENDING or harm not in UNREAD],
)
def test_a_hostile_encoder_is_one_line(work, capfd, verb, harm):
    change(work / "avg" / "config.json", attention_size=4)
    HARM[harm](work / "avg")
    fails([*verb.split(), *MODEL_COMMANDS[verb].format(model="avg").split()], work, capfd)


@pytest.mark.parametrize("harm", HARM)
@pytest.mark.parametrize("verb", TRANSLATION_COMMANDS)
def test_a_hostile_translation_model_is_one_line(work, capfd, verb, harm):
    HARM[harm](work / "rnn_search")
    fails([verb, *TRANSLATION_COMMANDS[verb].format(model="rnn_search").split()], work, capfd)


def cut(folder):
    (path,) = (folder / "data").glob("*.parquet")
    path.write_bytes(path.read_bytes()[:-20])


def scrambled(folder):
    (path,) = (folder / "data").glob("*.parquet")
    content = bytearray(path.read_bytes())
    # Parquet ends in its footer, the footer's length in four bytes, and four letters.
    data = slice(4, len(content) - 8 - int.from_bytes(content[-8:-4], "little"))
    content[data] = bytes(byte ^ 0xFF for byte in content[data])
    path.write_bytes(content)


def away(folder):
    (path,) = (folder / "data").glob("*.parquet")
    path.rename(folder.parent / "secret" / path.name)
    path.symlink_to(folder.parent / "secret" / path.name)


def numbers(folder):
    table = pa.table({"id": ["a", "b"], "sentence1": [1, 2], "sentence2": ["c", "d"]})
    write_split(folder, "train", [table], table.schema)


DATA_HARM = {
    "cut off": cut,
    "scrambled": scrambled,
    "a link that leaves the folder": away,
    "numbers for sentences": numbers,
    "a record that is a list": lambda folder: (folder / "provenance.json").write_text("[]"),
    "a hidden link": linked("data/.partial", "../../secret/x.json"),
    "a card elsewhere": lambda folder: (folder / "README.md").symlink_to("/etc/passwd"),
}


@pytest.mark.parametrize("harm", DATA_HARM)
@pytest.mark.parametrize("verb", DATA_COMMANDS)
def test_a_hostile_data_folder_is_one_line(work, capfd, verb, harm):
    DATA_HARM[harm](work / "pairs")
    fails([*verb.split(), *DATA_COMMANDS[verb].format(data="pairs").split()], work, capfd)


@pytest.mark.parametrize("harm", DATA_HARM)
@pytest.mark.parametrize("verb", BITEXT_COMMANDS)
def test_a_hostile_bitext_is_one_line(work, capfd, verb, harm):
    DATA_HARM[harm](work / "one_split")
    fails([*verb.split(), *BITEXT_COMMANDS[verb].format(data="one_split").split()], work, capfd)


def beside(folder):
    (folder.parent / "link").symlink_to("/dev/zero")


@pytest.mark.parametrize("harm", [*(HARM[name] for name in HARM if name not in UNREAD), beside])
def test_hostile_vectors_of_two_languages_are_one_line(work, capfd, harm):
    for side in ("source", "target"):
        shutil.copytree(work / "avg", work / "two" / side)
    harm(work / "two" / "source")
    fails(
        ["train-parallel-classifier", "--bitext", "bitext", "--initial-vectors", "two", "--output", "out"], work, capfd
    )


@pytest.mark.parametrize("place", ["onnx/model.onnx", "onnx/weights.data", "notes.txt", ".README.md.partial"])
@pytest.mark.parametrize(
    "words", ["encode --input text.txt --output out.npy", "search --corpus text.txt --output out"]
)
def test_nothing_private_comes_out_of_a_link_in_an_onnx_folder(work, capfd, words, place):
    (work / "avg" / "model.safetensors").unlink()
    (work / "avg" / "onnx").mkdir()
    (work / "avg" / "onnx" / "model.onnx").write_text("graph")
    linked(place, os.path.relpath(work / "secret" / "x.json", (work / "avg" / place).parent))(work / "avg")
    assert "a link that leads out of its folder" in fails([*words.split(), "--model", "avg"], work, capfd)


def test_a_link_in_an_index_is_one_line(work, capfd):
    assert main(["search", "--corpus", "text.txt", "--model", "avg", "--output", "index"]) == 0
    capfd.readouterr()
    (work / "index" / "vectors.npy").rename(work / "secret" / "vectors.npy")
    (work / "index" / "vectors.npy").symlink_to("../secret/vectors.npy")
    assert "a link that leads out" in fails(["search", "--index", "index", "--query", "one"], work, capfd)


def test_a_card_is_not_updated_where_a_link_lies_in_wait(work, capfd):
    (work / "avg" / "README.md").write_text("# avg\n")
    (work / "avg" / ".README.md.partial").symlink_to("../other.txt")
    words = "evaluate --model avg --data pairs --suite graded --split train --update-card"
    assert "a link that leads out" in fails(words.split(), work, capfd)
    (work / "avg" / ".README.md.partial").unlink()
    assert main(words.split()) == 0
    assert "two three" in (work / "other.txt").read_text() and "Evaluation" in (work / "avg" / "README.md").read_text()
