from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.studies.detection.similarities import BINS, describe


@settings(deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60))
def test_the_numbers_are_those_of_numpy_and_every_cosine_is_in_a_bin(values):
    values = np.array(values)
    found = describe(values)
    assert (found["sentences"], found["least"], found["greatest"]) == (len(values), values.min(), values.max())
    assert found["mean"] == values.mean() and found["standard_deviation"] == values.std()
    assert found["quantiles"]["0.95"] == np.quantile(values, 0.95)
    assert len(found["counts"]) == BINS and found["counts"].sum() == len(values)
