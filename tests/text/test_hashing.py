from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from hf_paraphrase.text.hashing import are_among, draw_keys, hash64, hash128, hash_rows


def test_keys_of_caches_and_the_order_of_draws_are_the_same_in_every_version():
    assert hash128("A cat sat.") == hash128("A cat sat.") != hash128("A cat sat")
    assert len(hash128("")) == 32 and int(hash128("é"), 16) < 1 << 128
    assert draw_keys(pa.array(["a", "b"])).tolist() == [3405396810240292928, 8453121595177857668]


def test_hashes_are_those_of_xxh3_for_texts_and_bytes_and_follow_the_seed():
    assert hash64(["", "a"]).tolist() == [0x2D06800538D394C2, 0xE6C632B61E964E1F]
    assert hash64(["a", "é"]).tolist() == hash64([b"a", "é".encode()]).tolist() != hash64(["a", "é"], seed=1).tolist()


@pytest.mark.parametrize("function", [hash_rows, draw_keys])
def test_rows_that_differ_in_the_order_or_the_border_of_their_texts_have_other_hashes(function):
    first, second = pa.array(["a", "b", "ab"]), pa.array(["b", "a", ""])
    keys = function(first, second).tolist()
    assert len({*keys, *function(second, first).tolist()}) == 4 and keys == function(first, second).tolist()


def test_values_are_looked_up_in_sorted_ones():
    assert are_among(np.array([1, 5, 9]), np.array([5, 7])).tolist() == [False, True, False]
    assert not are_among(np.array([1]), np.array([], np.int64)).any()
