from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.filtering.random_negatives import random_negatives

KEYS = st.integers(0, 40)


@settings(max_examples=150, deadline=None)
@given(pairs=st.lists(st.tuples(KEYS, KEYS), min_size=1, max_size=60), seed=st.integers(0, 9))
def test_no_negative_is_a_true_pair_and_every_sentence_is_used_once_more(pairs, seed):
    first, second = (np.array(side, dtype=np.uint64) for side in zip(*pairs, strict=True))
    try:
        rows = random_negatives(first, second, seed)
    except ValueError:
        # Only where nearly every sentence is a paraphrase of nearly every other.
        assert len(set(pairs)) < 15 or len({key for pair in pairs for key in pair}) < 15
        return
    assert sorted(rows.tolist()) == list(range(len(pairs)))
    true = set(pairs) | {(right, left) for left, right in pairs}
    drawn = list(zip(first.tolist(), second[rows].tolist(), strict=True))
    assert not true & set(drawn)
    assert all(left != right for left, right in drawn)
    assert np.array_equal(rows, random_negatives(first, second, seed))


def test_draws_are_spread_over_all_rows():
    keys = np.arange(2000, dtype=np.uint64)
    rows = random_negatives(keys, keys + np.uint64(5000), 1)
    distances = np.abs(rows - np.arange(2000))
    assert 550 < distances.mean() < 780  # a third of 2,000 for a uniform permutation


def test_a_single_pair_has_no_negative():
    one = np.array([1], dtype=np.uint64)
    with pytest.raises(ValueError, match="too few"):
        random_negatives(one, one + np.uint64(1), 0)
