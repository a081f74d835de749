from __future__ import annotations

import numpy as np
from tiny_teachers import WORDS, write_teacher

from hf_paraphrase.encoders.initial_vectors import distill_word_vectors, principal_components
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder


def test_principal_components_equal_those_of_a_singular_value_decomposition():
    generator = np.random.default_rng(0)
    data = (generator.normal(size=(300, 6)) * [9, 5, 3, 2, 1, 0.1] + 4).astype(np.float32)
    found = principal_components(data, 4)
    left, values, _ = np.linalg.svd(data.astype(np.float64) - data.mean(0, dtype=np.float64), full_matrices=False)
    expected = (left * values)[:, :4]
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-4)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.mean(0), 0, atol=1e-5)
    covariance = np.cov(found.T)
    np.testing.assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-3)


def test_distilled_vectors_are_those_of_the_words_projected(tmp_path):
    teacher = SentenceEncoder.from_pretrained(write_teacher(tmp_path))
    vectors = distill_word_vectors(teacher, WORDS, dimension=5)
    assert vectors.words == WORDS and vectors.matrix.shape == (42, 5)
    np.testing.assert_array_equal(vectors.matrix, principal_components(teacher.encode(WORDS), 5))
