from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.studies.sdae.noise import NOISES, WordNoise

UNKNOWN = 1


def noise(kind, drop=0.1, swap=0.1):
    return WordNoise(kind, drop, swap, UNKNOWN)


def words(count):
    return np.arange(10, 10 + count, dtype=np.int32)


@given(st.sampled_from(NOISES), st.integers(0, 30), st.floats(0, 1), st.floats(0, 1), st.integers(0, 9))
@settings(max_examples=200, deadline=None)
def test_noise_only_ever_leaves_out_masks_or_moves_words_and_never_takes_all(kind, count, drop, swap, seed):
    original = words(count)
    noisy = noise(kind, drop, swap)(original, np.random.default_rng(seed))
    assert noisy.dtype == np.int32 and original.tolist() == words(count).tolist()
    assert len(noisy) >= min(count, 1)
    left = [word for word in noisy.tolist() if word != UNKNOWN]
    assert len(set(left)) == len(left) and set(left) <= set(original.tolist())
    if kind == "mask":
        assert len(noisy) == count and count - len(left) == int(np.round(np.float32(count) * np.float32(drop)))
    else:
        assert UNKNOWN not in noisy.tolist()


def test_deleted_words_are_as_many_as_the_probability_says():
    left = [len(noise("delete", 0.2, 0.0)(words(50), np.random.default_rng(draw))) for draw in range(400)]
    assert 0.79 < np.mean(left) / 50 < 0.81


def test_swaps_of_the_paper_are_of_bigrams_that_do_not_overlap():
    swapped = []
    for draw in range(400):
        noisy = noise("delete", 0.0, 0.3)(words(11), np.random.default_rng(draw)).tolist()
        assert noisy[10] == 20
        for place in range(0, 10, 2):
            pair = noisy[place : place + 2]
            assert sorted(pair) == [10 + place, 11 + place]
            swapped.append(pair[0] > pair[1])
    assert 0.28 < np.mean(swapped) < 0.32


def test_every_word_deleted_leaves_one_at_random():
    left = {tuple(noise("delete", 1.0, 1.0)(words(3), np.random.default_rng(draw))) for draw in range(60)}
    assert left == {(10,), (11,), (12,)}


def test_masks_and_swaps_of_the_code_are_rounded_to_even_and_swaps_may_carry_a_word_on():
    # round(0.1 · 4) = 0, round(0.1 · 5) = 0 (half to even), round(0.1 · 15) = 2.
    for count, masked in ((4, 0), (5, 0), (6, 1), (15, 2), (25, 2)):
        noisy = noise("mask", 0.1, 0.0)(words(count), np.random.default_rng(0))
        assert (noisy == UNKNOWN).sum() == masked
    # With a swap at every place, in the order of some draw, a word moves further than to its neighbour's place.
    moved = [
        np.abs(noise("mask", 0.0, 1.0)(words(9), np.random.default_rng(draw)) - words(9)).max() for draw in range(9)
    ]
    assert max(moved) > 1
