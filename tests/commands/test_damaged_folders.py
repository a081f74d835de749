"""Damaged model and data folders, through the commands: exit 2, one line, no traceback, nothing left behind."""

from __future__ import annotations

import json
import shutil

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
    return folder


@pytest.fixture
def work(originals, tmp_path, monkeypatch):
    folder = shutil.copytree(originals, tmp_path / "work")
    monkeypatch.chdir(folder)
    return folder


def change(path, **values):
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def cut_off(name):
    def damage(folder):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: len(content) // 2])

    return damage


def rewritten(name, text):
    return lambda folder: (folder / name).write_text(text)


DAMAGE = {
    "weights cut off": cut_off("model.safetensors"),
    "another shape": lambda folder: change(folder / "config.json", hidden_size=6, attention_size=6),
    "a tokenizer cut off": cut_off("tokenizer.json"),
    "a configuration that is a list": rewritten("config.json", "[]"),
}
# Of a folder that only lends its word vectors, the configuration is not read.
LENDING = ("train-encoder", "train-sdae")
LENT = ("weights cut off", "a tokenizer cut off")


def fails(words, work, capfd):
    before = sorted(path.relative_to(work) for path in work.rglob("*"))
    assert main(words) == 2
    out, err = capfd.readouterr()
    lines = [line for line in err.splitlines() if line.startswith("hf-paraphrase: error: ")]
    assert len(lines) == 1 and err.rstrip().endswith(lines[0]) and len(lines[0]) < 1_500
    assert "Traceback" not in err and out == ""
    assert sorted(path.relative_to(work) for path in work.rglob("*")) == before
    return lines[0]


@pytest.mark.parametrize(
    ("verb", "damage"),
    [(verb, name) for verb in MODEL_COMMANDS for name in (LENT if verb in LENDING else DAMAGE)],
)
def test_a_damaged_encoder_is_one_line(work, capfd, verb, damage):
    change(work / "avg" / "config.json", attention_size=4)
    DAMAGE[damage](work / "avg")
    fails([*verb.split(), *MODEL_COMMANDS[verb].format(model="avg").split()], work, capfd)


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("verb", TRANSLATION_COMMANDS)
def test_a_damaged_translation_model_is_one_line(work, capfd, verb, damage):
    DAMAGE[damage](work / "rnn_search")
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


def numbers(folder):
    table = pa.table({"id": ["a", "b"], "sentence1": [1, 2], "sentence2": ["c", "d"]})
    write_split(folder, "train", [table], table.schema)


DATA_DAMAGE = {
    "cut off": cut,
    "scrambled": scrambled,
    "numbers for sentences": numbers,
    "a record that is a list": rewritten("provenance.json", "[]"),
}


@pytest.mark.parametrize("damage", DATA_DAMAGE)
@pytest.mark.parametrize("verb", DATA_COMMANDS)
def test_a_damaged_data_folder_is_one_line(work, capfd, verb, damage):
    DATA_DAMAGE[damage](work / "pairs")
    fails([*verb.split(), *DATA_COMMANDS[verb].format(data="pairs").split()], work, capfd)


@pytest.mark.parametrize("damage", DATA_DAMAGE)
@pytest.mark.parametrize("verb", BITEXT_COMMANDS)
def test_a_damaged_bitext_is_one_line(work, capfd, verb, damage):
    DATA_DAMAGE[damage](work / "one_split")
    fails([*verb.split(), *BITEXT_COMMANDS[verb].format(data="one_split").split()], work, capfd)


@pytest.mark.parametrize("damage", LENT)
def test_damaged_vectors_of_two_languages_are_one_line(work, capfd, damage):
    for side in ("source", "target"):
        shutil.copytree(work / "avg", work / "two" / side)
    DAMAGE[damage](work / "two" / "source")
    fails(
        ["train-parallel-classifier", "--bitext", "bitext", "--initial-vectors", "two", "--output", "out"], work, capfd
    )
