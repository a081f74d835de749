"""Folders of model2vec and of StaticEmbedding, opened as they are: equal to what these libraries give."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from hf_paraphrase.commands import main
from hf_paraphrase.encoders.any_encoder import open_encoder
from hf_paraphrase.encoders.known_texts import KnownTexts
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.encoders.static_folders import open_static_folder
from hf_paraphrase.errors import ModelError

WORDS = ["the", "cat", "sat", "on", "a", "mat", "in", "paris", "doctor", "bought", "car", "don", "t", "naive"]
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS, "##s", "##ing", "##t", ",", ".", "!", "'"]
TEXTS = [
    "The cats sat on a mat.",
    "",
    "zzz 東京",
    "A zzz doctor, naïve in Paris, don't!",
    "the cat " * 255 + "mat " * 100,
    "carting [UNK] cat [SEP]",
    "   ",
]
MANY = TEXTS * 40


def word_pieces():
    tokenizer = Tokenizer(models.WordPiece({piece: number for number, piece in enumerate(PIECES)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer


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


def numbers(rows, columns=6, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32)


def model2vec(folder, tokenizer, vectors=None, **settings):
    library = pytest.importorskip("model2vec")
    vectors = numbers(tokenizer.get_vocab_size()) if vectors is None else vectors
    library.StaticModel(vectors, tokenizer, **settings).save_pretrained(folder)
    return library.StaticModel.from_pretrained(folder)


def sentence_transformer(folder, tokenizer, *more, vectors=None):
    library = pytest.importorskip("sentence_transformers")
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    vectors = numbers(tokenizer.get_vocab_size()) if vectors is None else vectors
    model = library.SentenceTransformer(modules=[StaticEmbedding(tokenizer, vectors), *more], device="cpu")
    model.save(str(folder))
    return model


@pytest.mark.parametrize("tokenizer", [word_pieces, unigrams, bytes_of_words])
@pytest.mark.parametrize("settings", [{}, {"normalize": True}, {"max_length": None}, {"max_length": 5}])
def test_a_model2vec_folder_gives_what_model2vec_gives(tmp_path, tokenizer, settings):
    expected = model2vec(tmp_path, tokenizer(), **settings)
    encoder = SentenceEncoder.from_pretrained(tmp_path)
    for texts in (TEXTS, MANY):
        np.testing.assert_allclose(encoder.encode(texts), expected.encode(texts), atol=1e-6)
    assert encoder._model is None and encoder.dimension == 6
    assert [len(ids) for ids in encoder.tokenize(TEXTS)] == encoder.token_ids(TEXTS).lengths.tolist()
    # What the model of PyTorch computes is not other than what the table gives.
    assert encoder.model.config.hidden_size == 6
    np.testing.assert_allclose(encoder.encode(MANY), expected.encode(MANY), atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "tolerance"),
    [(np.float16, 2e-3), (np.float64, 1e-6), (np.int8, 1e-5)],
    ids=["float16", "float64", "int8"],
)
def test_model2vec_weights_of_other_types_are_single_precision(tmp_path, kind, tolerance):
    vectors = numbers(len(PIECES))
    vectors = (vectors * 40).astype(np.int8) if kind is np.int8 else vectors.astype(kind)
    expected = model2vec(tmp_path, word_pieces(), vectors)
    found = SentenceEncoder.from_pretrained(tmp_path).encode(TEXTS)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected.encode(TEXTS), rtol=tolerance, atol=tolerance)


def test_model2vec_vectors_that_tokens_share_and_factors_of_tokens_count(tmp_path):
    generator = np.random.default_rng(1)
    expected = model2vec(
        tmp_path,
        word_pieces(),
        numbers(5),
        weights=generator.random(len(PIECES)).astype(np.float32),
        token_mapping=generator.integers(0, 5, len(PIECES)),
        normalize=True,
    )
    found = SentenceEncoder.from_pretrained(tmp_path)
    np.testing.assert_allclose(found.encode(TEXTS), expected.encode(TEXTS), atol=1e-6)


def test_a_static_embedding_gives_what_sentence_transformers_gives(tmp_path):
    pytest.importorskip("sentence_transformers")
    from sentence_transformers.sentence_transformer.modules import Normalize

    texts = [text for text in MANY if text.strip()]
    for name, tokenizer, *more in (
        ("pieces", word_pieces()),
        ("normalized", word_pieces(), Normalize()),
        ("bytes", bytes_of_words()),
    ):
        expected = sentence_transformer(tmp_path / name, tokenizer, *more)
        encoder = SentenceEncoder.from_pretrained(tmp_path / name)
        np.testing.assert_allclose(encoder.encode(texts), expected.encode(texts), atol=1e-6)
        assert encoder._model is None and not encoder.encode("").any()


@pytest.mark.parametrize("direction", ["right", "left"])
def test_a_static_embedding_reads_as_much_of_a_text_as_its_tokenizer(tmp_path, direction):
    tokenizer = word_pieces()
    tokenizer.enable_truncation(4, direction=direction)
    sentence_transformer(tmp_path, tokenizer)
    import sentence_transformers

    texts = [text for text in MANY if text.strip()]
    expected = sentence_transformers.SentenceTransformer(str(tmp_path), device="cpu").encode(texts)
    encoder = SentenceEncoder.from_pretrained(tmp_path)
    np.testing.assert_allclose(encoder.encode(texts), expected, atol=1e-6)
    np.testing.assert_allclose(encoder.encode(texts[:3]), expected[:3], atol=1e-6)


def test_a_default_prompt_stands_before_every_text(tmp_path):
    sentence_transformer(tmp_path, word_pieces())
    path = tmp_path / "config_sentence_transformers.json"
    settings = json.loads(path.read_text())
    path.write_text(json.dumps({**settings, "prompts": {"query": "the mat "}, "default_prompt_name": "query"}))
    import sentence_transformers

    expected = sentence_transformers.SentenceTransformer(str(tmp_path), device="cpu").encode(["cat"])
    np.testing.assert_allclose(SentenceEncoder.from_pretrained(tmp_path).encode(["cat"]), expected, atol=1e-6)


def test_weights_in_bfloat16_are_read(tmp_path):
    sentence_transformer(tmp_path, word_pieces())
    path = next(tmp_path.rglob("model.safetensors"))
    table = load_file(path)["embedding.weight"].bfloat16()
    save_file({"embedding.weight": table}, path)
    found = SentenceEncoder.from_pretrained(tmp_path)
    np.testing.assert_array_equal(found._table.table, table.float().numpy())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("model2vec")
    model2vec(place, word_pieces(), normalize=True)
    return place


def test_every_verb_that_takes_an_encoder_takes_such_a_folder(folder, tmp_path, capsys):
    (tmp_path / "text").write_text("\n".join(text for text in TEXTS if text.strip()))
    assert main(["encode", "--model", str(folder), "--input", str(tmp_path / "text")]) == 0
    assert main(["search", "--model", str(folder), "--corpus", str(tmp_path / "text"), "--query", "cats"]) == 0
    assert "cats sat" in capsys.readouterr().out
    vectors = np.load(tmp_path / "text.npy")
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), np.linalg.norm(vectors, axis=1) > 0, atol=1e-6)
    assert isinstance(open_encoder(folder), SentenceEncoder)
    known = KnownTexts(SentenceEncoder.from_pretrained(folder)).embed(["zzz .", "the cat"])
    assert not known[0].any() and known[1].any()


def test_its_first_components_are_divided_by_their_own_length(folder):
    encoder = SentenceEncoder.from_pretrained(folder, truncate_dim=3)
    whole = SentenceEncoder.from_pretrained(folder).encode(TEXTS[:1])[0, :3]
    np.testing.assert_allclose(encoder.encode(TEXTS[:1])[0], whole / np.linalg.norm(whole), atol=1e-6)


def test_it_is_saved_as_an_ordinary_folder_of_ours(folder, tmp_path):
    encoder = SentenceEncoder.from_pretrained(folder)
    saved = SentenceEncoder.from_pretrained(encoder.save_pretrained(tmp_path / "saved"))
    texts = TEXTS[:4]
    np.testing.assert_allclose(saved.encode(texts, normalize=True), encoder.encode(texts), atol=1e-6)
    assert (tmp_path / "saved" / "modeling_avg.py").is_file()


def change(folder, name, **values):
    path = Path(folder) / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def rewrite(folder, **tensors):
    path = Path(folder) / "model.safetensors"
    save_file({**load_file(path), **tensors}, path)


DAMAGES = {
    "no tokenizer.json": lambda f: (f / "tokenizer.json").unlink(),
    "damaged tokenizer": lambda f: (f / "tokenizer.json").write_text("{}"),
    "max_length": lambda f: change(f, "config.json", max_length=0),
    "is not finite": lambda f: rewrite(f, embeddings=torch.full((len(PIECES), 6), torch.nan)),
    "tokens, the model": lambda f: rewrite(f, embeddings=torch.zeros(len(PIECES) + 1, 6)),
    "tokenizer ids up to": lambda f: rewrite(f, embeddings=torch.zeros(3, 6)),
    "which no table has": lambda f: rewrite(f, embeddings=torch.zeros(len(PIECES))),
    "names rows": lambda f: rewrite(f, mapping=torch.full((len(PIECES),), 999)),
    "factors for": lambda f: rewrite(f, weights=torch.ones(3)),
    "the weights cannot be opened": lambda f: (f / "model.safetensors").write_bytes(b"abc"),
}


@pytest.mark.parametrize("message", DAMAGES)
def test_a_damaged_folder_is_one_clear_line(folder, tmp_path, message):
    shutil.copytree(folder, tmp_path / "m")
    DAMAGES[message](tmp_path / "m")
    with pytest.raises(ModelError, match=message):
        SentenceEncoder.from_pretrained(tmp_path / "m")


def test_modules_that_are_not_known_and_places_outside_are_refused(tmp_path):
    sentence_transformer(tmp_path / "m", word_pieces())
    path = tmp_path / "m" / "modules.json"
    modules = json.loads(path.read_text())
    path.write_text(json.dumps([*modules, {"path": "1_Dense", "type": "sentence_transformers.models.Dense"}]))
    with pytest.raises(ModelError, match="modules behind the table that are not known: Dense"):
        SentenceEncoder.from_pretrained(tmp_path / "m")
    path.write_text(json.dumps([{**modules[0], "path": "../../etc"}]))
    with pytest.raises(ModelError, match="a module without a folder in this one"):
        SentenceEncoder.from_pretrained(tmp_path / "m")
    path.write_text(json.dumps([{**modules[0], "path": "elsewhere"}]))
    with pytest.raises(ModelError, match="no table of vectors"):
        SentenceEncoder.from_pretrained(tmp_path / "m")


def test_other_folders_are_not_recognised(tmp_path):
    assert open_static_folder(tmp_path) is None
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    assert open_static_folder(tmp_path) is None
    with pytest.raises(ModelError, match="of type `bert` is not a sentence encoder"):
        SentenceEncoder.from_pretrained(tmp_path)
