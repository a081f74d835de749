from __future__ import annotations

import json

import numpy as np
import pytest
from tiny_encoders import write_average

from hf_paraphrase.commands import main
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.models.registry import config_class, model_class
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer

WORDS = ["the", "cat", "sat", "on", "a", "mat"]
SENTENCES = ["the cat sat", "the mat", "zebra", "the cat on the mat"]
CONSTANT = 0.1


@pytest.fixture
def exported(tmp_path):
    """The vectors of an average before an export with flags, and the encoder after it."""
    tokenizer = build_word_level_tokenizer(WORDS)
    folder = write_average(tmp_path / "model", tokenizer, hidden_size=5, skip_unknown=True)
    (tmp_path / "sentences.txt").write_text("\n".join(SENTENCES) + "\n")

    def export(*flags, sentences=True):
        given = ["--sentences", str(tmp_path / "sentences.txt")] if sentences else []
        words = ["export", "--model", str(folder), "--format", "safetensors", "--output", str(tmp_path / "out")]
        assert main([*words, *given, "--overwrite", *flags]) == 0
        return SentenceEncoder.from_pretrained(folder), SentenceEncoder.from_pretrained(tmp_path / "out")

    return export


def test_a_frequency_weight_multiplies_each_token_by_the_formula(exported):
    before, after = exported("--frequency-weight", str(CONSTANT))
    tokens = [word for sentence in SENTENCES for word in sentence.split()]
    for word in WORDS:
        # The word that is not in the vocabulary counts as a token too.
        weight = CONSTANT / (CONSTANT + tokens.count(word) / len(tokens))
        np.testing.assert_allclose(after.encode(word), weight * before.encode(word), rtol=1e-5)


def test_centred_embeddings_lack_the_mean_of_the_sentences(exported):
    before, after = exported("--center")
    known = [sentence for sentence in SENTENCES if sentence != "zebra"]
    mean = before.encode(known).mean(axis=0)
    np.testing.assert_allclose(after.encode(known), before.encode(known) - mean, atol=1e-6)
    assert not after.encode("zebra").any()


def test_weights_come_before_the_mean_and_both_before_rounding_and_card_and_log_say_so(exported, tmp_path, capfd):
    before, after = exported("--frequency-weight", str(CONSTANT), "--center", "--weights", "int8")
    known = after.encode([sentence for sentence in SENTENCES if sentence != "zebra"])
    assert np.abs(known.mean(axis=0)).max() < 0.05 * np.abs(before.encode(SENTENCES)).max()
    record = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert record["results"]["lowest_sentence_cosine"] > 0.99
    assert "cosine with the changed vectors before rounding at least" in capfd.readouterr().err
    card = (tmp_path / "out" / "README.md").read_text()
    assert "multiplied by a / (a + p), a = 0.1" in card and "the mean embedding of 4 sentences is subtracted" in card


def test_sentences_without_a_known_token_are_refused_and_leave_nothing(tmp_path, capfd):
    folder = write_average(tmp_path / "model", build_word_level_tokenizer(WORDS), hidden_size=5, skip_unknown=True)
    (tmp_path / "text").write_text("zebra\n\n")
    words = [
        "export",
        "--model",
        str(folder),
        "--format",
        "safetensors",
        "--output",
        str(tmp_path / "out"),
        "--center",
    ]
    assert main([*words, "--sentences", str(tmp_path / "text")]) == 2
    assert "no token of the text is in the encoder's vocabulary" in capfd.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--frequency-weight", "0.1"], "--frequency-weight is for --sentences"),
        (["--center"], "--center is for --sentences"),
        (["--sentences", "{text}", "--center"], "for averages of one table, not for type gran"),
        (["--sentences", "{text}", "--frequency-weight", "0"], "--frequency-weight must be at least 1e-06"),
    ],
)
def test_what_cannot_be_weighted_is_refused_in_one_line(tmp_path, capfd, flags, message):
    classes = model_class("gran"), config_class("gran")
    write_average(tmp_path / "gran", build_word_level_tokenizer(WORDS), classes=classes, hidden_size=5)
    (tmp_path / "text").write_text("the cat\n")
    flags = [flag.format(text=tmp_path / "text") for flag in flags]
    words = ["export", "--model", str(tmp_path / "gran"), "--format", "safetensors", "--output", str(tmp_path / "out")]
    assert main([*words, *flags]) == 2
    error = capfd.readouterr().err
    assert message in error and "Traceback" not in error and not (tmp_path / "out").exists()


def test_tokens_are_not_weighted_twice(exported, tmp_path, capfd):
    _, weighted = exported("--frequency-weight", str(CONSTANT))
    words = ["export", "--format", "safetensors", "--sentences", str(tmp_path / "sentences.txt")]
    # The record outlives a further export and a copy.
    assert main([*words, "--model", str(tmp_path / "out"), "--output", str(tmp_path / "half"), "--center"]) == 0
    weighted.save_pretrained(tmp_path / "copy")
    for name in ("out", "half", "copy"):
        given = ["--model", str(tmp_path / name), "--output", str(tmp_path / "again"), "--frequency-weight", "0.1"]
        assert main([*words, *given]) == 2
        assert "an earlier export has weighted the tokens already, with 0.1" in capfd.readouterr().err
        assert not (tmp_path / "again").exists()
