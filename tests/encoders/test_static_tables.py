"""Encoders that are tables: equal to their models and to the libraries that made them, without PyTorch."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_encoders import write_average
from tiny_transformers import numbers, static_module, tokenizer_of, write_model2vec, write_modules
from tokenizers import Tokenizer, models, pre_tokenizers

from hf_paraphrase.artefacts.model_loading import load_model_folder, load_tokenizer
from hf_paraphrase.encoders.architectures import find_encoder_class
from hf_paraphrase.encoders.backends import mean_pooler
from hf_paraphrase.encoders.backends.mean_pooler import compute_row_means
from hf_paraphrase.encoders.join import join
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import ModelError
from hf_paraphrase.exporting.run import export
from hf_paraphrase.tokenization.character_trigram import build_character_trigram_tokenizer, trigram_vocabulary
from hf_paraphrase.tokenization.encoder_pieces import train_encoder_unigram
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, sentence_vocabulary

TEXTS = [
    "the cat sat on the mat",
    "",
    "A doctor, in Paris: zzz bought the zzz car!",
    "zzz",
    "naïve 東京 cats don't sit",
    "mat " * 700,
]
SENTENCES = [text for text in TEXTS if "zzz" not in text]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("tables")
    words = build_word_level_tokenizer(sentence_vocabulary(SENTENCES))
    trigrams = build_character_trigram_tokenizer(trigram_vocabulary(SENTENCES), skip_unknown=True)
    made = {
        "words": str(write_average(root / "words", words, dropout=0.3)),
        "skipping": str(write_average(root / "skipping", words, skip_unknown=True)),
        "pieces": str(write_average(root / "pieces", train_encoder_unigram(SENTENCES, 60))),
        "trigrams": str(write_average(root / "trigrams", trigrams)),
    }
    made["joined"], made["joined8"] = str(root / "joined"), str(root / "joined8")
    join(model=[made["words"], made["trigrams"]], weights=[3.0, 1.0], output=made["joined"])
    export(model=made["joined"], output=made["joined8"], format="safetensors", weights="int8")
    return made


def by_the_model(folder, texts):
    """Embeddings as the model computes them, text by text."""
    model, tokenizer = load_model_folder(folder, find_encoder_class(Path(folder)))
    ids = tokenizer(texts, add_special_tokens=True)["input_ids"]
    rows = [torch.tensor([row], dtype=torch.long) for row in ids]
    with torch.inference_mode():
        parts = [model(row, attention_mask=torch.ones_like(row)).pooler_output for row in rows]
    return np.concatenate(parts)


@pytest.mark.parametrize("name", ["words", "skipping", "pieces", "trigrams", "joined", "joined8", "builtin"])
def test_a_table_gives_what_its_model_gives(folders, name, monkeypatch):
    encoder = SentenceEncoder.from_pretrained(folders.get(name, name))
    found = encoder.encode(TEXTS)
    with monkeypatch.context() as patch:
        patch.setattr(mean_pooler, "sys", type("Sys", (), {"modules": {}}))
        for times in (1, 20):  # of many texts a table of integers is turned into floats
            without_torch = SentenceEncoder.from_pretrained(encoder.folder).encode(TEXTS * times)
            np.testing.assert_array_equal(without_torch[-len(TEXTS) :], found)
    vocabulary, unknown_id, special_ids = encoder.vocabulary()
    assert encoder.is_table
    tokenizer = load_tokenizer(encoder.folder, 10**6)
    assert (vocabulary, unknown_id) == (tokenizer.get_vocab(), tokenizer.unk_token_id)
    assert sorted(special_ids) == sorted(tokenizer.all_special_ids)
    expected = by_the_model(encoder.folder, TEXTS)
    if not found[3].any():
        expected[3] = 0  # of unknown words alone
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert name == "builtin" or not found[3].any()
    model = encoder.model
    assert not model.training and model.config.hidden_size == found.shape[1] == encoder.dimension
    opened, _ = load_model_folder(encoder.folder, type(model))
    left_out = ("dtype", "_name_or_path", "transformers_version")
    described = [{k: v for k, v in item.config.to_dict().items() if k not in left_out} for item in (model, opened)]
    assert described[0] == described[1] and torch.equal(model.embeddings, opened.embeddings)
    np.testing.assert_array_equal(encoder.encode(TEXTS), found)
    assert encoder.tokenizer(TEXTS[0])["input_ids"] == encoder.token_ids(TEXTS[0]).ids.tolist()


@pytest.mark.parametrize("columns", [1, 2, 300])
def test_means_of_rows_have_the_same_bits_as_by_pytorch(columns):
    generator = np.random.default_rng(columns)
    table = generator.normal(size=(50, columns)).astype(np.float32)
    lengths = np.array([3, 0, 1, 40, 0, 9, 200, 2, 17, 5] * 4)
    offsets = np.concatenate([[0], lengths.cumsum()])
    ids = generator.integers(0, 50, offsets[-1])
    many = compute_row_means(table, ids, offsets)
    np.testing.assert_array_equal(mean_pooler._compute_row_means_by_torch(table, ids, offsets), many)
    for mean, first, end in zip(many, offsets, offsets[1:], strict=False):
        np.testing.assert_allclose(mean, table[ids[first:end]].sum(0) / max(1, end - first), atol=1e-5)


def change_weights(folder, change):
    path = Path(folder) / "model.safetensors"
    save_file(change(load_file(path)), path, metadata={"format": "pt"})


DAMAGES = {
    "missing embeddings": lambda f: change_weights(f, lambda w: {"other": w["embeddings"]}),
    "no tokenizer.json": lambda f: (f / "tokenizer.json").unlink(),
    "the tokenizer has .* tokens": lambda f: change_weights(f, lambda w: {"embeddings": w["embeddings"][:3]}),
    "the table of word vectors cannot be opened": lambda f: change_weights(
        f, lambda w: {**w, "mapping": torch.full((len(w["embeddings"]),), -1)}
    ),
}


@pytest.mark.parametrize("message", DAMAGES)
def test_what_is_damaged_is_one_line_with_its_file(folders, tmp_path, message):
    folder = tmp_path / "model"
    if message == "missing embeddings":
        shutil.copytree(folders["words"], folder)
    else:
        write_model2vec(folder, word_pieces(), normalize=True)
    DAMAGES[message](folder)
    with pytest.raises(ModelError, match=message) as caught:
        SentenceEncoder.from_pretrained(folder)
    assert str(folder) in str(caught.value) and "\n" not in str(caught.value)


def test_weights_of_another_type_are_a_table_in_single_precision(folders, tmp_path):
    folder = shutil.copytree(folders["words"], tmp_path / "model")
    change_weights(folder, lambda weights: {"embeddings": weights["embeddings"].bfloat16()})
    exact = SentenceEncoder.from_pretrained(folders["words"]).encode(TEXTS)
    found = SentenceEncoder.from_pretrained(folder)
    np.testing.assert_allclose(found.encode(TEXTS), exact, atol=0.02)
    assert found.is_table and found.encode(TEXTS).dtype == np.float32


BARE = """
import sys
from functools import partial
from pathlib import Path

import hf_paraphrase as hp
from hf_paraphrase.commands import main

for folder in sys.argv[1:]:
    encoder = hp.SentenceEncoder.from_pretrained(folder)
    encoder.encode(["the cat", "a mat"] * 300)
    encoder.similarity("the cat", ["a mat"])
Path("cats").write_text("the cat\\n" * 300)
assert main(["encode", "--input", "cats"]) == 0
heavy = {"torch", "transformers", "datasets", "pyarrow", "scipy", "huggingface_hub", "tqdm", "yaml"}
assert not heavy & {*sys.modules}, heavy & {*sys.modules}

class Bare:
    names = "torch transformers datasets scipy pandas jinja2 accelerate evaluate sacrebleu polib sklearn"
    names += " threadpoolctl"

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names.split():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Bare())
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from hf_paraphrase.searching.index import build_index

encoder = hp.SentenceEncoder.from_pretrained()
texts = ["A doctor bought a car.", "It rains.", "A farmer sold a horse."]
vectors = encoder.encode(texts)
print(hp.semantic_search(encoder.encode("A physician purchased a car."), vectors, top_k=1)[0][0]["corpus_id"])
build_index(encoder, [texts], Path("index"))
index = hp.SearchIndex("index", encoder)
print(next(index.search("The farmer has sold his horse.", 1, filters=["position>1"]))[0].sentence)
Path("text").write_text("\\n".join(texts))
((_, found),) = hp.search(corpus="text", query=["Rain is falling."], top_k=1).neighbours
print(found[0].sentence)
print([pair[1:] for pair in hp.paraphrase_mining(encoder, [*texts, "A doctor has bought a car."], max_pairs=1)])

Path("rows.txt").write_text("\\n".join([texts[0], texts[0].upper(), "A doctor bought a new car.", texts[1]]))
rows = pa.table({"text": Path("rows.txt").read_text().splitlines()})
pa.csv.write_csv(rows, "rows.csv")
pq.write_table(rows, "rows.parquet")
for name in ("rows.txt", "rows.csv", "rows.parquet"):
    removed = hp.deduplicate(input=[name], output=f"out {name}").table("removed")
    print(removed.column("representative_row").to_pylist())
"""


def test_tables_import_no_large_library_and_search_and_deduplicate_where_there_is_none(folders, tmp_path):
    words = [sys.executable, "-c", BARE, *folders.values(), "builtin"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["0", "A farmer sold a horse.", "It rains.", "[(0, 3)]", *["[0, 0]"] * 3]
    assert np.load(tmp_path / "cats.npy").shape == (300, 512)


FOREIGN = [
    "The cats sat on a mat.",
    "",
    "zzz 東京",
    "A zzz doctor, naïve in Paris, don't!",
    "the cat " * 255 + "mat " * 100,
    "carting [UNK] cat [SEP]",
    "   ",
]
MANY = FOREIGN * 40


def word_pieces():
    return tokenizer_of("bert").backend_tokenizer


def unigrams():
    pieces = [("<unk>", 0.0), *((f"▁{word}", -2.0) for word in ("the", "cat", "mat")), ("▁", -3.0), ("s", -3.5)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer


def bytes_of_words():
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: number for number, letter in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
    return tokenizer


# Tokens may share vectors and have factors.
SIZE = word_pieces().get_vocab_size()
WEIGHTS = np.random.default_rng(1).random(SIZE).astype(np.float32)
MAPPING = np.random.default_rng(2).integers(0, 5, SIZE)


@pytest.mark.parametrize(
    ("tokenizer", "settings"),
    [
        (word_pieces, {}),
        (word_pieces, {"max_length": 5, "normalize": True}),
        (unigrams, {"max_length": None}),
        (bytes_of_words, {}),
        (word_pieces, {"vectors": numbers(5), "weights": WEIGHTS, "token_mapping": MAPPING, "normalize": True}),
    ],
)
def test_a_model2vec_folder_gives_what_model2vec_gives(tmp_path, tokenizer, settings):
    expected = write_model2vec(tmp_path, tokenizer(), **settings)
    encoder = SentenceEncoder.from_pretrained(tmp_path)
    # Here a text of unknown words and spaces embeds to zeros.
    MANY = [text for text in FOREIGN if text != "zzz 東京"] * 40
    for texts in (MANY[:6], MANY):
        np.testing.assert_allclose(encoder.encode(texts), expected.encode(texts), atol=1e-6)
    cut = type(expected).from_pretrained(tmp_path, dimensionality=3).encode(MANY)
    for found in (encoder.encode(MANY, truncate_dim=3), encoder.truncated(3).encode(MANY)):
        np.testing.assert_allclose(found, cut, atol=1e-6)
    assert encoder.is_table and encoder.dimension == 6
    # What the model of PyTorch computes is not other than what the table gives.
    assert encoder.model.config.hidden_size == 6
    np.testing.assert_allclose(encoder.encode(MANY), expected.encode(MANY), atol=1e-6)


def static_and_more(modules, tokenizer, more):
    return [static_module(modules, tokenizer), *(getattr(modules, name)() for name in more)]


def test_a_static_embedding_gives_what_sentence_transformers_gives_and_reads_as_much_of_a_text(tmp_path):
    texts = [text for text in MANY if text.strip() and text != "zzz 東京"]
    short = word_pieces()
    short.enable_truncation(4)
    left = word_pieces()
    left.enable_truncation(4, direction="left")
    for name, tokenizer, *more in (
        ("pieces", word_pieces()),
        ("normalized", word_pieces(), "Normalize"),
        ("bytes", bytes_of_words()),
        ("short", short),
        ("left", left),
    ):
        made = partial(static_and_more, tokenizer=tokenizer, more=more)
        expected = write_modules(tmp_path / name, made)
        encoder = SentenceEncoder.from_pretrained(tmp_path / name)
        for size in (None, 3):
            for options in ({}, {"normalize_embeddings": True}):
                vectors = expected.encode(texts, truncate_dim=size, **options)
                np.testing.assert_allclose(encoder.encode(texts, truncate_dim=size, **options), vectors, atol=1e-6)
                cut = encoder.truncated(size or 6).encode(texts, **options)
                np.testing.assert_allclose(cut, vectors, atol=1e-6)
        assert encoder.is_table == (name != "left") and not encoder.encode("").any()
        # A model of PyTorch that is made of the table gives the same.
        assert encoder.model and np.abs(encoder.encode(texts) - expected.encode(texts)).max() < 1e-6
        np.testing.assert_allclose(
            encoder.encode(texts, prompt="the cat "), expected.encode(texts, prompt="the cat "), atol=1e-6
        )


@pytest.mark.parametrize("name", ["builtin", "multilingual"])
def test_known_words_are_the_tokens_with_a_letter_or_digit_that_are_not_special(name):
    backend = SentenceEncoder.from_pretrained(name).backend
    vocabulary, unknown_id, special_ids = backend.vocabulary()
    ids = np.array(sorted(vocabulary.values()))[::7]
    # The names of later parts of a joined vocabulary begin with their number.
    names = {token_id: re.sub(r"^\[\d\](?=.)", "", token) for token, token_id in vocabulary.items()}
    expected = [any(map(str.isalnum, names[token_id])) for token_id in ids.tolist()]
    is_special = np.isin(ids, [unknown_id, *special_ids])
    assert np.array_equal(backend.mark_known_words(ids), np.array(expected) & ~is_special)
    assert not backend.mark_known_words(np.array([unknown_id, *special_ids])).any()
