from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.errors import InputError
from hf_paraphrase.searching.semantic_search import semantic_search
from hf_paraphrase.vectors.exact_search import find_similar_pairs, keep_best_pairs
from hf_paraphrase.vectors.storage import open_vectors


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("row", [0, 2])
def test_vectors_with_nan_or_infinity_are_refused_by_the_name_of_their_side(side, value, row):
    sides = np.random.default_rng(0).normal(size=(2, 4, 3)).astype(np.float32)
    sides[side][row, 1] = value
    name = ("query", "corpus")[side]
    with pytest.raises(InputError, match=f"^{name}_embeddings with NaN or infinity, the first in row {row} "):
        semantic_search(*sides, query_chunk_size=2, corpus_chunk_size=2)


@pytest.mark.parametrize("rows", [4096, 64, 7])
def test_mining_equals_brute_force_in_blocks_of_any_size(tmp_path, monkeypatch, rows):
    monkeypatch.setattr("hf_paraphrase.vectors.exact_search._ROWS_PER_BLOCK", rows)
    unit = np.random.default_rng(0).normal(size=(300, 6)).astype(np.float32)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    unit[200] = unit[3]
    np.save(tmp_path / "v.npy", unit)
    cosines = np.triu(unit.astype(float) @ unit.T.astype(float), 1)
    expected = set(zip(*np.nonzero(cosines >= 0.7), strict=True))
    pairs = [
        (i, j)
        for one, two, _ in find_similar_pairs(open_vectors(tmp_path / "v.npy"), 0.7)
        for i, j in zip(one, two, strict=True)
    ]
    assert len(pairs) == len(set(pairs)) > 300 and set(pairs) == expected


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.sampled_from([0.5, 0.75, 1.0]), max_size=5), max_size=6), st.integers(1, 8))
def test_the_best_pairs_of_a_stream_are_those_of_a_sort(blocks, limit):
    parts, every, row = [], [], 0
    for scores in blocks:
        first = np.arange(row, row + len(scores))
        row += len(scores)
        parts.append((first, first + 1, np.array(scores)))
        every += zip((-score for score in scores), first.tolist(), strict=True)
    mined = keep_best_pairs(parts, limit)
    assert list(zip((-mined.scores).tolist(), mined.first.tolist(), strict=True)) == sorted(every)[:limit]
    assert mined.found == len(every) and (mined.second == mined.first + 1).all()
