from __future__ import annotations

import json

import numpy as np
import pytest
from tiny_encoders import new_model, write_average
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from hf_paraphrase.commands import main
from hf_paraphrase.encoders.join import join
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.exporting.token_weights import weight_subwords

WORDS = ["the", "cat", "sat", "on", "a", "mat"]
SENTENCES = ["the cat sat", "the mat", "zebra", "the cat on the mat"]
KNOWN = [sentence for sentence in SENTENCES if sentence != "zebra"]
CONSTANT = 0.1
SUBWORDS = ["[PAD]", "[UNK]", "the", "un", "##known", "known", "cat", "##s", "你好", "##你好", "rare"]
SPLIT_TEXT = ["the unknown cats", "the cat is known", "你好你好", "cat 你好"]


def subword_tokenizer():
    wordpiece = Tokenizer(models.WordPiece({token: i for i, token in enumerate(SUBWORDS)}, unk_token="[UNK]"))
    wordpiece.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=wordpiece, pad_token="[PAD]", unk_token="[UNK]")


@pytest.fixture
def export(tmp_path, capfd):
    """Exports a folder of the test to another one, and returns the exit code and what was logged."""
    write_average(tmp_path / "words", WORDS, skip_unknown=True)
    write_average(tmp_path / "plain", WORDS)
    write_average(tmp_path / "subwords", subword_tokenizer())
    for name, lines in (("sentences", SENTENCES), ("split", SPLIT_TEXT), ("unknown", ["zebra", ""])):
        (tmp_path / name).write_text("\n".join(lines) + "\n")

    def run(model, output, *flags, text="sentences"):
        flags = [*flags, *(["--sentences", str(tmp_path / text)] if text else [])]
        words = ["export", "--model", str(tmp_path / model), "--output", str(tmp_path / output)]
        capfd.readouterr()
        code = main([*words, "--format", "safetensors", *map(str, flags)])
        return code, capfd.readouterr().err

    return run


def opened(*folders):
    return [SentenceEncoder.from_pretrained(folder) for folder in folders]


def assert_refused(result, message, output):
    code, error = result
    assert code == 2 and message in error and "Traceback" not in error and not output.exists()


def test_a_frequency_weight_multiplies_each_token_by_the_formula(export, tmp_path):
    export("words", "out", "--frequency-weight", CONSTANT)
    before, after = opened(tmp_path / "words", tmp_path / "out")
    tokens = [word for sentence in SENTENCES for word in sentence.split()]
    for word in WORDS:
        # The word that is not in the vocabulary counts as a token too.
        weight = CONSTANT / (CONSTANT + tokens.count(word) / len(tokens))
        np.testing.assert_allclose(after.encode(word), weight * before.encode(word), rtol=1e-5)


def test_centred_embeddings_lack_the_mean_of_the_sentences(export, tmp_path):
    export("words", "out", "--center")
    before, after = opened(tmp_path / "words", tmp_path / "out")
    mean = before.encode(KNOWN).mean(axis=0)
    np.testing.assert_allclose(after.encode(KNOWN), before.encode(KNOWN) - mean, atol=1e-6)
    assert not after.encode("zebra").any()


def test_weights_come_before_the_mean_and_both_before_rounding_and_card_and_log_say_so(export, tmp_path):
    _, logged = export("words", "out", "--frequency-weight", CONSTANT, "--center", "--weights", "int8")
    before, after = opened(tmp_path / "words", tmp_path / "out")
    assert np.abs(after.encode(KNOWN).mean(axis=0)).max() < 0.05 * np.abs(before.encode(SENTENCES)).max()
    record = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert record["results"]["lowest_sentence_cosine"] > 0.99
    assert "cosine with the changed vectors before rounding at least" in logged
    card = (tmp_path / "out" / "README.md").read_text()
    assert "multiplied by a / (a + p), a = 0.1" in card and "the mean embedding of 4 sentences is subtracted" in card


@pytest.mark.parametrize(
    ("model", "flags", "text", "message"),
    [
        ("words", ["--center"], "unknown", "no token of the text is in the encoder's vocabulary"),
        ("gran", ["--frequency-weight", "0.1"], None, "--frequency-weight is for --sentences"),
        ("gran", ["--center"], None, "--center is for --sentences"),
        ("gran", ["--center"], "sentences", "for averages of one table, not for type gran"),
        ("gran", ["--subword-weight", "1"], "sentences", "for avg and concatenation, not for type gran"),
        ("gran", ["--frequency-weight", "0"], "sentences", "--frequency-weight must be at least 1e-06"),
        ("words", ["--subword-weight", "1"], "sentences", "--subword-weight changes nothing"),
    ],
)
def test_what_cannot_be_weighted_is_refused_in_one_line(export, tmp_path, model, flags, text, message):
    write_average(tmp_path / "gran", WORDS, classes="gran")
    assert_refused(export(model, "out", *flags, text=text), message, tmp_path / "out")


def vectors_of_tokens(folder, tokens):
    """The vector of each token, scaled integers included."""
    (encoder,) = opened(folder)
    names = encoder.tokenizer.get_vocab()
    return encoder.model.get_parameter("embeddings").detach().numpy()[[names[token] for token in tokens]]


def test_a_subword_weight_lengthens_tokens_by_their_fraction_in_split_words_but_not_scripts_without_spaces(
    export, tmp_path
):
    export("subwords", "out", "--subword-weight", "0.5", text="split")
    # `cat` is one of two tokens of `cats`, and twice a word of its own; `rare` does not occur.
    fractions = {"un": 1, "##known": 1, "##s": 1, "cat": 1 / 3}
    factors = [1 + 0.5 * fractions.get(token, 0) for token in SUBWORDS]
    before, after = (vectors_of_tokens(tmp_path / name, SUBWORDS) for name in ("subwords", "out"))
    np.testing.assert_allclose(after, before * np.array(factors)[:, None], rtol=1e-6)
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


def test_a_subword_weight_changes_only_the_subwords_of_joined_encoders(export, tmp_path):
    parts = [str(tmp_path / name) for name in ("subwords", "plain")]
    join(model=parts, weights=[0.7, 0.3], output=str(tmp_path / "joined"))
    for name in ("joined", "subwords"):
        export(name, f"{name}_out", "--subword-weight", "0.5", "--weights", "int8", text="split")
    texts = ["the unknown cats sat", "the cat"]
    found, *expected = (
        encoder.encode(texts)
        for encoder in opened(*(tmp_path / name for name in ("joined_out", "subwords_out", "plain")))
    )
    for rows, vectors, weight in zip(np.split(found, 2, axis=1), expected, (0.7, 0.3), strict=True):
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.testing.assert_allclose(rows, weight**0.5 * vectors / np.where(norms, norms, 1), atol=2e-3)


def test_tokens_are_not_weighted_twice_whatever_happens_in_between(export, tmp_path):
    flags = {"--frequency-weight": "0.1", "--subword-weight": "0.5"}
    export("subwords", "out", *(word for flag in flags.items() for word in flag), text="split")
    export("out", "centred", "--center", text="split")
    for source, copy in (("out", "copy"), ("copy", "copy of copy")):
        SentenceEncoder.from_pretrained(tmp_path / source).save_pretrained(tmp_path / copy)
    join(model=[str(tmp_path / "plain"), str(tmp_path / "out")], output=str(tmp_path / "joined"))
    for name in ("out", "centred", "copy", "copy of copy", "joined"):
        # A joined encoder has no frequency weight of its own.
        for flag, value in list(flags.items())[name == "joined" :]:
            message = f"{flag}: an earlier export has weighted the tokens already, with {value}"
            assert_refused(export(name, "again", flag, value, text="split"), message, tmp_path / "again")
