from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import load_file
from tiny_encoders import write_average
from tokenizers import Tokenizer

from hf_paraphrase.commands import main
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.exporting import added_words
from hf_paraphrase.models.registry import config_class, model_class
from hf_paraphrase.tokenization.encoder_pieces import train_encoder_bpe
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer

SYLLABLES = ["ba", "ke", "lo", "mi", "nu", "ra", "so", "ti"]
FREQUENT = [first + second for first in SYLLABLES for second in SYLLABLES]
RARE = [first + second for first in FREQUENT[:6] for second in FREQUENT[-6:]]
TEXTS = [" ".join(FREQUENT[start : start + 4]) for start in range(0, 64, 4)]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """An average over subwords, which splits the rare words, and a teacher that knows all words."""
    root = tmp_path_factory.mktemp("words")
    classes = model_class("avg"), config_class("avg")
    tokenizer = train_encoder_bpe(TEXTS * 3, 200)
    write_average(root / "student", tokenizer, classes=classes, hidden_size=6, initializer_range=1.0)
    everything = build_word_level_tokenizer(FREQUENT + RARE)
    write_average(root / "teacher", everything, classes=classes, seed=1, hidden_size=8, initializer_range=1.0)
    (root / "words.txt").write_text("\n".join([*FREQUENT, *RARE, "two words", "", RARE[0]]) + "\n")
    return root


@pytest.fixture(autouse=True)
def _little(monkeypatch):
    monkeypatch.setattr(added_words, "_FEWEST_KNOWN", 50)


def export(root, output, *flags, words="words.txt", model="student"):
    given = ["--words", str(root / words), "--words-teacher", str(root / "teacher")]
    words = ["export", "--model", str(root / model), "--format", "safetensors", "--output", str(output)]
    return main([*words, *given, *flags])


def test_split_words_become_tokens_by_the_formula_and_all_others_stay(folders, tmp_path):
    assert export(folders, tmp_path / "out") == 0
    before, after = (SentenceEncoder.from_pretrained(folder) for folder in (folders / "student", tmp_path / "out"))
    teacher = SentenceEncoder.from_pretrained(folders / "teacher")
    np.testing.assert_allclose(after.encode(TEXTS), before.encode(TEXTS), atol=1e-6)
    names = after.tokenizer.get_vocab()
    assert [len(ids) for ids in after.tokenizer(RARE)["input_ids"]] == [1] * len(RARE)
    assert sorted(names[f"▁{word}"] for word in RARE) == list(range(len(names) - len(RARE), len(names)))
    # A naive computation: ridge regression of unit token vectors, then halfway to the sum of subwords.
    known, inputs = before.encode(FREQUENT), teacher.encode(FREQUENT, normalize=True)
    penalty = 0.01 * (inputs**2).sum() / 8
    outputs = known / np.linalg.norm(known, axis=1, keepdims=True)
    weights = np.linalg.inv(inputs.T @ inputs + penalty * np.eye(8)) @ inputs.T @ outputs
    for word in RARE:
        mapped = teacher.encode(word, normalize=True) @ weights
        pieces = before.encode(word)
        middle = mapped / np.linalg.norm(mapped) + pieces / np.linalg.norm(pieces)
        expected = 1.4 * np.median(np.linalg.norm(known, axis=1)) * middle / np.linalg.norm(middle)
        np.testing.assert_allclose(after.encode(word), expected, rtol=1e-3, atol=1e-4)
    record = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert record["results"]["added_words"] == len(RARE) and len(record["inputs"]) == 3
    assert f"{len(RARE)} whole words are new tokens" in (tmp_path / "out" / "README.md").read_text()


def test_the_enlarged_tokenizer_reads_alike_everywhere(folders, tmp_path):
    assert export(folders, tmp_path / "out", "--weights", "int4") == 0
    opened = SentenceEncoder.from_pretrained(tmp_path / "out")
    texts = [*TEXTS, " ".join(RARE[:5]), f"{RARE[0]}, {RARE[1]}! zzz"]
    opened.save_pretrained(tmp_path / "copy")
    np.testing.assert_allclose(
        SentenceEncoder.from_pretrained(tmp_path / "copy").encode(texts), opened.encode(texts), atol=1e-6
    )
    rust = Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    expected = opened.tokenizer(texts)["input_ids"]
    assert [encoding.ids for encoding in rust.encode_batch(texts)] == expected


@pytest.mark.parametrize(
    ("model", "words", "message"),
    [
        ("teacher", "words.txt", "words are added to tokenizers of BPE, not of WordLevel"),
        ("student", "rare.txt", "only 0 of the words are tokens of the encoder, and 50 must teach the map"),
        ("student", "empty.txt", "only 0 of the words are tokens of the encoder"),
    ],
)
def test_what_cannot_get_words_is_refused_in_one_line(folders, tmp_path, capfd, model, words, message):
    (folders / "rare.txt").write_text("\n".join(RARE))
    (folders / "empty.txt").write_text("\n")
    assert export(folders, tmp_path / "out", words=words, model=model) == 2
    error = capfd.readouterr().err
    assert message in error and "Traceback" not in error and not (tmp_path / "out").exists()


def test_known_words_alone_change_nothing(folders, tmp_path):
    (folders / "frequent.txt").write_text("\n".join(FREQUENT))
    assert export(folders, tmp_path / "out", words="frequent.txt") == 0
    tables = [
        load_file(folder / "model.safetensors")["embeddings"] for folder in (folders / "student", tmp_path / "out")
    ]
    np.testing.assert_array_equal(*tables)
