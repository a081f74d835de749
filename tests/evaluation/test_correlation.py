from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hf_paraphrase.errors import ModelError
from hf_paraphrase.evaluation.correlation import cosine_similarities, pearson, spearman


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_pearson_and_spearman_equal_scipy_also_with_ties_at_any_scale(scale):
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=200), generator.integers(0, 6, size=200).astype(float)
    assert pearson(x * scale + 1, y) == pytest.approx(pearson(x, y), abs=1e-6)
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 5)), max_size=30))
def test_a_correlation_is_always_a_number_between_minus_one_and_one(pairs):
    x, y = np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])
    for value in (pearson(x, y), spearman(x, y)):
        assert -1.0 <= value <= 1.0


def test_cosine_equals_the_formula_and_a_zero_vector_is_similar_to_nothing():
    first = np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 0.0], [1e-20, 0.0]], dtype=np.float32)
    second = np.array([[0.0, 2.0], [4.0, 3.0], [1.0, 1.0], [5.0, 0.0]], dtype=np.float32)
    np.testing.assert_allclose(cosine_similarities(first, second), [0.0, 24 / 25, 0.0, 1.0])


@pytest.mark.parametrize("bad", [np.full((2, 3), np.nan), np.zeros((2, 4)), np.zeros(3)])
def test_nan_and_wrong_shapes_from_an_encoder_are_errors_of_the_model(bad):
    with pytest.raises(ModelError):
        cosine_similarities(np.ones((2, 3)), bad)
