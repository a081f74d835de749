from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from transformers import AutoModel

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.studies.mining.parallel_classification import ParallelClassifier
from hf_paraphrase.studies.mining.parallel_examples import NegativeDraw
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

TINY = ["--embedding-size", "8", "--hidden-size", "6", "--epochs", "3", "--learning-rate", "0.02"]
TINY += ["--batch-size", "24"]


def run(*words):
    return main(["train-parallel-classifier", *map(str, words)])


@pytest.fixture(scope="module")
def bitext(tmp_path_factory, write_bitext, number_pairs):
    folder = tmp_path_factory.mktemp("parallel") / "numbers"
    return write_bitext(folder, train=number_pairs(72, 100), validation=number_pairs(16, 0))


def test_a_trained_classifier_is_a_whole_model_folder(bitext, tmp_path, capsys):
    folder = tmp_path / "classifier"
    assert run("--bitext", bitext, "--output", folder, *TINY) == 0
    out, err = capsys.readouterr()
    assert out == "" and "72 pairs train, 16 pairs validation" in err and "best F1" in err
    results = json.loads((folder / "provenance.json").read_text())["results"]
    assert results["pairs"] == {"train": 72, "validation": 16} and len(results["epochs"]) == 3
    # 24 labelled pairs a batch, one in six of which is parallel.
    assert results["steps"] == 3 * 18
    classifier = ParallelClassifier.from_pretrained(folder)
    assert AutoModel.from_pretrained(folder).config.source_lang == "fr"
    table = DataFolder(bitext).table("validation")
    sources, targets = table["source"].to_pylist(), table["target"].to_pylist()
    right = classifier.probabilities(sources, targets)
    assert right.mean() > classifier.probabilities(sources, targets[1:] + targets[:1]).mean()
    assert (folder / "README.md").read_text().startswith("---\nlanguage:\n- fr\n- en\n")


def test_hard_negatives_come_from_the_n_best_list_of_the_encoder(bitext, tmp_path, monkeypatch):
    french = ["un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit"]
    english = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
    tokenizer = build_word_level_tokenizer([*french, *english], contractions=False)
    model = AvgModel(AvgConfig(vocab_size=len(tokenizer), hidden_size=8))
    with torch.no_grad():
        model.embeddings.zero_()
        for number, words in enumerate(zip(french, english, strict=True)):
            model.embeddings[tokenizer.convert_tokens_to_ids(list(words)), number] = 1.0
    encoder = tmp_path / "avg"
    model.save_pretrained(encoder)
    save_tokenizer(tokenizer, encoder)
    samplers = []
    draw = NegativeDraw.__call__
    monkeypatch.setattr(NegativeDraw, "__call__", lambda *given: samplers.append(given[0]) or draw(*given))
    assert run("--bitext", bitext, *TINY, "--epochs", "1", "--encoder", encoder, "--output", tmp_path / "hard") == 0
    assert samplers and all(len(row) == 40 for sampler in samplers for row in sampler.candidates)
    card = (tmp_path / "hard/README.md").read_text()
    assert "80 % from the 40 best of the training targets by the cosine of avg" in card


def test_vectors_of_both_languages_are_two_encoders_in_one_space_and_a_classifier_starts_from_them(
    bitext, tmp_path, write_bitext, number_pairs, capsys
):
    pairs = write_bitext(tmp_path / "bitext", train=number_pairs(200, 100))
    folder = tmp_path / "vectors"
    words = f"train-bilingual-vectors --bitext {pairs} --output {folder} --dimension 12 --epochs 8 --subsampling 0"
    assert main(f"{words} --aligned-weight 10 --batch-size 16".split()) == 0
    assert json.loads((folder / "provenance.json").read_text())["results"]["pairs"] == 200
    assert (folder / "README.md").read_text().startswith("---\nlanguage:\n- fr\n- en\nlibrary_name")
    encoders = [SentenceEncoder.from_pretrained(folder / side) for side in ("source", "target")]
    numbers = [["un", "trois", "huit"], ["one", "three", "eight"]]
    vectors = [encoder.encode(texts, normalize=True) for encoder, texts in zip(encoders, numbers, strict=True)]
    assert (vectors[0] @ vectors[1].T).argmax(1).tolist() == [0, 1, 2]

    words = ["--initial-vectors", folder, "--epochs", "1", "--learning-rate", "1e-12", "--hidden-size", "4"]
    assert run("--bitext", bitext, *words, "--output", tmp_path / "made") == 0
    classifier = ParallelClassifier.from_pretrained(tmp_path / "made")
    place = classifier.target_tokenizer.convert_tokens_to_ids("seven")
    expected = encoders[1].encode("seven")
    np.testing.assert_allclose(classifier.model.target_embeddings[place].detach(), expected, atol=1e-6)
    assert run("--bitext", bitext, *words, "--embedding-size", "8", "--output", tmp_path / "x") == 2
    assert "12 components" in capsys.readouterr().err
