"""What words add to a cosine."""

from __future__ import annotations

import numpy as np
import pytest

from hf_paraphrase.demo.word_shares import word_shares, word_vectors
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import ModelError

TEXTS = ["the doctor bought a car .", "the rain is falling ."]


def test_shares_of_words_add_up_to_the_cosine(models):
    encoder = SentenceEncoder.from_pretrained(models / "gran")
    first, second = (word_vectors(encoder, text) for text in TEXTS)
    shares = word_shares(first, second)
    assert shares.shape == (6, 5) and first.words == TEXTS[0].split()
    assert shares.sum() == pytest.approx(float(encoder.similarity(*TEXTS)[0, 0]), abs=1e-6)
    np.testing.assert_allclose(first.embedding, encoder.encode(TEXTS[0]), atol=1e-6)


def test_shares_of_the_encoder_that_is_built_in_add_up_over_words_and_windows_of_letters():
    encoder = SentenceEncoder.from_pretrained()
    texts = ["The doctor's café bought  a (new) car.", "A physician purchased an automobile"]
    first, second = (word_vectors(encoder, text) for text in texts)
    assert first.words == ["The", "doctor's", "café", "bought", "a", "(", "new", ")", "car", "."]
    shares = word_shares(first, second)
    assert shares.sum() == pytest.approx(float(encoder.similarity(*texts)[0, 0]), abs=1e-5)
    best = np.unravel_index(shares.argmax(), shares.shape)
    assert (first.words[best[0]], second.words[best[1]]) == ("doctor's", "physician")


def test_a_model_whose_embedding_is_no_mean_of_its_tokens_is_reported(models, monkeypatch):
    encoder = SentenceEncoder.from_pretrained(models / "avg")
    forward = encoder.model.forward

    def changed(*args, **kwargs):
        output = forward(*args, **kwargs)
        output.pooler_output = output.pooler_output + 1
        return output

    monkeypatch.setattr(encoder.model, "forward", changed)
    with pytest.raises(ModelError, match="does not tell what a word adds"):
        word_vectors(encoder, TEXTS[0])
