from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.filtering.best_rows import take_best_first


@settings(max_examples=150, deadline=None)
@given(
    values=st.lists(st.one_of(st.integers(0, 5), st.just(float("nan"))), max_size=25),
    first=st.integers(1, 30),
    limit=st.integers(1, 60),
    ranked=st.booleans(),
)
def test_the_best_rows_are_those_of_a_loop_over_the_sorted_list(values, first, limit, ranked):
    lengths = np.array([1 + index % 4 for index in range(len(values))], np.int64)
    ranking = np.array(values, float) if ranked else None
    order = sorted(range(len(values)), key=lambda row: (values[row] != values[row], -values[row])) if ranked else None
    order = list(range(len(values))) if order is None else order
    found = take_best_first(len(values), ranking=ranking, first=first)
    assert found.tolist() == sorted(order[:first])
    expected, tokens = [], 0
    for row in order:
        if tokens >= limit:
            break
        expected.append(row)
        tokens += lengths[row]
    found = take_best_first(len(values), ranking=ranking, lengths=lengths, max_tokens=limit)
    assert found.tolist() == sorted(expected)
