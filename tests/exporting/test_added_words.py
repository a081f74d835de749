from __future__ import annotations

import json
import shutil

import huggingface_hub
import numpy as np
import pytest
from safetensors.numpy import load_file
from tiny_encoders import write_average
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from hf_paraphrase.commands import main
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.exporting import added_words
from hf_paraphrase.tokenization.encoder_pieces import train_encoder_bpe
from hf_paraphrase.tokenization.word_level import as_fast_tokenizer

SYLLABLES = ["ba", "ke", "lo", "mi", "nu", "ra", "so", "ti"]
FREQUENT = [first + second for first in SYLLABLES for second in SYLLABLES]
RARE = [first + second for first in FREQUENT[:6] for second in FREQUENT[-6:]]
TEXTS = [" ".join(FREQUENT[start : start + 4]) for start in range(0, 64, 4)]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """An average over subwords, which splits the rare words, and a teacher that knows all words."""
    root = tmp_path_factory.mktemp("words")
    write_average(root / "student", train_encoder_bpe(TEXTS * 3, 200), hidden_size=6, initializer_range=1.0)
    write_average(root / "teacher", FREQUENT + RARE, seed=1, hidden_size=8, initializer_range=1.0)
    (root / "words.txt").write_text("\n".join([*FREQUENT, *RARE, "two words", "", RARE[0]]) + "\n")
    return root


@pytest.fixture(autouse=True)
def _little(monkeypatch):
    monkeypatch.setattr(added_words, "_FEWEST_KNOWN", 50)


def export(root, output, *flags, words="words.txt", model="student"):
    given = ["--words", str(root / words), "--words-teacher", str(root / "teacher")]
    words = ["export", "--model", str(root / model), "--format", "safetensors", "--output", str(output)]
    return main([*words, *given, *flags])


@pytest.mark.parametrize(("flags", "length"), [((), 1.4), (("--word-length", "1.1"), 1.1)])
def test_split_words_become_tokens_by_the_formula_and_all_others_stay(folders, tmp_path, flags, length):
    assert export(folders, tmp_path / "out", *flags) == 0
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
        expected = length * np.median(np.linalg.norm(known, axis=1)) * middle / np.linalg.norm(middle)
        np.testing.assert_allclose(after.encode(word), expected, rtol=1e-3, atol=1e-4)
    record = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert record["results"]["added_words"] == len(RARE) and len(record["inputs"]) == 3
    card = (tmp_path / "out" / "README.md").read_text()
    assert f"{len(RARE)} whole words are new tokens" in card
    sources = card.partition("The new tokens come from these too")[2].split("\n\n")[1].splitlines()
    assert [source.split(" (")[0] for source in sources] == ["* `words.txt`", "* `teacher`"]


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
        ("teacher", "words.txt", "mark the start of every word alike, not to this WordLevel"),
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


def test_words_added_twice_do_not_teach_the_map_and_padding_or_truncation_changes_nothing(folders, tmp_path):
    (folders / "half.txt").write_text("\n".join([*FREQUENT, *RARE[:18]]))
    assert export(folders, tmp_path / "once") == export(folders, tmp_path / "half", words="half.txt") == 0
    shutil.copytree(tmp_path / "half", folders / "half", dirs_exist_ok=True)
    tokenizer = Tokenizer.from_file(str(folders / "half" / "tokenizer.json"))
    tokenizer.enable_padding(length=9)
    tokenizer.enable_truncation(1)
    tokenizer.save(str(folders / "half" / "tokenizer.json"))
    assert export(folders, tmp_path / "twice", model="half") == 0
    once, twice = (load_file(tmp_path / name / "model.safetensors")["embeddings"] for name in ("once", "twice"))
    np.testing.assert_allclose(twice, once, rtol=1e-5, atol=1e-5)


def test_words_that_the_teacher_embeds_to_zeros_are_left_out(folders, tmp_path, capfd):
    teacher = SentenceEncoder.from_pretrained(folders / "teacher")
    teacher.model.config.skip_unknown = True
    teacher.save_pretrained(folders / "skipping")
    (folders / "unknown.txt").write_text("\n".join([*FREQUENT, RARE[0], "zzzz"]))
    assert export(folders, tmp_path / "out", "--words-teacher", str(folders / "skipping"), words="unknown.txt") == 0
    assert f"1 of {len(FREQUENT) + 2} words are new tokens" in capfd.readouterr().err


@pytest.mark.parametrize("kind", ["bytes", "suffix", "no split"])
def test_tokens_that_no_sentence_would_contain_are_refused(folders, tmp_path, capfd, kind):
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    suffix = {"end_of_word_suffix": "</w>"} if kind == "suffix" else {}
    if kind != "no split":
        tokenizer.pre_tokenizer = (
            pre_tokenizers.Whitespace() if kind == "suffix" else pre_tokenizers.ByteLevel(add_prefix_space=False)
        )
    trainer = trainers.BpeTrainer(special_tokens=["[PAD]", "[UNK]"], show_progress=False, **suffix)
    tokenizer.train_from_iterator(TEXTS, trainer)
    fast = as_fast_tokenizer(tokenizer, pad_token="[PAD]", unk_token="[UNK]")
    write_average(folders / kind, fast, hidden_size=6)
    assert export(folders, tmp_path / "out", model=kind) == 2
    assert "tokenizers of BPE that mark the start of every word alike" in capfd.readouterr().err


def test_a_teacher_on_the_hub_is_fetched_first(folders, tmp_path, monkeypatch):
    snapshot = tmp_path / "hub" / "models--me--teacher" / "snapshots" / "abc"
    shutil.copytree(folders / "teacher", snapshot)
    (tmp_path / "hub" / "models--me--teacher" / "refs").mkdir()
    (tmp_path / "hub" / "models--me--teacher" / "refs" / "main").write_text("abc")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert export(folders, tmp_path / "out", "--words-teacher", "me/teacher") == 0
    record = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert "me/teacher" in [read["name"] for read in record["inputs"]]
