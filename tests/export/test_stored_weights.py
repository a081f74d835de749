from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from hf_paraphrase.errors import ModelError
from hf_paraphrase.export.stored_weights import WEIGHTS, store, store_weights

NUMBERS = st.floats(-6e4, 6e4, width=32)
MATRICES = arrays(np.float32, array_shapes(min_dims=2, max_dims=2, min_side=0), elements=NUMBERS)


@given(MATRICES)
def test_no_number_of_a_row_in_8_bits_is_off_by_more_than_half_a_scale(matrix):
    stored = store(matrix, "int8", name="w")
    assert stored.values.dtype == np.int8 and stored.scales is not None and stored.scales.shape == (len(matrix),)
    assert stored.values.min(initial=0) >= -127
    error = np.abs(stored.rounded().astype(np.float64) - matrix)
    assert (error <= stored.scales[:, None].astype(np.float64) * 0.5001 + 1e-44).all()
    largest = np.abs(matrix).max(axis=1, initial=0)
    assert (stored.scales[largest > 1e-30] <= largest[largest > 1e-30] / 127 * 1.001).all()


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused_by_name(weights, value):
    with pytest.raises(ModelError, match=r"`gate\.bias` have values"):
        store_weights({"gate.bias": np.array([1.0, value])}, weights)


def test_numbers_beyond_half_precision_are_refused():
    with pytest.raises(ModelError, match=r"`w` have 70000, and float16 ends at 65504 \(use --weights float32"):
        store(np.array([[1.0, 7e4]]), "float16", name="w")


def test_only_matrices_are_rounded():
    values = {
        "embeddings": np.full((2, 2), 0.1, np.float32),
        "cell.peepholes": np.full((3, 2), 0.1, np.float32),
        "cell.bias": np.full(2, 0.1, np.float32),
    }
    stored = store_weights(values, "float16")
    rounded = {name: value.rounded() for name, value in stored.items()}
    assert {name: value.shape for name, value in rounded.items()} == {n: v.shape for n, v in values.items()}
    np.testing.assert_array_equal(rounded["cell.bias"], values["cell.bias"])
    np.testing.assert_array_equal(rounded["cell.peepholes"], values["cell.peepholes"])
    np.testing.assert_array_equal(rounded["embeddings"], np.float16(0.1))
