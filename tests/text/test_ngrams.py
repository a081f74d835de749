from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.text import ngrams as module
from hf_paraphrase.text.ngrams import TokenSpans, number_ngrams, word_ngrams
from hf_paraphrase.text.words import tokenize

SENTENCE = st.lists(st.sampled_from(["a", "bird", "cats", "猫", "狗", "我们", "नमस्ते", ","]), max_size=12).map(" ".join)


@given(st.lists(SENTENCE, max_size=8), st.integers(1, 4))
@settings(deadline=None)
def test_equal_ngrams_have_the_same_number(texts, order):
    numbers, starts = number_ngrams(TokenSpans(texts), order)
    tokens = [token for text in texts for token in tokenize(text)]
    ngrams = [tuple(tokens[start : start + order]) for start in starts]
    assert sorted(ngrams) == sorted(ngram for text in texts for ngram in word_ngrams(tokenize(text), order))
    assert len(set(zip(ngrams, numbers.tolist(), strict=True))) == len(set(ngrams)) == len(set(numbers.tolist()))


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 5), max_size=200))
def test_equal_keys_find_one_of_themselves_also_where_their_slots_collide(values):
    keys = np.array(values, np.uint64)
    equal = module._first_equal(keys)
    assert (keys[equal] == keys).all() and len(set(equal.tolist())) == len(set(values))
