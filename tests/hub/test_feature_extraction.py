from __future__ import annotations

import numpy as np
from transformers import pipeline

from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder

TEXTS = ["The doctor bought a car.", "cat", "A zebra on the café?"]


def test_the_pipeline_opens_every_encoder_by_name_and_its_mean_is_the_embedding(encoder_folders):
    for name, folder in encoder_folders.items():
        extract = pipeline("feature-extraction", model=str(folder))
        vectors = SentenceEncoder.from_pretrained(folder).encode(TEXTS)
        for features, vector in zip(extract(TEXTS), vectors, strict=True):
            np.testing.assert_allclose(np.asarray(features)[0].mean(0), vector, rtol=1e-4, atol=1e-6, err_msg=name)


def test_the_pipeline_takes_a_batch_of_texts_of_different_lengths(encoder_folders):
    extract = pipeline("feature-extraction", model=str(encoder_folders["gran"]))
    for alone, together in zip(extract(TEXTS), extract(TEXTS, batch_size=3), strict=True):
        length = len(alone[0])
        np.testing.assert_allclose(np.asarray(together)[0][:length], np.asarray(alone)[0], rtol=1e-4, atol=1e-6)
        assert not np.asarray(together)[0][length:].any()
