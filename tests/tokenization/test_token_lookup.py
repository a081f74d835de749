from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import normalizers, pre_tokenizers, processors

from hf_paraphrase.models.tokenization_concatenation import ConcatenationTokenizer
from hf_paraphrase.tokenization.character_trigram import build_character_trigram_tokenizer
from hf_paraphrase.tokenization.subword import train_bpe_tokenizer
from hf_paraphrase.tokenization.token_ids import TokenIds
from hf_paraphrase.tokenization.token_lookup import ids_of, list_of_texts, lookup_for, state_of
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


@pytest.mark.parametrize("texts, place", [(["café", "a \ud800 b"], 1), ("a \ud800 b", 0)])
def test_the_text_with_half_a_surrogate_pair_is_named_by_its_place(texts, place):
    with pytest.raises(TypeError, match=rf"texts\[{place}\] is 'a \\ud800 b' \(str\), which holds half a surrogate"):
        list_of_texts(texts)


@pytest.mark.parametrize(
    "texts", [3, b"a text", {"a": ["x"], "b": ["y"]}, pa.table({"text": ["x"]}), pd.DataFrame({"text": ["x"]})]
)
def test_what_is_no_row_of_texts_is_refused_by_its_kind(texts):
    with pytest.raises(
        TypeError, match=rf"^texts is .*{type(texts).__name__}.*, not a string or a sequence of strings"
    ):
        list_of_texts(texts)


@pytest.mark.parametrize("kind", [tuple, np.array, pd.Series, iter])
def test_rows_of_texts_of_any_kind_are_lists(kind):
    assert list_of_texts(kind(["a", "b"])) == ["a", "b"]
