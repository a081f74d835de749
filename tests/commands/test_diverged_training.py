"""A training whose weights are no numbers any more ends with one line and leaves no model, whatever the verb."""

from __future__ import annotations

import shutil

import pyarrow as pa
import pytest
from safetensors.torch import load_file, save_file
from tiny_encoders import write_average

from hf_paraphrase.commands import main
from hf_paraphrase.commands.verbs import all_recipes
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import PAIRS
from hf_paraphrase.training.run_settings import RunSettings

PARTS = "--train-size 30 --dev-size 8 --test-size 8 --embedding-size 4"
TRAINING = {
    "train-nmt": "--bitext bitext --vocab-size 60 --hidden-size 8 --embedding-size 6 --evaluations 1 --precision fp32",
    "train-classifier": f"--pairs lists {PARTS}",
    "train-parallel-classifier": "--bitext bitext --embedding-size 4 --hidden-size 4",
    "train-bilingual-vectors": "--bitext bitext --dimension 4",
    "train-encoder": "--pairs pairs --hidden-size 6 --min-frequency 1",
    "distill": "--teacher avg --text pairs --hidden-size 6 --min-frequency 1",
    "train-sdae": "--pairs pairs --hidden-size 6 --embedding-size 4 --max-steps 3 --min-frequency 1 --dev-size 4 "
    "--precision fp32",
    "train-supervised": "--model avg --data graded --task similarity",
}


@pytest.fixture(scope="module")
def originals(tmp_path_factory, tiny_bitext):
    folder = tmp_path_factory.mktemp("diverging")
    write_average(folder / "avg", ["one", "two", "three"], hidden_size=4)
    shutil.copytree(tiny_bitext, folder / "bitext")
    rows = [(f"n{i}", f"a{i % 7} b{i} r{i}", f"c{i % 5} {k} r{i}") for i in range(60) for k in range(2)]
    lists = pa.table(dict(zip(("id", "sentence1", "sentence2"), map(list, zip(*rows, strict=True)), strict=True)))
    write_split(folder / "lists", "train", [lists], lists.schema)
    pairs = pa.table([[f"one {i}" for i in range(40)], [f"two {i}" for i in range(40)]], schema=pa.schema([*PAIRS]))
    write_split(folder / "pairs", "train", [pairs], pairs.schema)
    graded = pairs.append_column("score", pa.array([1.0 + 4 * (place % 2) for place in range(40)]))
    write_split(folder / "graded", "train", [graded], graded.schema)
    return folder


@pytest.fixture
def work(originals, tmp_path, monkeypatch):
    monkeypatch.chdir(shutil.copytree(originals, tmp_path / "work"))
    return tmp_path / "work"


def test_every_verb_that_trains_is_tried():
    trains = [
        verb
        for verb, recipe in all_recipes().items()
        if issubclass(recipe.settings, RunSettings) and "learning_rate" in recipe.settings.__dataclass_fields__
    ]
    assert sorted(trains) == sorted(TRAINING)


@pytest.mark.parametrize("verb", TRAINING)
def test_a_training_that_diverges_leaves_no_model(verb, work, capsys):
    words = [*TRAINING[verb].split(), "--learning-rate", "1e30", "--output", "out"]
    assert main([verb, *words]) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert "the training diverged: weights of" in told and "--learning-rate" in told, told
    assert not (work / "out").exists()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize(
    "words",
    [
        "encode --input text.txt --output out.npy --model avg",
        "search --corpus text.txt --output out --model avg",
        "train-encoder --pairs pairs --output out --initial-model avg",
        "export --output out --model avg",
        "join --output out --model avg weighted-trigrams --text pairs",
    ],
    ids=lambda words: words.split()[0],
)
def test_a_model_whose_weights_are_no_numbers_is_not_opened(words, value, work, capsys):
    (work / "text.txt").write_text("one two\n")
    weights = load_file(work / "avg" / "model.safetensors")
    weights["embeddings"][2, 1] = value
    save_file(weights, work / "avg" / "model.safetensors", {"format": "pt"})
    assert main(words.split()) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert "avg: " in told and "weights of embeddings are NaN" in told, told
    assert not (work / "out").exists() and not (work / "out.npy").exists()
