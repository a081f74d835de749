from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hf_paraphrase.data.row_selection as row_selection
from hf_paraphrase.data.row_selection import RowStore, first_occurrences, hold_out
from hf_paraphrase.data.sources.bitext import clean
from hf_paraphrase.text.hashing import hash_rows
from hf_paraphrase.threads import mapped_in_order


def test_each_row_counts_under_the_first_rule_that_applies():
    rows = pa.table(
        {
            "source": ["", "a b c d", "a", "a b", "a b c d e", "\u00a0\u2028"],
            "target": ["a", "a", "a", "a b c", "", "a"],
        }
    )
    kept, counts = clean(rows, max_length=3, max_length_ratio=1.5)
    assert kept.to_pylist() == [{"source": "a", "target": "a"}, {"source": "a b", "target": "a b c"}]
    assert counts == {"empty_side": 3, "too_long": 1, "length_ratio": 0}
    assert clean(rows)[1] == {"empty_side": 3}
    assert clean(rows, max_length_ratio=3.9)[1] == {"empty_side": 3, "length_ratio": 1}


def test_sides_that_are_the_same_text_and_sides_without_any_are_left_out():
    rows = [("É  a", "e\u0301 a "), ("a", "a."), ("b", "\u200bB"), ("İ", "i"), ("c", "d")]
    rows += [
        (text, "d") for text in ("\u200b", "\ufeff", "\u200e", "\xad", "\u2060", "\u3164", "\u2800", "\x07", "\xa0")
    ]
    table = pa.table({"source": [s for s, _ in rows], "target": [t for _, t in rows]})
    kept, counts = clean(table, drop_identical=True)
    assert kept.num_rows == 2 and counts == {"empty_side": 9, "identical_sides": 3}


@given(st.lists(st.tuples(st.text(max_size=3), st.text(max_size=3)), max_size=12))
@settings(deadline=None)
def test_fast_keys_are_equal_exactly_where_the_rows_are(rows):
    rows = [tuple(side.encode("utf-8", "replace").decode() for side in row) for row in rows] + [("a", "b"), ("b", "a")]
    keys = hash_rows(*(pa.array(side, pa.string()) for side in zip(*rows, strict=True))).tolist()
    assert [keys.index(key) for key in keys] == [rows.index(row) for row in rows]


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(0, 20), st.integers(0, 5))
@settings(deadline=None)
def test_no_key_is_both_held_out_and_kept(keys, size, seed):
    keys = np.array(keys, np.uint64)
    drawn = hold_out(keys, size, seed)
    assert drawn.sum() <= size
    assert not set(keys[drawn]) & set(keys[~drawn])
    assert first_occurrences(keys).tolist() == [key not in keys[:row] for row, key in enumerate(keys)]


@given(sizes=st.lists(st.integers(0, 7), min_size=1, max_size=6), data=st.data())
@settings(deadline=None, max_examples=50)
def test_stored_rows_come_back_in_any_order(tmp_path_factory, sizes, data):
    total = sum(sizes)
    values = [f"row {i}" for i in range(total)]
    with (
        pytest.MonkeyPatch.context() as patch,
        RowStore(pa.schema([("text", pa.string())]), tmp_path_factory.mktemp("rows")) as store,
    ):
        patch.setattr(row_selection, "BATCH_ROWS", 4)
        patch.setattr(row_selection, "GATHER_BYTES", data.draw(st.sampled_from([1, 1000, 1 << 20])))
        begin = 0
        for size in sizes:
            store.append(pa.table({"text": pa.array(values[begin : begin + size], pa.string())}))
            begin += size
        assert len(store) == total
        wanted = data.draw(st.lists(st.integers(0, total - 1), max_size=20)) if total else []
        got = [t for table in store.gather(np.array(wanted, np.int64)) for t in table.column("text").to_pylist()]
        assert got == [values[i] for i in wanted]
        assert store.path.exists()
    assert not store.path.exists()


@pytest.mark.parametrize("workers", [1, 3])
def test_results_of_threads_come_in_order_and_no_more_items_are_taken_than_may_be_held(workers):
    taken = []

    def items():
        for number in range(40):
            taken.append(number)
            yield number

    for used, result in enumerate(mapped_in_order(lambda item: item * item, items(), workers)):
        assert result == used * used and len(taken) <= used + 2 * workers
    with pytest.raises(ZeroDivisionError):
        list(mapped_in_order(lambda item: 1 // (item - 3), range(1000), workers))
