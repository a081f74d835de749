from __future__ import annotations

import numpy as np
import pytest
from small_runs import number_pairs, record, run, write, write_bitext
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer

from hf_paraphrase.classification.parallel_classifier import ParallelClassifier
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder

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
    results = record(folder)["results"]
    assert results["references"] == {"train": 40, "dev": 10, "test": 10}
    assert results["test"]["accuracy"] > 80 and results["test"]["sentences"] == 20
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    batch = AutoTokenizer.from_pretrained(folder)(["a1 a2 a3 b1", "c1 c2 c3 b1"], return_tensors="pt", padding=True)
    human, machine = model(**batch).logits.softmax(-1)[:, 1].tolist()
    assert human > 0.5 > machine
    lines = [line.split("\t") for line in (folder / "references.tsv").read_text().splitlines()[1:]]
    assert [part for part, _ in lines] == ["train"] * 40 + ["dev"] * 10 + ["test"] * 10
    assert len({fingerprint for _, fingerprint in lines}) == 60
    assert (folder / "modeling_sentence_classifier.py").is_file()


def test_initial_vectors_are_those_of_the_file(pairs, tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("a1 1 2 3\nb1 4 5 6\n")
    words = ["--initial-vectors", vectors, "--learning-rate", "1e-12", "--epochs", "1", "--train-size", "60"]
    words += ["--dev-size", "10", "--test-size", "10"]
    assert run("train-classifier", "--pairs", pairs, "--output", tmp_path / "made", *words) == 0
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "made")
    number = AutoTokenizer.from_pretrained(tmp_path / "made").convert_tokens_to_ids("a1")
    assert model.encoder.embeddings[number].tolist() == pytest.approx([1, 2, 3])


SMALL = ["--embedding-size", "8", "--hidden-size", "6", "--epochs", "3", "--learning-rate", "0.02"]
SMALL += ["--batch-size", "24"]


@pytest.fixture(scope="module")
def bitext(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parallel") / "numbers"
    return write_bitext(folder, train=number_pairs(72, 100), validation=number_pairs(16, 0))


def test_a_trained_classifier_is_a_whole_model_folder(bitext, tmp_path, capsys):
    folder = tmp_path / "classifier"
    assert run("train-parallel-classifier", "--bitext", bitext, "--output", folder, *SMALL) == 0
    out, err = capsys.readouterr()
    assert out == "" and "72 pairs train, 16 pairs validation" in err and "best F1" in err
    results = record(folder)["results"]
    assert results["pairs"] == {"train": 72, "validation": 16} and len(results["epochs"]) == 3
    # A batch has 24 labelled pairs: 4 parallel pairs and 20 negatives.
    assert results["steps"] == 3 * 18
    classifier = ParallelClassifier.from_pretrained(folder)
    assert AutoModel.from_pretrained(folder).config.source_lang == "fr"
    table = DataFolder(bitext).table("validation")
    sources, targets = table["source"].to_pylist(), table["target"].to_pylist()
    right = classifier.probabilities(sources, targets)
    assert right.mean() > classifier.probabilities(sources, targets[1:] + targets[:1]).mean()
    assert (folder / "README.md").read_text().startswith("---\nlanguage:\n- fr\n- en\n")


def test_vectors_of_both_languages_are_two_encoders_in_one_space_and_a_classifier_starts_from_them(bitext, tmp_path):
    pairs = write_bitext(tmp_path / "bitext", train=number_pairs(200, 100))
    folder = tmp_path / "vectors"
    words = f"train-bilingual-vectors --bitext {pairs} --output {folder} --dimension 12 --epochs 8 --subsampling 0"
    assert main(f"{words} --aligned-weight 10 --batch-size 16".split()) == 0
    assert record(folder)["results"]["pairs"] == 200
    assert (folder / "README.md").read_text().startswith("---\nlanguage:\n- fr\n- en\nlibrary_name")
    encoders = [SentenceEncoder.from_pretrained(folder / side) for side in ("source", "target")]
    numbers = [["un", "trois", "huit"], ["one", "three", "eight"]]
    vectors = [encoder.encode(texts, normalize=True) for encoder, texts in zip(encoders, numbers, strict=True)]
    assert (vectors[0] @ vectors[1].T).argmax(1).tolist() == [0, 1, 2]

    words = ["--initial-vectors", folder, "--epochs", "1", "--learning-rate", "1e-12", "--hidden-size", "4"]
    assert run("train-parallel-classifier", "--bitext", bitext, *words, "--output", tmp_path / "made") == 0
    classifier = ParallelClassifier.from_pretrained(tmp_path / "made")
    place = classifier.target_tokenizer.convert_tokens_to_ids("seven")
    expected = encoders[1].encode("seven")
    np.testing.assert_allclose(classifier.model.target_embeddings[place].detach(), expected, atol=1e-6)
    train = ["train-parallel-classifier", "--bitext", bitext, *words]
    pair = ["--source-encoder", folder / "source", "--target-encoder", folder / "target"]
    assert run(*train, *pair, "--output", tmp_path / "hard") == 0
    card = (tmp_path / "hard/README.md").read_text()
    assert "80 % from the 40 best of the training targets by the cosine of source and target" in card
