from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.text import ngrams as module
from hf_paraphrase.text.hashing import are_among, draw_keys, hash64, hash_rows
from hf_paraphrase.text.ngrams import PairNgrams, TokenSpans, number_ngrams, word_ngrams
from hf_paraphrase.text.words import tokenize

SENTENCE = st.lists(st.sampled_from(["a", "bird", "cats", "猫", "狗", "我们", "नमस्ते", ","]), max_size=12).map(" ".join)
PAIRS = st.lists(st.tuples(SENTENCE, SENTENCE), max_size=8)


def count_slowly(first: list[tuple[str, ...]], second: list[tuple[str, ...]]) -> list[int]:
    counts1, counts2 = Counter(first), Counter(second)
    return [
        len(first),
        len(second),
        sum(gram in counts2 for gram in first),
        sum(gram in counts1 for gram in second),
        (counts1 & counts2).total(),
        len(first) - len(counts1),
        len(second) - len(counts2),
    ]


@given(PAIRS)
@settings(deadline=None)
def test_shared_and_repeated_ngrams_of_many_pairs_are_those_counted_one_by_one(pairs):
    spans = TokenSpans([*(one for one, _ in pairs), *(two for _, two in pairs)])
    counted = PairNgrams(spans)
    tokens = [(tokenize(one), tokenize(two)) for one, two in pairs]
    for order in (1, 2, 3, 4):
        slow = [count_slowly(word_ngrams(one, order), word_ngrams(two, order)) for one, two in tokens]
        assert np.stack(counted.shared(order), axis=1).tolist() == slow
    words = [
        [[(token,) for token in side if len(token) > 2 or token in "猫狗我们"] for side in pair] for pair in tokens
    ]
    assert np.stack(counted.shared_words(), axis=1).tolist() == [count_slowly(*sides) for sides in words]


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


def test_hashes_are_those_of_xxh3_and_blake2b():
    assert hash64(["", b"a", "é"]).tolist() == [0x2D06800538D394C2, 0xE6C632B61E964E1F, int(hash64(["é".encode()])[0])]
    assert hash64(["a"], seed=1)[0] != hash64(["a"])[0]
    arrays = pa.array(["a", "b", "ab"]), pa.array(["b", "a", ""])
    for function in (hash_rows, draw_keys):
        assert len({*function(*arrays).tolist(), *function(*reversed(arrays)).tolist()}) == 4
    assert draw_keys(pa.array(["a"])).tolist() == [0x2F42665B399EF840]
    assert are_among(np.array([1, 5, 9]), np.array([5, 7])).tolist() == [False, True, False]
    assert not are_among(np.array([1]), np.array([], np.int64)).any()
