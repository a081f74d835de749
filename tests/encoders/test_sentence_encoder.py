from __future__ import annotations

import numpy as np
import pytest
import torch

from hf_paraphrase.encoders.padded_batches import embed_by_model
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.configuration_gran import GranConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.models.modeling_gran import GranModel
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

WORDS = [f"w{number}" for number in range(30)]
TEXTS = ["w1 w2 w3", "", "w4", "nothing known", "w5 w6 w7 w8 w9", "  ", "w4"]


def make(kind):
    torch.manual_seed(0)
    size = {"vocab_size": 32, "hidden_size": 8, "initializer_range": 0.5}
    model = AvgModel(AvgConfig(**size)) if kind == "avg" else GranModel(GranConfig(cell=kind, **size))
    return SentenceEncoder(model, build_word_level_tokenizer(WORDS))


def save(encoder, folder):
    encoder.model.save_pretrained(folder)
    save_tokenizer(encoder.tokenizer, folder)
    return folder


@pytest.fixture(params=["avg", "lstm", "gru"])
def encoder(request):
    return make(request.param)


def test_vectors_come_in_input_order_whatever_the_batch_size(encoder):
    alone = np.stack([encoder.encode(text) for text in TEXTS])
    assert alone.dtype == np.float32 and alone.shape == (7, 8)
    for size in (1, 2, 3, 100):
        np.testing.assert_allclose(encoder.encode(TEXTS, batch_size=size), alone, atol=1e-6)
    np.testing.assert_allclose(encoder.encode(TEXTS[::-1])[::-1], alone, atol=1e-6)
    assert not alone[[1, 5]].any() and alone[3].any()


def test_encode_equals_the_models_own_output(encoder):
    ids = encoder.tokenizer(TEXTS, padding=True, return_tensors="pt")
    expected = encoder.model.eval()(**ids).pooler_output.detach().numpy()
    np.testing.assert_allclose(encoder.encode(TEXTS), expected, atol=1e-6)


def test_similarity_takes_embeddings_for_texts(encoder):
    expected = encoder.similarity(TEXTS, TEXTS[:3])
    vectors = encoder.encode(TEXTS)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(norms > 0, norms, 1)
    np.testing.assert_allclose(expected, unit @ unit[:3].T, atol=1e-6)
    for first in (vectors, vectors.astype(np.float64), torch.from_numpy(vectors), TEXTS, np.array(TEXTS)):
        found = encoder.similarity(first, 3 * vectors[:3])
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(encoder.similarity(vectors[2], TEXTS[:3]), expected[2:3], atol=1e-6)
    with pytest.raises(ValueError, match="vectors of 8 components cannot be compared with vectors of 5"):
        encoder.similarity(vectors, vectors[:, :5])
    with pytest.raises(ValueError, match=r"not \(1, 7, 8\)"):
        encoder.similarity(vectors[None], vectors)


def long_enough():
    """More characters than the vocabulary has words, so that the array operations do the work, and several blocks."""
    generator = np.random.default_rng(0)
    texts = [" ".join(generator.choice([*WORDS, "other", "caf\u00e9", "W3's,"], size)) for size in range(60)]
    return [*TEXTS, *texts, "", *texts[::-1], " "]


def test_word_averages_equal_padded_batches_to_the_last_bit():
    encoder, texts = make("avg"), long_enough()
    expected = np.zeros((len(texts), 8), np.float32)
    for size in (1, 7, 200):
        expected[:] = 0
        ids = encoder.token_ids(texts)
        assert sum(embed_by_model(encoder.model, ids, expected, batch_size=size, pad_token_id=0)) > 0
        np.testing.assert_array_equal(encoder.encode(texts), expected)
