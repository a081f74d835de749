from __future__ import annotations

import gzip

import numpy as np
import pytest
import torch
from tiny_encoders import new_model, with_all_parameters_moved

from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import InputError
from hf_paraphrase.studies.gates.analysis import compare
from hf_paraphrase.studies.gates.gates import (
    DEPENDENCY,
    TAG,
    LabelledSentence,
    WordGate,
    gate_table,
    read_tagged,
    word_gates,
    words_of_texts,
)
from hf_paraphrase.tokenization.subword import train_bpe_tokenizer
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer

VOCABULARY = ["the", "cat", "sat", "do", "n't", "café", "."]
TEXTS = ["The cat don't sat.", "café", "", "zzz the cat sat the cat sat", "the"]


def make(tokenizer=None, **settings):
    tokenizer = tokenizer or build_word_level_tokenizer(VOCABULARY)
    sizes = {"vocab_size": len(tokenizer), "hidden_size": 6, "initializer_range": 0.7}
    model = new_model("gran", seed=5, **sizes, **settings)
    return SentenceEncoder(with_all_parameters_moved(model), tokenizer)


def alone(encoder, text):
    """The gates of one text as the model gives them, and its token vectors."""
    batch = encoder.tokenizer([text], return_tensors="pt")
    with torch.no_grad():
        output = encoder.model(batch["input_ids"], output_gates=True)
    return output.gates[0].double().numpy(), output.last_hidden_state[0].double().numpy()


def test_the_gates_of_words_are_those_of_each_sentence_alone():
    encoder = make(cell="gru", bidirectional=True)
    sentences = words_of_texts(encoder, TEXTS)
    assert [item.words for item in sentences] == [
        ["The", "cat", "do", "n't", "sat", "."],
        ["café"],
        ["zzz", "the", "cat", "sat", "the", "cat", "sat"],
        ["the"],
    ]
    found = word_gates(encoder, sentences)
    expected = [alone(encoder, item.text) for item in sentences]
    np.testing.assert_allclose(
        [word.gate for word in found], np.concatenate([gates.mean(1) for gates, _ in expected]), atol=1e-6
    )
    norms = np.concatenate([np.linalg.norm(vectors, axis=1) for _, vectors in expected])
    np.testing.assert_allclose([word.norm for word in found], norms, rtol=1e-5)
    assert [word.sentence for word in found] == [0] * 6 + [1] + [2] * 7 + [3]
    assert [word.word for word in found if not word.known] == ["zzz"]


def test_a_word_in_pieces_has_the_mean_of_its_pieces():
    texts = ["the cat sat there", "a catastrophe sat", "the cat"] * 5
    encoder = make(train_bpe_tokenizer(texts, 24))
    sentence = LabelledSentence.of_words(["the", "catastrophe", "sat"], tag=["DT", "NN", "VBD"])
    found = word_gates(encoder, [sentence])
    encoded = encoder.tokenizer.backend_tokenizer.encode(sentence.text)
    gates, _ = alone(encoder, sentence.text)
    assert len(encoded.ids) > 3 and [word.word for word in found] == ["the", "catastrophe", "sat"]
    for word, (start, end) in enumerate(sentence.spans):
        pieces = [row for row, (_, last) in enumerate(encoded.offsets) if start < last <= end]
        assert found[word].gate == pytest.approx(gates[pieces].mean(), abs=1e-6)
    assert [word.labels for word in found] == [{TAG: "DT"}, {TAG: "NN"}, {TAG: "VBD"}]
    assert found[0].components is None
    for word, whole in zip(found, word_gates(encoder, [sentence], components=True), strict=True):
        assert whole.components.shape == (6,) and whole.components.mean() == pytest.approx(word.gate, abs=1e-6)


def test_skipped_unknown_words_are_left_out():
    encoder = make(skip_unknown=True)
    found = word_gates(encoder, words_of_texts(encoder, ["zzz the cat", "zzz"]))
    # Alone an unknown word counts, for there is no other.
    assert [word.word for word in found] == ["the", "cat", "zzz"]


def row(name, gate, norm):
    return {"name": name, "gate": gate, "norm_of_a": norm}


def test_the_comparison_counts_pairs_in_the_papers_order_and_one_encoder_decides_nothing():
    found = compare(TAG, [row("NN", 0.5, 1), row("JJ", 0.1, 1), row("DT", 0.4, 1), row("TO", 0.3, 2)])
    assert (found["high"], found["low"], found["in_order"], found["in_order_by_norm"]) == (2, 2, 50, 25)
    clear = compare(DEPENDENCY, [row("compound", 0.9, 1), row("aux:pass", 0.1, 2)])
    assert clear["in_order"] == 100 and clear["verdict"] == "inconclusive"
    assert compare(TAG, [row("NN", 0.9, 1)]) is None and compare(TAG, [row("foo", 1, 1)]) is None


def test_the_interval_is_over_sentences_and_not_over_words():
    # Ten words of a sentence all have the sentence's own value, so there are 40 draws and not 400.
    level = np.random.default_rng(0).normal(size=40)
    words = [
        WordGate("a", 7 * row + 5, value, 2.0, True, {}, None) for row, value in enumerate(level) for _ in range(10)
    ]
    more = [WordGate("b", 0, level.mean() - 1, 1.0, True, {}, None)] * 3
    names = [*["a"] * 400, *["b"] * 3]
    found, low = gate_table([*words, *more], names, min_count=3, seed=0, replicates=2000)
    assert (low["name"], low["words"], low["norm_of_a"]) == ("b", 3, 1.0) and found["norm_of_a"] == 2.0
    assert found["gate"] == pytest.approx(level.mean()) and found["words"] == 400
    assert found["high"] - found["low"] == pytest.approx(2 * 1.96 * level.std() / np.sqrt(40), rel=0.1)
    assert gate_table(more, ["b", "b", None], min_count=3, seed=0) == []


def conllu(number, word, tag, label):
    return f"{number}\t{word}\t_\tUNIVERSAL\t{tag}\t_\t0\t{label}\t_\t_\n"


CONLLU = (
    "1-2\tThecat\t_\t_\t_\t_\t_\t_\t_\t_\n"
    + conllu(1, "The", "DT", "det")
    + "# a comment\n"
    + conllu(2, "cat", "NN", "nsubj")
    + "2.1\tghost\t_\t_\t_\t_\t_\t_\t_\t_\n"
    + conllu(3, "sat", "VBD", "root")
    + "\n\n"
    + conllu(1, "and/or", "CC", "cc")
    + conllu(2, "no", "_", "det")
)


def test_both_layouts_are_read_compressed_too(tmp_path):
    (tmp_path / "slashed.gz").write_bytes(gzip.compress(b"The/DT cat/NN sat/VBD\n\nand/or/CC no/DT\n"))
    slashed = list(read_tagged(tmp_path / "slashed.gz"))
    assert [(item.words, item.labels[TAG]) for item in slashed] == [
        (["The", "cat", "sat"], ("DT", "NN", "VBD")),
        (["and/or", "no"], ("CC", "DT")),
    ]
    for head in ("", "# text = The cat sat\n"):
        (tmp_path / "conllu").write_text(head + CONLLU)
        found = list(read_tagged(tmp_path / "conllu"))
        assert [item.words for item in found] == [item.words for item in slashed]
        assert [item.labels[DEPENDENCY] for item in found] == [("det", "nsubj", "root"), ("cc", "det")]
        # A word without a tag of its language has the universal one.
        assert [item.labels[TAG] for item in found] == [("DT", "NN", "VBD"), ("CC", "UNIVERSAL")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The/DT\n/NN\n", "tagged:2: `/NN` is not word/TAG"),
        (conllu(1, "a", "DT", "det") + "2\tb\n", "tagged:2: 2 tab-separated fields where CoNLL-U has 10"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, text, expected):
    (tmp_path / "tagged").write_text(text)
    with pytest.raises(InputError, match=expected):
        list(read_tagged(tmp_path / "tagged"))
