from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.tokenization.token_ids import TokenIds

LISTS = st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=8)


def lists_of(ids):
    return [ids.ids[first:last].tolist() for first, last in zip(ids.offsets, ids.offsets[1:], strict=False)]


@settings(max_examples=60, deadline=None)
@given(lists=LISTS, cut=st.integers(0, 8), data=st.data())
def test_token_ids_join_and_select_as_lists_do(lists, cut, data):
    whole = TokenIds.of_lists(lists)
    joined = TokenIds.joined([TokenIds.of_lists(lists[:cut]), TokenIds.of_lists(lists[cut:])])
    np.testing.assert_array_equal(joined.ids, whole.ids)
    np.testing.assert_array_equal(joined.offsets, whole.offsets)
    assert whole.lengths.tolist() == list(map(len, lists))
    cut = min(cut, len(lists))
    assert lists_of(whole.part(0, cut)) == lists[:cut] and lists_of(whole.part(cut // 2, cut)) == lists[cut // 2 : cut]
    rows = data.draw(st.lists(st.integers(0, len(lists) - 1))) if lists else []
    assert whole.of_texts(np.array(rows, np.int64)).tolist() == [item for row in rows for item in lists[row]]
    assert lists_of(whole.take(np.array(rows, np.int64))) == [lists[row] for row in rows]
    ids, mask = whole.padded(np.array(rows, np.int64), 77)
    longest = max([1, *(len(lists[row]) for row in rows)])
    assert ids.tolist() == [lists[row] + [77] * (longest - len(lists[row])) for row in rows]
    assert mask.tolist() == [[place < len(lists[row]) for place in range(longest)] for row in rows]


@settings(max_examples=60, deadline=None)
@given(lists=LISTS, data=st.data())
def test_token_ids_merge_and_interleave_as_lists_do(lists, data):
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=len(lists), max_size=len(lists))), np.bool_)
    these, others = (
        TokenIds.of_lists([row for row, other in zip(lists, chosen, strict=True) if other == side])
        for side in (False, True)
    )
    assert lists_of(these.merged(others, chosen)) == lists
    whole = TokenIds.of_lists(lists)
    assert lists_of(whole.interleaved(whole, 10)) == [[*row, *(number + 10 for number in row)] for row in lists]
