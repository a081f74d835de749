from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import write_split

TINY = ["--train-size", "40", "--dev-size", "10", "--test-size", "10", "--epochs", "6", "--embedding-size", "8"]
TINY += ["--learning-rate", "0.05", "--batch-size", "8"]


def run(*words):
    return main([str(word) for word in words])


def write_pairs(folder, count=80, most=3, start=0):
    """People say things with a and b, the machine says them with b and c."""
    generator = np.random.default_rng(0)

    def words(letter):
        return " ".join(f"{letter}{i}" for i in generator.integers(8, size=generator.integers(2, 6)))

    rows = [
        (f"n{i}", f"{words('a')} {words('b')} r{i}", f"{words('c')} {words('b')} r{i}")
        for i in range(start, start + count)
        for _ in range(most)
    ]
    references = {row[0]: row[1] for row in rows}
    columns = {
        "id": [row[0] for row in rows],
        "sentence1": [references[row[0]] for row in rows],
        "sentence2": [row[2] for row in rows],
    }
    write_split(folder, "train", [pa.table(columns)], pa.table(columns).schema)
    return folder


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("data") / "back")


@pytest.mark.parametrize("body", ["avg", "lstm"])
def test_a_trained_classifier_is_a_whole_model_folder_that_knows_what_it_has_seen(pairs, tmp_path, body, capsys):
    folder = tmp_path / "classifier"
    assert run("train-classifier", "--pairs", pairs, "--output", folder, "--body", body, *TINY) == 0
    out, err = capsys.readouterr()
    assert out == "" and "on references (%)" in err and "80 distinct references" in err
    record = json.loads((folder / "provenance.json").read_text())
    assert record["results"]["references"] == {"train": 40, "dev": 10, "test": 10}
    assert record["results"]["test"]["accuracy"] > 80 and record["results"]["test"]["sentences"] == 20
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    batch = AutoTokenizer.from_pretrained(folder)(["a1 a2 a3 b1", "c1 c2 c3 b1"], return_tensors="pt", padding=True)
    human, machine = model(**batch).logits.softmax(-1)[:, 1].tolist()
    assert human > 0.5 > machine
    lines = (folder / "references.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in lines[1:]] == ["train"] * 40 + ["dev"] * 10 + ["test"] * 10
    assert len({line.split("\t")[1] for line in lines[1:]}) == 60
    card = (folder / "README.md").read_text()
    assert card.startswith("---\nlanguage:\n- en\n") and "| test |" in card and "(kept)" in card
    names = {path.name for path in folder.iterdir()}
    assert {"model.safetensors", "modeling_reference_classifier.py"} <= names
    assert not {"checkpoints", "job.json"} & names


def test_initial_vectors_are_those_of_the_file(pairs, tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("a1 1 2 3\nb1 4 5 6\n")
    words = ["--initial-vectors", vectors, "--learning-rate", "1e-12", "--epochs", "1", "--train-size", "60"]
    words += ["--dev-size", "10", "--test-size", "10"]
    assert run("train-classifier", "--pairs", pairs, "--output", tmp_path / "made", *words) == 0
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "made")
    number = AutoTokenizer.from_pretrained(tmp_path / "made").convert_tokens_to_ids("a1")
    assert model.embeddings[number].tolist() == pytest.approx([1, 2, 3])


def test_mined_pairs_are_not_seen(pairs, tmp_path, capsys):
    mined = write_pairs(tmp_path / "mined", count=20)
    words = [*TINY, "--mined", mined, "--epochs", "1"]
    assert run("train-classifier", "--pairs", pairs, "--output", tmp_path / "made", *words) == 0
    assert "20 references left out because they are among the mined pairs" in capsys.readouterr().err
    ids = {line.split("\t")[1] for line in (tmp_path / "made/references.tsv").read_text().splitlines()[1:]}
    assert ids == {f"n{i}" for i in range(20, 80)}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--dropout", "1"], "--dropout must be"),
        (["--initial-vectors", "absent.txt"], "absent.txt"),
    ],
)
def test_bad_requests_are_one_line_and_leave_nothing_behind(pairs, tmp_path, capsys, words, expected):
    assert run("train-classifier", "--pairs", pairs, "--output", tmp_path / "made", *words) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert expected in error and list(tmp_path.iterdir()) == []


def test_from_python_it_returns_the_classifier(pairs, tmp_path):
    import hf_paraphrase

    classifier = hf_paraphrase.train_reference_classifier(
        pairs=pairs,
        output=tmp_path / "made",
        train_size=40,
        dev_size=10,
        test_size=10,
        epochs=6,
        embedding_size=8,
        learning_rate=0.05,
        batch_size=8,
    )
    human, machine = classifier.probabilities(["a1 a2 a3 b1", "c1 c2 c3 b1"])
    assert human > 0.5 > machine
