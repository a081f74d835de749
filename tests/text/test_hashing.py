from __future__ import annotations

import pyarrow as pa

from hf_paraphrase.text.hashing import draw_keys, hash64, hash128, hash_rows


def test_keys_of_caches_and_the_order_of_draws_are_the_same_in_every_version():
    assert hash128("A cat sat.") == hash128("A cat sat.") != hash128("A cat sat")
    assert len(hash128("")) == 32 and int(hash128("é"), 16) < 1 << 128
    assert draw_keys(pa.array(["a", "b"])).tolist() == [3405396810240292928, 8453121595177857668]


def test_rows_that_differ_in_the_order_of_their_texts_have_other_hashes():
    first, second = pa.array(["a", "b"]), pa.array(["b", "a"])
    keys = hash_rows(first, second)
    assert keys[0] != keys[1] and keys.tolist() == hash_rows(first, second).tolist()
    assert hash64(["a"]) == hash64([b"a"]) != hash64(["a"], seed=1)
