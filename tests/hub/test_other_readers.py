"""The folders of `train-encoder` in sentence-transformers and model2vec; skipped where those are not installed."""

from __future__ import annotations

import numpy as np
import pytest

from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder

UNKNOWN = ["The doctor bought a zebra.", "quxly", "quxly ¿ blorf", "日本語 never seen"]
ODD = ["", "  ", "...", "\n the \t cat ", "the . " * 600]
AVERAGES = ["avg", "avg_skip", "avg_bpe", "trigram"]


def close(found, expected, atol=2e-6):
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=atol)


@pytest.mark.parametrize("name", AVERAGES)
def test_sentence_transformers_opens_averages_without_trust_and_gives_equal_vectors(
    encoder_folders, known_texts, name
):
    library = pytest.importorskip("sentence_transformers")
    model = library.SentenceTransformer(str(encoder_folders[name]), device="cpu")
    ours = SentenceEncoder.from_pretrained(encoder_folders[name])
    # Where the model leaves unknown words out (the tokenizer still names them), StaticEmbedding counts them.
    texts = known_texts if name == "avg_skip" else [*known_texts, *UNKNOWN, *ODD]
    close(model.encode(texts), ours.encode(texts))
    close(model.encode(texts, normalize_embeddings=True), ours.encode(texts, normalize=True))
    assert model.similarity_fn_name == "cosine" and model.get_max_seq_length() in (None, float("inf"))


@pytest.mark.parametrize("name", ["word_trigram", "gran", "recurrent", "sdae"])
def test_sentence_transformers_opens_other_encoders_with_trust_and_gives_equal_vectors(
    encoder_folders, known_texts, name
):
    library = pytest.importorskip("sentence_transformers")
    model = library.SentenceTransformer(str(encoder_folders[name]), device="cpu", trust_remote_code=True)
    assert [type(module).__name__ for module in model] == ["Transformer", "Pooling"]
    ours, texts = SentenceEncoder.from_pretrained(encoder_folders[name]), [*known_texts, *UNKNOWN, *ODD]
    # The mean of n differences, each times n, of states that are near 1 here: for a text of 600 words that rounds.
    atol = 5e-5 if name == "sdae" else 2e-6
    for batch_size in (1, 64):
        close(model.encode(texts, batch_size=batch_size), ours.encode(texts), atol)


@pytest.mark.parametrize("name", AVERAGES)
def test_model2vec_opens_averages_and_gives_equal_vectors(encoder_folders, known_texts, name):
    library = pytest.importorskip("model2vec")
    model = library.StaticModel.from_pretrained(encoder_folders[name])
    ours = SentenceEncoder.from_pretrained(encoder_folders[name])
    # model2vec leaves unknown words out, whatever the folder says.
    unknown = ours.model.config.unk_token_id
    texts = [text for text in known_texts if unknown not in ours.tokenize([text])[0]]
    assert texts
    texts += UNKNOWN[:1] if name == "avg_skip" else []
    close(model.encode(texts), ours.encode(texts))
    close(model.encode(texts, normalize=True), ours.encode(texts, normalize=True))
