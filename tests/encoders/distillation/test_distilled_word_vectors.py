from __future__ import annotations

import numpy as np
from tiny_teachers import WORDS, write_teacher

from hf_paraphrase.encoders.initial_vectors import read_initial_vectors
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder


def test_distilled_vectors_are_those_of_the_words_on_the_axes_of_a_singular_value_decomposition(tmp_path):
    vectors = read_initial_vectors(write_teacher(tmp_path), WORDS, dimension=5)
    assert vectors.words == WORDS and vectors.matrix.dtype == np.float32
    encoded = SentenceEncoder.from_pretrained(tmp_path).encode(WORDS).astype(np.float64)
    left, values, _ = np.linalg.svd(encoded - encoded.mean(0), full_matrices=False)
    np.testing.assert_allclose(np.abs(vectors.matrix), np.abs(left * values)[:, :5], atol=1e-4)
