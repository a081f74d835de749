"""`train-encoder`: where initial vectors, vocabulary and frequencies come from."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from small_runs import write
from transformers import AutoTokenizer, BertConfig, BertModel

from hf_paraphrase.commands import main
from hf_paraphrase.encoders.initial_vectors import principal_components
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

FIRST = [f"a{number % 7} a{number % 11} common" for number in range(40)]
SECOND = [f"b{number % 7} b{number % 11} common" for number in range(40)]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write(tmp_path_factory.mktemp("data") / "pairs", sentence1=FIRST, sentence2=SECOND)


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    torch.manual_seed(2)
    folder = tmp_path_factory.mktemp("teacher")
    words = [f"{letter}{number}" for letter in "ab" for number in range(11)]
    tokenizer = build_word_level_tokenizer([*words, "common", "extra"])
    sizes = {"hidden_size": 12, "intermediate_size": 12, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = BertConfig(vocab_size=len(tokenizer), initializer_range=0.5, **sizes)
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    return folder


def run(pairs, output, *flags):
    return main(["train-encoder", "--pairs", str(pairs), "--output", str(output), "--epochs", "0", *map(str, flags)])


def table_of(folder):
    vocabulary = AutoTokenizer.from_pretrained(folder).get_vocab()
    table = load_file(folder / "model.safetensors")["embeddings"]
    return {word: table[row] for word, row in vocabulary.items()}, table


def test_a_distilled_start_holds_the_projected_vectors_of_all_words(pairs, teacher, tmp_path, capsys):
    (tmp_path / "words").write_text("extra\nCased\n")
    flags = ("--initial-vectors", teacher, "--hidden-size", 5, "--word-list", tmp_path / "words")
    assert run(pairs, tmp_path / "m", *flags) == 0
    assert "24 of 24 words have a vector, 100.0 % of the tokens" in capsys.readouterr().err
    rows, table = table_of(tmp_path / "m")
    words = [word for word in rows if not word.startswith("[")]
    assert "extra" in words and "Cased" not in words and table.shape == (26, 5)
    words.sort(key=lambda word: list(rows).index(word))
    expected = principal_components(SentenceEncoder.from_pretrained(teacher).encode(words), 5)
    np.testing.assert_allclose(np.abs([rows[word] for word in words]), np.abs(expected), atol=1e-4)
    record = json.loads((tmp_path / "m" / "provenance.json").read_text())
    assert [item["name"] for item in record["inputs"]][1:] == ["words", teacher.name]
    assert f"{teacher.name} (24 of 24 words" in (tmp_path / "m" / "README.md").read_text()


def test_an_encoder_over_pieces_is_trained_and_can_be_started_from(pairs, tmp_path, capsys):
    tokenizer, flags = tmp_path / "tokenizer", ("--kind", "bpe", "--vocabulary-size", "40")
    assert main(["train-tokenizer", "--pairs", str(pairs), "--output", str(tokenizer), *flags]) == 0
    trained = ("--tokenizer", tokenizer, "--hidden-size", 4, "--epochs", 1, "--batch-size", 8)
    assert run(pairs, tmp_path / "m", *trained) == 0
    ids = AutoTokenizer.from_pretrained(tokenizer)("a1 b2 common")["input_ids"]
    table = table_of(tmp_path / "m")[1]
    encoder = SentenceEncoder.from_pretrained(tmp_path / "m")
    np.testing.assert_allclose(encoder.encode("a1 b2 common"), table[ids].mean(0), atol=1e-6)
    capsys.readouterr()
    assert run(pairs, tmp_path / "n", "--tokenizer", tokenizer, "--initial-vectors", tmp_path / "m") == 0
    assert "100.0 % of the tokens" in capsys.readouterr().err
    np.testing.assert_array_equal(table_of(tmp_path / "n")[1][1:], table[1:])
    assert run(pairs, tmp_path / "words", "--initial-vectors", tmp_path / "m") == 0
    np.testing.assert_allclose(table_of(tmp_path / "words")[0]["a1"], encoder.encode("a1"), atol=1e-6)
