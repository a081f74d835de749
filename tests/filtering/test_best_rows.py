from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.filtering.best_rows import draw_shared, take_best_first


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


def test_draws_with_one_seed_share_all_that_both_may_take_and_those_with_others_what_chance_gives():
    every, some = np.arange(10_000), np.arange(0, 10_000, 2)
    first, filtered, other = (
        draw_shared(rows, 2_000, 10_000, seed) for rows, seed in ((every, 3), (some, 3), (every, 4))
    )
    assert len(first) == len(set(first)) == len(filtered) == 2_000 and (np.diff(first) > 0).all()
    # Of the draw from all rows, those that the filter keeps are in the filtered draw, every one of them.
    assert set(first[first % 2 == 0]) <= set(filtered)
    # Two seeds share what is drawn of the pool, a fifth.
    assert 0.17 < np.isin(first, other).mean() < 0.23
    assert set(draw_shared(some, 9_999, 10_000, 3)) == set(some) and len(draw_shared(some[:0], 5, 10_000, 3)) == 0


def test_each_row_is_drawn_equally_often():
    counts = sum(np.isin(np.arange(40), draw_shared(np.arange(10, 30), 5, 40, seed)) for seed in range(2_000))
    assert not counts[:10].any() and not counts[30:].any()
    assert abs(counts[10:30] - 500).max() < 5 * (2_000 * 0.25 * 0.75) ** 0.5
