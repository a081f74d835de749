from __future__ import annotations

import json

import numpy as np
import pytest
from small_runs import run, write
from transformers import AutoModelForSequenceClassification, AutoTokenizer

TINY = ["--train-size", "40", "--dev-size", "10", "--test-size", "10", "--epochs", "6", "--embedding-size", "8"]
TINY += ["--learning-rate", "0.05", "--batch-size", "8"]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """People say things with a and b, the machine says them with b and c."""
    generator = np.random.default_rng(0)

    def words(letter):
        return " ".join(f"{letter}{i}" for i in generator.integers(8, size=generator.integers(2, 6)))

    references = [f"{words('a')} {words('b')} r{i}" for i in range(80)]
    return write(
        tmp_path_factory.mktemp("data") / "back",
        id=[f"n{i // 3}" for i in range(240)],
        sentence1=[references[i // 3] for i in range(240)],
        sentence2=[f"{words('c')} {words('b')} r{i // 3}" for i in range(240)],
    )


def test_a_trained_classifier_is_a_whole_model_folder_that_knows_what_it_has_seen(pairs, tmp_path):
    folder = tmp_path / "classifier"
    assert run("train-classifier", "--pairs", pairs, "--output", folder, "--body", "lstm", *TINY) == 0
    results = json.loads((folder / "provenance.json").read_text())["results"]
    assert results["references"] == {"train": 40, "dev": 10, "test": 10}
    assert results["test"]["accuracy"] > 80 and results["test"]["sentences"] == 20
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    batch = AutoTokenizer.from_pretrained(folder)(["a1 a2 a3 b1", "c1 c2 c3 b1"], return_tensors="pt", padding=True)
    human, machine = model(**batch).logits.softmax(-1)[:, 1].tolist()
    assert human > 0.5 > machine
    lines = [line.split("\t") for line in (folder / "references.tsv").read_text().splitlines()[1:]]
    assert [part for part, _ in lines] == ["train"] * 40 + ["dev"] * 10 + ["test"] * 10
    assert len({fingerprint for _, fingerprint in lines}) == 60
    assert (folder / "modeling_reference_classifier.py").is_file()


def test_initial_vectors_are_those_of_the_file(pairs, tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("a1 1 2 3\nb1 4 5 6\n")
    words = ["--initial-vectors", vectors, "--learning-rate", "1e-12", "--epochs", "1", "--train-size", "60"]
    words += ["--dev-size", "10", "--test-size", "10"]
    assert run("train-classifier", "--pairs", pairs, "--output", tmp_path / "made", *words) == 0
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "made")
    number = AutoTokenizer.from_pretrained(tmp_path / "made").convert_tokens_to_ids("a1")
    assert model.embeddings[number].tolist() == pytest.approx([1, 2, 3])
