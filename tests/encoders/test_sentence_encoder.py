from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_encoders import write_average
from tiny_training import SIZE, make
from tiny_training import tokenizer as tokenizer_of_letters

from hf_paraphrase.encoders.backends.padded_batches import TOKENS_PER_BATCH, batch_by_length
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.models.tokenization_concatenation import ConcatenationTokenizer

TEXTS = ["a1 a2 a3", "", "a4", "nothing known", "a5 b6 b7 b8 b9", "  ", "a4"]


@pytest.fixture(params=["avg", "lstm"])
def encoder(request):
    return SentenceEncoder(make(request.param), tokenizer_of_letters())


def test_vectors_are_those_of_the_model_in_input_order_whatever_the_batch_size(encoder, monkeypatch):
    ids = encoder.tokenizer(TEXTS, padding=True, return_tensors="pt")
    expected = encoder.model.eval()(**ids).pooler_output.detach().numpy()
    expected[3] = 0  # of unknown words only
    for size, threads in ((1, 1), (2, 3), (3, 1), (100, 3)):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        np.testing.assert_allclose(encoder.encode(TEXTS, batch_size=size), expected, atol=1e-6)
    alone = np.stack([encoder.encode(text) for text in TEXTS])
    assert alone.dtype == np.float32 and not alone[[1, 3, 5]].any()
    np.testing.assert_allclose(alone, expected, atol=1e-6)


def test_similarity_takes_embeddings_for_texts(encoder):
    expected = encoder.similarity(TEXTS, TEXTS[:3])
    vectors = encoder.encode(TEXTS)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(norms > 0, norms, 1)
    np.testing.assert_allclose(expected, unit @ unit[:3].T, atol=1e-6)
    for first in (vectors, torch.from_numpy(vectors), TEXTS, np.array(TEXTS)):
        found = encoder.similarity(first, 3 * vectors[:3])
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(encoder.similarity(vectors[2], TEXTS[:3]), expected[2:3], atol=1e-6)
    with pytest.raises(ValueError, match="vectors of 8 components cannot be compared with vectors of 5"):
        encoder.similarity(vectors, vectors[:, :5])
    with pytest.raises(ValueError, match=r"not \(1, 7, 8\)"):
        encoder.similarity(vectors[None], vectors)


def model_folder(folder, model_type):
    tokenizer, given = tokenizer_of_letters(), {"hidden_size": 8}
    if model_type == "concatenation":
        tokenizer = ConcatenationTokenizer(parts=[tokenizer, tokenizer])
        given |= {"vocab_sizes": [SIZE, SIZE], "part_size": 4}
    return write_average(folder, tokenizer, classes=model_type, **given)


@pytest.mark.parametrize("model_type", ["avg", "concatenation", "gran"])
def test_truncated_embeddings_are_the_first_components(tmp_path, model_type):
    folder = model_folder(tmp_path / "model", model_type)
    whole = SentenceEncoder.from_pretrained(folder)
    vectors = whole.encode(TEXTS)
    assert whole.model is not None
    for size in (3, 8):
        encoder = SentenceEncoder.from_pretrained(folder, truncate_dim=size)
        assert encoder.dimension == size and whole.dimension == 8
        for found in (encoder.encode(TEXTS), whole.truncated(size).encode(TEXTS)):
            np.testing.assert_allclose(found, vectors[:, :size], rtol=0, atol=1e-6)
        assert encoder.encode("a1").shape == (size,) and encoder.encode([]).shape == (0, size)
        # Normalization follows truncation.
        norms = np.linalg.norm(encoder.encode(TEXTS, normalize=True), axis=1)
        np.testing.assert_allclose(norms, np.linalg.norm(vectors[:, :size], axis=1) > 0, atol=1e-6)


def test_a_truncated_average_is_saved_as_the_smaller_model_that_it_is(tmp_path):
    encoder = SentenceEncoder.from_pretrained(model_folder(tmp_path / "model", "avg"), truncate_dim=3)
    small = SentenceEncoder.from_pretrained(encoder.save_pretrained(tmp_path / "small"))
    np.testing.assert_array_equal(small.encode(TEXTS), encoder.encode(TEXTS))


# ----- padded batches


def test_batches_group_like_lengths_and_bound_the_padded_tokens():
    lengths = [3, 0, TOKENS_PER_BATCH + 5, 1, 2, TOKENS_PER_BATCH // 2, TOKENS_PER_BATCH // 2 - 1]
    assert list(batch_by_length(lengths, 3)) == [[2], [5, 6], [0, 4, 3]]
    assert list(batch_by_length([3, 0, 9, 1, 2], 3, tokens=6)) == [[2], [0, 4], [3]]
