from __future__ import annotations

import json

import numpy as np
import pytest
from tiny_encoders import new_model, write_average
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from hf_paraphrase.commands import main
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.exporting.token_weights import weight_subwords
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
        (["--sentences", "{text}", "--subword-weight", "1"], "for avg and concatenation, not for type gran"),
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


SUBWORDS = ["[PAD]", "[UNK]", "the", "un", "##known", "known", "cat", "##s", "你好", "##你好", "rare"]
SPLIT_TEXT = ["the unknown cats", "the cat is known", "你好你好", "cat 你好"]


def subword_tokenizer():
    wordpiece = Tokenizer(models.WordPiece({token: i for i, token in enumerate(SUBWORDS)}, unk_token="[UNK]"))
    wordpiece.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=wordpiece, pad_token="[PAD]", unk_token="[UNK]")


def vectors_of_tokens(folder, tokens):
    """The vector of each token, scaled integers included."""
    encoder = SentenceEncoder.from_pretrained(folder)
    names = encoder.tokenizer.get_vocab()
    return encoder.model.get_parameter("embeddings").detach().numpy()[[names[token] for token in tokens]]


def test_a_subword_weight_lengthens_tokens_by_their_fraction_in_split_words_but_not_scripts_without_spaces(tmp_path):
    folder = write_average(tmp_path / "model", subword_tokenizer(), hidden_size=5)
    (tmp_path / "text").write_text("\n".join(SPLIT_TEXT) + "\n")
    words = ["export", "--model", str(folder), "--format", "safetensors", "--sentences", str(tmp_path / "text")]
    assert main([*words, "--output", str(tmp_path / "out"), "--subword-weight", "0.5"]) == 0
    # `cat` is one of two tokens of `cats`, and twice a word of its own; `rare` does not occur.
    fractions = {"un": 1, "##known": 1, "##s": 1, "cat": 1 / 3}
    for token, before, after in zip(
        SUBWORDS,
        vectors_of_tokens(folder, SUBWORDS),
        vectors_of_tokens(tmp_path / "out", SUBWORDS),
        strict=True,
    ):
        np.testing.assert_allclose(after, before * (1 + 0.5 * fractions.get(token, 0)), rtol=1e-6)
    assert json.loads((tmp_path / "out" / "provenance.json").read_text())["results"]["subword_weight"] == 0.5
    assert "multiplied by 1 + b s, b = 0.5" in (tmp_path / "out" / "README.md").read_text()


def test_padding_and_truncation_of_a_tokenizer_do_not_change_subword_weights():
    tables = []
    for changed in (False, True):
        tokenizer = subword_tokenizer()
        if changed:
            tokenizer.backend_tokenizer.enable_padding(pad_id=0, pad_token="[PAD]")
            tokenizer.backend_tokenizer.enable_truncation(2)
        model = new_model("avg", vocab_size=len(SUBWORDS), hidden_size=5)
        weight_subwords(model, tokenizer, SPLIT_TEXT, 0.5)
        tables.append(model.get_parameter("embeddings").detach().numpy())
    np.testing.assert_array_equal(*tables)


def test_a_subword_weight_changes_only_the_subwords_of_joined_encoders(tmp_path):
    subwords = write_average(tmp_path / "subwords", subword_tokenizer(), hidden_size=5)
    plain = write_average(tmp_path / "words", build_word_level_tokenizer(WORDS), hidden_size=5)
    joined = [
        "join",
        "--model",
        str(subwords),
        str(plain),
        "--weights",
        "0.7",
        "0.3",
        "--output",
        str(tmp_path / "joined"),
    ]
    assert main(joined) == 0
    (tmp_path / "text").write_text("\n".join(SPLIT_TEXT) + "\n")
    words = ["export", "--format", "safetensors", "--sentences", str(tmp_path / "text"), "--subword-weight", "0.5"]
    for name in ("joined", "subwords"):
        output = str(tmp_path / f"{name}_out")
        assert main([*words, "--weights", "int8", "--model", str(tmp_path / name), "--output", output]) == 0
    texts = ["the unknown cats sat", "the cat"]
    found = SentenceEncoder.from_pretrained(tmp_path / "joined_out").encode(texts)
    parts = [SentenceEncoder.from_pretrained(tmp_path / name).encode(texts) for name in ("subwords_out", "words")]
    for rows, expected, weight in zip(np.split(found, 2, axis=1), parts, (0.7, 0.3), strict=True):
        norms = np.linalg.norm(expected, axis=1, keepdims=True)
        np.testing.assert_allclose(rows, weight**0.5 * expected / np.where(norms, norms, 1), atol=2e-3)


def test_tokens_are_not_weighted_twice(tmp_path, capfd):
    write_average(tmp_path / "model", subword_tokenizer(), hidden_size=5)
    (tmp_path / "text").write_text("\n".join(SPLIT_TEXT) + "\n")
    words = ["export", "--format", "safetensors", "--sentences", str(tmp_path / "text")]
    flags = ["--frequency-weight", str(CONSTANT), "--subword-weight", "0.5"]
    assert main([*words, *flags, "--model", str(tmp_path / "model"), "--output", str(tmp_path / "out")]) == 0
    # The record outlives a further export and copies.
    assert main([*words, "--model", str(tmp_path / "out"), "--output", str(tmp_path / "half"), "--center"]) == 0
    for source, copy in (("out", "copy"), ("copy", "copy of copy")):
        SentenceEncoder.from_pretrained(tmp_path / source).save_pretrained(tmp_path / copy)
    for name in ("out", "half", "copy", "copy of copy"):
        for flag, value in (("--frequency-weight", "0.1"), ("--subword-weight", "0.5")):
            given = ["--model", str(tmp_path / name), "--output", str(tmp_path / "again"), flag, value]
            assert main([*words, *given]) == 2
            assert f"{flag}: an earlier export has weighted the tokens already, with {value}" in capfd.readouterr().err
            assert not (tmp_path / "again").exists()


def test_a_subword_weight_of_a_joined_part_and_one_without_an_effect_are_refused(tmp_path, capfd):
    write_average(tmp_path / "subwords", subword_tokenizer(), hidden_size=5)
    write_average(tmp_path / "words", build_word_level_tokenizer(WORDS), hidden_size=5)
    (tmp_path / "text").write_text("\n".join(SPLIT_TEXT) + "\n")
    words = ["export", "--format", "safetensors", "--sentences", str(tmp_path / "text"), "--subword-weight", "0.5"]
    assert main([*words, "--model", str(tmp_path / "subwords"), "--output", str(tmp_path / "out")]) == 0
    parts = ["--model", str(tmp_path / "words"), str(tmp_path / "out")]
    assert main(["join", *parts, "--output", str(tmp_path / "joined")]) == 0
    SentenceEncoder.from_pretrained(tmp_path / "joined").save_pretrained(tmp_path / "copy")
    twice = "--subword-weight: an earlier export has weighted the tokens already, with 0.5"
    for name, message in (("joined", twice), ("copy", twice), ("words", "--subword-weight changes nothing")):
        capfd.readouterr()
        assert main([*words, "--model", str(tmp_path / name), "--output", str(tmp_path / "again")]) == 2
        error = capfd.readouterr().err
        assert message in error and "Traceback" not in error and not (tmp_path / "again").exists()
