"""Encoders of any library open by folder, or by the name of an installed package, and are compared in one command."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from tiny_teachers import WORDS, sentences, write_teacher
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from hf_paraphrase.commands import main
from hf_paraphrase.encoders.any_encoder import open_encoder
from hf_paraphrase.encoders.distillation.teacher import Teacher
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.encoders.wordllama_folder import open_wordllama
from hf_paraphrase.errors import ModelError

TEXTS = [*sentences(6), ""]


def write_wordllama(folder, size=4, rows=None):
    """Weights and a tokenizer that adds a special token, as wordllama has them."""
    vocabulary = {"[UNK]": 0, "<s>": 1, **{word: number + 2 for number, word in enumerate(WORDS)}}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    for name in ("weights", "tokenizers"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizers" / "tiny_tokenizer_config.json"))
    table = np.random.default_rng(0).normal(size=(rows or len(vocabulary), size)).astype(np.float16)
    save_file({"embedding.weight": table}, folder / "weights" / f"tiny_{size}.safetensors")
    return table, vocabulary


@pytest.fixture
def sts(tmp_path):
    folder = tmp_path / "sts" / "STS16-en-test"
    folder.mkdir(parents=True)
    lines = sentences(8)
    pairs = "".join(f"{a}\t{b}\n" for a, b in zip(lines[::2], lines[1::2], strict=True))
    (folder / "STS.input.headlines.txt").write_text(pairs)
    (folder / "STS.gs.headlines.txt").write_text("1\n2\n4\n3\n")
    return tmp_path / "sts", lines


def test_one_command_compares_ours_with_a_transformer_and_a_table(sts, tmp_path, capsys):
    theirs = pytest.importorskip("sentence_transformers").SentenceTransformer(
        str(write_teacher(tmp_path / "bert")), device="cpu", local_files_only=True
    )
    theirs.save_pretrained(str(tmp_path / "st"))
    write_wordllama(tmp_path / "table")
    data, lines = sts
    words = ["--model", "builtin", str(tmp_path / "st"), str(tmp_path / "table"), "--truncate-dim", "3"]
    output = tmp_path / "results.json"
    assert (
        main(["evaluate", *words, "--data", str(data), "--baseline", "words", "builtin", "--output", str(output)]) == 0
    )
    results = {item["name"]: item for item in json.loads(output.read_text())["results"]}
    kinds = [(Path(name.partition(",")[0]).name, item["kind"]) for name, item in results.items()]
    assert {("words", "baseline"), ("st", "model"), ("st", "truncated"), ("table", "model")} <= set(kinds)
    first, second = (torch.from_numpy(theirs.encode(lines[start::2])) for start in (0, 1))
    expected = np.corrcoef(torch.cosine_similarity(first, second).numpy(), [1, 2, 4, 3])[0, 1] * 100
    found = results[str(tmp_path / "st")]
    assert found["sets"][0]["pearson"] == pytest.approx(expected, abs=0.01), found
    assert found["sha256"]
    assert "sentence_transformers" not in capsys.readouterr().err


def test_a_folder_is_opened_as_what_it_is(tmp_path):
    write_teacher(tmp_path / "bert")
    assert isinstance(open_encoder(tmp_path / "bert"), Teacher)
    assert isinstance(open_encoder("builtin"), SentenceEncoder)
    with pytest.raises(ModelError, match="no such model folder"):
        open_encoder(tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match="not a model folder"):
        open_encoder(tmp_path / "empty")


def test_tables_of_other_libraries_are_opened_as_tables(tmp_path):
    models = pytest.importorskip("sentence_transformers.models")
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer

    write_wordllama(tmp_path / "table")
    tokenizer = Tokenizer.from_file(str(tmp_path / "table" / "tokenizers" / "tiny_tokenizer_config.json"))
    table = models.StaticEmbedding(tokenizer, embedding_dim=5)
    SentenceTransformer(modules=[table], device="cpu").save_pretrained(str(tmp_path / "static"))
    opened = open_encoder(tmp_path / "static")
    assert isinstance(opened, SentenceEncoder) and opened.dimension == 5
    model2vec = pytest.importorskip("model2vec")
    vectors = np.random.default_rng(0).normal(size=(tokenizer.get_vocab_size(), 3)).astype(np.float32)
    model2vec.StaticModel(vectors, tokenizer).save_pretrained(str(tmp_path / "m2v"))
    opened = open_encoder(tmp_path / "m2v")
    assert isinstance(opened, SentenceEncoder) and opened.dimension == 3


def test_no_code_of_a_folder_runs(tmp_path):
    write_teacher(tmp_path / "bert")
    (tmp_path / "bert" / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Model: ...\n")
    settings = tmp_path / "bert" / "config.json"
    named = {"auto_map": {"AutoModel": "evil.Model", "AutoConfig": "evil.Model"}}
    settings.write_text(json.dumps(json.loads(settings.read_text()) | named))
    assert open_encoder(tmp_path / "bert").encode(TEXTS).shape == (7, 16)
    modules = [{"idx": 0, "name": "0", "path": "", "type": "evil.Model"}]
    (tmp_path / "bert" / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ModelError, match="module `Model` is not supported"):
        open_encoder(tmp_path / "bert")
    assert not (tmp_path / "ran").exists()


def test_a_table_of_wordllama_is_the_mean_of_its_tokens_without_special_ones(tmp_path):
    table, vocabulary = write_wordllama(tmp_path / "table", size=4)
    write_wordllama(tmp_path / "table", size=6)
    assert open_encoder(tmp_path / "table").dimension == 6
    (tmp_path / "table" / "weights" / "tiny_6.safetensors").unlink()
    vectors = open_encoder(tmp_path / "table").encode(TEXTS)
    for text, vector in zip(TEXTS[:-1], vectors, strict=False):
        expected = np.mean([table[vocabulary[word]] for word in text.split()], axis=0, dtype=np.float32)
        np.testing.assert_allclose(vector, expected, atol=1e-6)
    assert not vectors[-1].any()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: write_wordllama(folder, rows=20), "tokenizer ids up to 43"),
        (lambda folder: (folder / "tokenizers" / "tiny_tokenizer_config.json").write_text("{}"), "tokenizer cannot"),
        (lambda folder: _spoil(folder / "weights" / "tiny_4.safetensors"), "is not finite"),
        (
            lambda folder: (folder / "weights" / "tiny_4.safetensors").write_bytes(b"x" * 50),
            "the weights cannot be opened",
        ),
    ],
)
def test_a_damaged_table_is_refused(tmp_path, damage, message):
    write_wordllama(tmp_path / "table")
    damage(tmp_path / "table")
    with pytest.raises(ModelError, match=message):
        open_encoder(tmp_path / "table")


def _spoil(path):
    tensors = load_file(path)
    tensors["embedding.weight"][3, 1] = np.nan
    save_file(tensors, path)


def test_the_installed_package_gives_the_vectors_that_it_gives_itself():
    package = pytest.importorskip("wordllama")
    root = Path(package.__file__).parent
    texts = ["A man plays a guitar.", "", "日本語 😀 x", "  two  spaces "]
    expected = package.WordLlama.load(cache_dir=root, disable_download=True).embed(texts)
    np.testing.assert_allclose(open_encoder("wordllama").encode(texts), expected, atol=1e-6)


def test_a_folder_called_wordllama_in_the_working_directory_is_not_the_package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    write_wordllama(tmp_path / "wordllama", size=7)
    assert open_encoder("./wordllama").dimension == open_encoder(Path("wordllama")).dimension == 7
    if importlib.util.find_spec("wordllama").origin is None:
        with pytest.raises(ModelError, match="the package is not installed"):
            open_encoder("wordllama")
    else:
        assert open_encoder("wordllama").dimension != 7


def test_a_package_that_is_not_installed_is_one_line(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"wordllama: the package is not installed \(pip install wordllama\)"):
        open_wordllama()


def test_opening_the_table_of_the_package_imports_none_of_it(monkeypatch):
    pytest.importorskip("wordllama")
    for name in [name for name in sys.modules if name.partition(".")[0] == "wordllama"]:
        monkeypatch.delitem(sys.modules, name)
    open_wordllama()
    assert "wordllama" not in sys.modules
