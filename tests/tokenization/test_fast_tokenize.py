from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors

from hf_paraphrase.models.tokenization_concatenation import ConcatenationTokenizer
from hf_paraphrase.tokenization.character_trigram import build_character_trigram_tokenizer
from hf_paraphrase.tokenization.fast_tokenize import ids_of, list_of_texts, lookup_for, state_of
from hf_paraphrase.tokenization.ragged_ids import TokenIds
from hf_paraphrase.tokenization.subword import train_bpe_tokenizer
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer

TEXTS = ["The cat", "", "a\u00e9 [PAD] don't", " ", "cat"]


def parts():
    words = build_word_level_tokenizer(["the", "cat", "n't"])
    return [words, build_character_trigram_tokenizer(["cat", " th", "at "], skip_unknown=True), words]


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(st.text("catheé [PAD]'n\t", max_size=12), max_size=5))
def test_ids_of_joined_tokenizers_equal_those_of_each_shifted(texts):
    tokenizers = parts()[:2]
    backend = ConcatenationTokenizer(parts=tokenizers).backend_tokenizer
    expected = [
        [*tokenizers[0](text)["input_ids"], *(number + 5 for number in tokenizers[1](text)["input_ids"])]
        for text in texts
    ]
    lookup = lookup_for(backend)
    assert lookup is not None
    for found in (ids_of(backend, texts, lookup), ids_of(backend, texts, None)):
        np.testing.assert_array_equal(found.ids, TokenIds.of_lists(expected).ids)
        np.testing.assert_array_equal(found.offsets, TokenIds.of_lists(expected).offsets)


def test_a_part_that_must_be_left_to_tokenizers_leaves_the_whole_to_it():
    subword = train_bpe_tokenizer(["the cat sat", "the dog"], 30)
    subword.backend_tokenizer.pre_tokenizer = pre_tokenizers.UnicodeScripts()
    tokenizer = ConcatenationTokenizer(parts=[parts()[0], subword])
    assert lookup_for(tokenizer.backend_tokenizer) is None and lookup_for(subword.backend_tokenizer) is None
    ids = ids_of(tokenizer.backend_tokenizer, TEXTS, None)
    assert ids.lengths[1] == 0 and len(ids.lengths) == len(TEXTS)


def test_a_normalizer_within_another_is_read():
    backend = parts()[0].backend_tokenizer
    tokenizer = json.loads(backend.to_str())
    steps = [{"type": "Lowercase"}, {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "NFKC"}]}]
    tokenizer["normalizer"] = {"type": "Sequence", "normalizers": steps}
    nested = Tokenizer.from_str(json.dumps(tokenizer))
    assert state_of(nested) != state_of(backend)
    expected = ids_of(nested, TEXTS, None).ids
    np.testing.assert_array_equal(ids_of(nested, TEXTS, lookup_for(nested)).ids, expected)


@pytest.mark.parametrize(
    "change",
    [
        lambda backend: backend.add_tokens(["cats"]),
        lambda backend: setattr(backend, "normalizer", normalizers.Sequence([normalizers.NFKC(), backend.normalizer])),
        lambda backend: setattr(backend, "pre_tokenizer", pre_tokenizers.Whitespace()),
        lambda backend: setattr(backend, "post_processor", processors.BertProcessing(("cat", 3), ("cat", 3))),
    ],
)
def test_the_state_changes_with_whatever_a_lookup_depends_on(change):
    backend = parts()[0].backend_tokenizer
    before = state_of(backend)
    backend.enable_truncation(1)
    assert state_of(backend) == before
    change(backend)
    assert state_of(backend) != before


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["café", "a \ud800 b"], r"texts\[1\] is 'a \\ud800 b' \(str\), which has a lone surrogate"),
        ("a \ud800 b", r"texts\[0\] is 'a \\ud800 b' \(str\), which has a lone surrogate"),
        (["a", 3], r"texts\[1\] is 3 \(int\), not a string"),
        (pd.Series(["a", None]), r"texts\[1\] is .*, not a string"),
        *(
            (texts, rf"^texts is .*{type(texts).__name__}.*, not a string or a sequence of strings")
            for texts in (3, b"a text", {"a": ["x"]}, pa.table({"text": ["x"]}), pd.DataFrame({"text": ["x"]}), {"x"})
        ),
    ],
)
def test_what_is_no_row_of_texts_is_refused_by_its_kind_or_place(texts, message):
    with pytest.raises(TypeError, match=message):
        list_of_texts(texts)


@pytest.mark.parametrize("kind", [tuple, np.array, pd.Series, iter])
def test_rows_of_texts_of_any_kind_are_lists(kind):
    assert list_of_texts(kind(["a", "b"])) == ["a", "b"]


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
