from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.tokenization.character_trigram import build_character_trigram_tokenizer, trigram_vocabulary
from hf_paraphrase.tokenization.word_level import save_tokenizer

KNOWN = ["The cat sat.", "a", "\u00e9 \u00fcber", "the  Cat"]
TEXTS = [*KNOWN, "at the \u00dcber-cat", "\u65e5\u672c\u8a9e never seen"]


def make(folder, *, skip_unknown):
    """A folder as `train-encoder` writes it for an Avg model."""
    tokenizer = build_character_trigram_tokenizer(trigram_vocabulary(KNOWN), skip_unknown=skip_unknown)
    torch.manual_seed(0)
    config = AvgConfig(
        vocab_size=len(tokenizer), hidden_size=8, initializer_range=0.5, unk_token_id=tokenizer.unk_token_id
    )
    AvgModel(config).save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    module = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"}
    (folder / "modules.json").write_text(json.dumps([module]))
    return SentenceEncoder.from_pretrained(folder)


@pytest.mark.parametrize("skip_unknown", [False, True])
def test_the_embedding_of_a_text_is_the_mean_of_its_trigram_vectors(tmp_path, skip_unknown):
    encoder = make(tmp_path, skip_unknown=skip_unknown)
    ids = encoder.tokenizer.get_vocab()
    unknown = [] if skip_unknown else [1]
    for text, trigrams in (
        ("The cat", [" th", "the", "he ", "e c", " ca", "cat", "at "]),
        ("a", [" a "]),
        ("tz", [None, None]),
        ("", []),
        (" \n", []),
    ):
        rows = [number for item in trigrams for number in (unknown if item is None else [ids[item]])]
        vectors = encoder.model.embeddings.detach().numpy()[rows]
        np.testing.assert_allclose(encoder.encode(text), vectors.mean(0) if rows else np.zeros(8), atol=1e-6)


def test_empty_texts_embed_to_zeros_with_the_smallest_vocabulary():
    tokenizer = build_character_trigram_tokenizer(["cat"])
    encoder = SentenceEncoder(AvgModel(AvgConfig(vocab_size=3, hidden_size=8)), tokenizer)
    assert not encoder.encode(["", ""]).any() and encoder.encode([]).shape == (0, 8)


@pytest.mark.parametrize("skip_unknown", [False, True])
def test_array_operations_and_the_tokenizers_library_give_equal_vectors(tmp_path, monkeypatch, skip_unknown):
    encoder, texts = make(tmp_path, skip_unknown=skip_unknown), ["", *TEXTS, " ", "[PAD] cat"]
    fast = encoder.encode(texts)
    monkeypatch.setattr(encoder._tokens, "_lookup_worth_it", lambda *_: None)
    np.testing.assert_array_equal(encoder.encode(texts), fast)


@pytest.mark.parametrize("skip_unknown", [False, True])
def test_sentence_transformers_gives_equal_vectors(tmp_path, skip_unknown):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    encoder = make(tmp_path, skip_unknown=skip_unknown)
    other = sentence_transformers.SentenceTransformer(str(tmp_path), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(other, encoder.encode(TEXTS), atol=1e-6)


def test_model2vec_gives_equal_vectors_where_unknown_trigrams_are_skipped(tmp_path):
    model2vec = pytest.importorskip("model2vec")
    encoder = make(tmp_path, skip_unknown=True)
    other = model2vec.StaticModel.from_pretrained(tmp_path).encode(TEXTS)
    np.testing.assert_allclose(other, encoder.encode(TEXTS), atol=1e-6)


def test_model2vec_gives_equal_vectors_where_all_trigrams_are_known(tmp_path):
    model2vec = pytest.importorskip("model2vec")
    encoder = make(tmp_path, skip_unknown=False)
    other = model2vec.StaticModel.from_pretrained(tmp_path).encode(KNOWN)
    np.testing.assert_allclose(other, encoder.encode(KNOWN), atol=1e-6)
