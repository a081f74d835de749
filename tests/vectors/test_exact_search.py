from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.vectors.exact_search import find_nearest
from hf_paraphrase.vectors.similarity import unit_row_cosines


def vectors(rows, dimension=8, seed=0, scale=1.0):
    return (scale * np.random.default_rng(seed).normal(size=(rows, dimension))).astype(np.float32)


def by_sorting(queries, corpus, k):
    """All cosines in double precision, sorted; of equal ones the lower row."""
    unit = [
        side.astype(float) / np.maximum(np.linalg.norm(side.astype(float), axis=1), 1e-99)[:, None]
        for side in (queries, corpus)
    ]
    cosines = np.einsum("id,jd->ij", *unit).round(14)
    rows = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
    return rows, np.take_along_axis(cosines, rows, 1)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 30), st.integers(1, 12), st.integers(1, 40))
def test_equals_a_full_sort_whatever_the_blocks(seed, queries, rows, k, block):
    generator = np.random.default_rng(seed)
    # Signs only: cosines are exact multiples of 1/4, so there are many ties.
    first, corpus = (generator.choice([-1.0, 1.0], (n, 4)).astype(np.float32) for n in (queries, rows))
    result = find_nearest(first, corpus, k, query_block=3, corpus_block=block)
    for found, expected in zip(result, by_sorting(first, corpus, k), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("k", [1, 5, 40, 300, 1000])
@pytest.mark.parametrize("block", [32, 4096])
def test_equals_a_full_sort_with_zero_and_repeated_vectors(k, block):
    queries, corpus = vectors(53, 12), vectors(301, 12, 1)
    queries[3], queries[7] = corpus[9], 0
    corpus[100:140] = corpus[9]
    corpus[200] = 0
    rows, cosines = find_nearest(queries, corpus, k, query_block=10, corpus_block=block)
    expected, values = by_sorting(queries, corpus, k)
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_allclose(cosines, values, atol=1e-12)


@pytest.mark.parametrize("sides", [(1, -1), (1, 1)])
def test_negative_cosines_and_differences_below_float32_are_in_order(sides):
    queries = np.abs(vectors(15, 6, 4)) * sides[0]
    corpus = (np.abs(vectors(1, 6, 5)) + vectors(100, 6, 6, scale=1e-6)) * np.float32(sides[1])
    rows, _ = find_nearest(queries, corpus, 10, corpus_block=32)
    np.testing.assert_array_equal(rows, by_sorting(queries, corpus, 10)[0])


def test_zero_vectors_are_left_out():
    queries, corpus = vectors(20), vectors(90, seed=1)
    corpus[::7] = queries[4] = 0
    rows, cosines = find_nearest(queries, corpus, 80, skip_zero=True, corpus_block=16)
    expected, _ = by_sorting(queries, corpus, 90)
    for query, (row, values) in enumerate(zip(rows, cosines, strict=True)):
        kept = [item for item in expected[query] if item % 7] if query != 4 else []
        assert row.tolist() == kept + [-1] * (80 - len(kept))
        assert not values[len(kept) :].any()


def test_the_cosine_of_a_pair_does_not_depend_on_its_company():
    one, two = vectors(100, 33), vectors(100, 33, seed=1)
    together = unit_row_cosines(one, two)
    alone = [unit_row_cosines(one[i : i + 1], two[i : i + 1])[0] for i in range(100)]
    np.testing.assert_array_equal(together, alone)
