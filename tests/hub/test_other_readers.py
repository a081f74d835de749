"""The folders of `train-encoder` in sentence-transformers and model2vec; skipped where those are not installed."""

from __future__ import annotations

import numpy as np
import pytest

from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder

KNOWN = ["The doctor bought a car.", "two men play chess", "it's raining", "cat", "the the cat"]
UNKNOWN = ["The doctor bought a zebra.", "quxly", "quxly ¿ blorf", "A café? Don't!", "日本語 never seen"]
ODD = ["", "  ", "...", "\n the \t cat ", "the doctor bought a car " * 120]
TEXTS = [*KNOWN, *UNKNOWN, *ODD]
AVERAGES = ["avg", "avg_skip", "avg_bpe", "trigram"]
OTHERS = ["word_trigram", "gran", "gran_gru", "recurrent", "sdae"]


def close(found, expected, atol=2e-6):
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=atol)


@pytest.mark.parametrize("name", AVERAGES)
def test_sentence_transformers_opens_averages_without_trust_and_gives_equal_vectors(encoder_folders, name):
    library = pytest.importorskip("sentence_transformers")
    model = library.SentenceTransformer(str(encoder_folders[name]), device="cpu")
    ours = SentenceEncoder.from_pretrained(encoder_folders[name])
    # Where the model leaves unknown words out (the tokenizer still names them), StaticEmbedding counts them.
    texts = [*KNOWN, *ODD] if name == "avg_skip" else TEXTS
    close(model.encode(texts), ours.encode(texts))
    close(model.encode(texts, normalize_embeddings=True), ours.encode(texts, normalize=True))
    assert model.similarity_fn_name == "cosine" and model.get_max_seq_length() in (None, float("inf"))


@pytest.mark.parametrize("name", OTHERS)
def test_sentence_transformers_opens_other_encoders_with_trust_and_gives_equal_vectors(encoder_folders, name):
    library = pytest.importorskip("sentence_transformers")
    model = library.SentenceTransformer(str(encoder_folders[name]), device="cpu", trust_remote_code=True)
    assert [type(module).__name__ for module in model] == ["Transformer", "Pooling"]
    ours = SentenceEncoder.from_pretrained(encoder_folders[name])
    # The mean of n differences, each times n, of states that are near 1 here: for a text of 600 words that rounds.
    atol = 5e-5 if name.startswith("sdae") else 2e-6
    expected = ours.encode(TEXTS)
    for batch_size in (1, 64):
        close(model.encode(TEXTS, batch_size=batch_size), expected, atol)
    close(model.encode(TEXTS, normalize_embeddings=True), ours.encode(TEXTS, normalize=True), atol)


@pytest.mark.parametrize("name", AVERAGES)
def test_model2vec_opens_averages_and_gives_equal_vectors(encoder_folders, name):
    library = pytest.importorskip("model2vec")
    model = library.StaticModel.from_pretrained(encoder_folders[name])
    ours = SentenceEncoder.from_pretrained(encoder_folders[name])
    # model2vec leaves unknown words out, whatever the folder says.
    unknown = ours.model.config.unk_token_id
    texts = [text for text in TEXTS if unknown not in ours.tokenize([text])[0]]
    assert set(KNOWN) <= set(texts)
    if name == "avg_skip":
        texts += ["The doctor bought a zebra.", "A café? Don't!"]
    close(model.encode(texts), ours.encode(texts))
    close(model.encode(texts, normalize=True), ours.encode(texts, normalize=True))


def test_recurrent_encoders_open_in_sentence_transformers_where_the_package_cannot_be_imported(
    encoder_folders, open_elsewhere
):
    pytest.importorskip("sentence_transformers")
    jobs = []
    for name in ("gran_gru", "recurrent", "sdae", "word_trigram"):
        expected = SentenceEncoder.from_pretrained(encoder_folders[name]).encode(KNOWN).tolist()
        folder = str(encoder_folders[name])
        jobs.append({"kind": "sentence_transformer", "folder": folder, "texts": KNOWN, "expected": expected})
    done = open_elsewhere(jobs)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("equal:") == len(jobs)
