from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.studies.detection.similarities import BINS, describe


def around(center, spread, count, seed=0):
    return np.clip(np.random.default_rng(seed).normal(center, spread, count), -1, 1)


@settings(deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60))
def test_the_numbers_are_those_of_numpy_and_every_cosine_is_in_a_bin(values):
    values = np.array(values)
    found = describe(values)
    assert (found["sentences"], found["least"], found["greatest"]) == (len(values), values.min(), values.max())
    assert found["mean"] == values.mean() and found["standard_deviation"] == values.std()
    assert found["quantiles"]["0.95"] == np.quantile(values, 0.95)
    assert len(found["counts"]) == BINS and found["counts"].sum() == len(values)


def test_a_second_smaller_bump_and_a_crowd_at_the_end_are_peaks_with_their_heights():
    values = np.concatenate([around(0.0, 0.1, 90_000), around(0.7, 0.1, 10_000, seed=1)])
    low, high = describe(values)["peaks"]
    assert (low["cosine"], high["cosine"]) == (pytest.approx(0.0, abs=0.02), pytest.approx(0.7, abs=0.02))
    assert low["height"] == 1 and high["height"] == pytest.approx(1 / 9, abs=0.02)
    values = np.concatenate([around(0.0, 0.1, 5_000), np.ones(2_000)])
    assert [round(peak["cosine"], 1) for peak in describe(values)["peaks"]] == [0.0, 1.0]
