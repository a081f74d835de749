from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.encoders.search.nearest_neighbours import nearest_neighbours
from hf_paraphrase.errors import UsageError


def by_sorting(queries, corpus, k):
    unit = [x / np.where((n := np.linalg.norm(x, axis=1, keepdims=True)) == 0, 1, n) for x in (queries, corpus)]
    similarity = (unit[0] @ unit[1].T).astype(np.float32)
    rows = np.argsort(-similarity, axis=1, kind="stable")[:, :k]
    return rows, np.take_along_axis(similarity, rows, 1)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 30), st.integers(1, 12), st.integers(1, 40))
def test_equals_a_full_sort_whatever_the_blocks(seed, queries, rows, k, block):
    generator = np.random.default_rng(seed)
    # Signs only: cosines are exact multiples of 1/4, so there are many ties, and rounding cannot hide their order.
    first, corpus = (generator.choice([-1.0, 1.0], (n, 4)).astype(np.float32) for n in (queries, rows))
    found, cosines = nearest_neighbours(first, corpus, k, query_block=3, corpus_block=block)
    expected, values = by_sorting(first, corpus, k)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(cosines, values)


def test_equals_a_full_sort_on_real_numbers_and_counts_zero_vectors_as_unrelated():
    generator = np.random.default_rng(0)
    queries, corpus = (generator.normal(size=(n, 16)).astype(np.float32) for n in (20, 500))
    corpus[7] = queries[3] = 0
    found, cosines = nearest_neighbours(queries, corpus, 10, corpus_block=64)
    expected, values = by_sorting(queries, corpus, 10)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(cosines, values, atol=1e-6)
    assert found[3].tolist() == list(range(10)) and not cosines[3].any()


def test_a_memory_mapped_corpus_and_too_great_a_k_work(tmp_path):
    corpus = np.eye(3, dtype=np.float32)
    np.save(tmp_path / "corpus.npy", corpus)
    found, _ = nearest_neighbours(corpus[1:2], np.load(tmp_path / "corpus.npy", mmap_mode="r"), 99)
    assert found.tolist() == [[1, 0, 2]]
    assert nearest_neighbours(corpus, corpus[:0], 5)[0].shape == (3, 0)


@pytest.mark.parametrize(("k", "dim"), [(0, 3), (1, 4)])
def test_senseless_arguments_are_refused(k, dim):
    with pytest.raises(UsageError):
        nearest_neighbours(np.ones((2, 3), np.float32), np.ones((2, dim), np.float32), k)
