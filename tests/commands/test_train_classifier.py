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


def test_the_same_command_gives_the_same_weights(pairs, tmp_path):
    for name in ("one", "two"):
        words = [*TINY, "--negatives", "hardest", "--dropout", "0.2"]
        assert run("train-classifier", "--pairs", pairs, "--output", tmp_path / name, *words) == 0
    assert (tmp_path / "one/model.safetensors").read_bytes() == (tmp_path / "two/model.safetensors").read_bytes()


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
        (["--body", "cnn"], "argument --body: invalid choice: 'cnn': one of"),
        (["--negatives", "worst"], "argument --negatives: invalid choice: 'worst'"),
        (["--dev-size", "0"], "--dev-size must be at least 1, not 0"),
        (["--dropout", "1"], "--dropout must be"),
        (["--embedding-penalty", "-1"], "--embedding-penalty must be at least 0, not -1"),
        (["--hidden-size", "4"], "--hidden-size is for --body lstm"),
        (["--initial-vectors", "absent.txt"], "absent.txt"),
    ],
)
def test_bad_requests_are_one_line_and_leave_nothing_behind(pairs, tmp_path, capsys, words, expected):
    assert run("train-classifier", "--pairs", pairs, "--output", tmp_path / "made", *words) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert expected in error and list(tmp_path.iterdir()) == []


def test_pairs_without_lists_are_said_to_have_none(tmp_path, capsys):
    single = write_pairs(tmp_path / "single", most=1)
    words = ["--pairs", single, "--output", tmp_path / "made", *TINY, "--epochs", "1"]
    assert run("train-classifier", *words, "--negatives", "hardest") == 2
    assert "every reference has one translation" in capsys.readouterr().err and not (tmp_path / "made").exists()
    assert run("train-classifier", *words) == 0
    assert "each epoch sees the same examples" in capsys.readouterr().err


def test_fewer_references_than_asked_for_are_shared_out_and_said(pairs, tmp_path, capsys):
    words = ["--pairs", pairs, "--output", tmp_path / "made", *TINY, "--train-size", "640", "--dev-size", "80"]
    assert run("train-classifier", *words, "--test-size", "80", "--epochs", "1") == 0
    assert "each part has 10.0% of its size" in capsys.readouterr().err
    results = json.loads((tmp_path / "made/provenance.json").read_text())["results"]
    assert results["references"] == {"train": 64, "dev": 8, "test": 8} and results["share_of_sizes"] == 0.1


def test_a_missing_column_is_named(tmp_path, capsys):
    table = pa.table({"sentence1": ["a"]})
    write_split(tmp_path / "pairs", "train", [table], table.schema)
    assert run("train-classifier", "--pairs", tmp_path / "pairs", "--output", tmp_path / "made") == 2
    assert "missing column sentence2" in capsys.readouterr().err


def test_an_unfinished_run_is_not_destroyed_and_other_settings_do_not_continue_it(
    pairs, tmp_path, capsys, monkeypatch
):
    from hf_paraphrase.filtering.reference_classifier.classifier_trainer import ClassifierTrainer

    whole, made = tmp_path / "whole", tmp_path / "made"
    words = ["--pairs", pairs, *TINY]
    run("train-classifier", *words, "--output", whole)
    begin = ClassifierTrainer.begin_epoch

    def stop(self, epoch):
        if epoch == 3:
            raise KeyboardInterrupt
        begin(self, epoch)

    monkeypatch.setattr(ClassifierTrainer, "begin_epoch", stop)
    assert run("train-classifier", *words, "--output", made) == 130
    monkeypatch.setattr(ClassifierTrainer, "begin_epoch", begin)
    capsys.readouterr()
    assert run("train-classifier", *words, "--output", made) == 2
    assert "an unfinished run for this output exists" in capsys.readouterr().err
    assert run("train-classifier", *words, "--output", made, "--resume", "--dropout", "0.3") == 2
    assert "other settings: dropout" in capsys.readouterr().err
    assert run("train-classifier", *words, "--output", made, "--resume") == 0
    assert "resuming after step 30" in capsys.readouterr().err
    assert (made / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


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
