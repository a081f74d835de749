from __future__ import annotations

import numpy as np
import pytest

from hf_paraphrase.studies.gates.grouped_means import explained_share, from_own_mean, grouped_means


def test_the_means_are_those_of_the_groups_highest_first_and_none_is_left_out():
    values = np.array([1.0, 3.0, 5.0, 7.0, 9.0])
    found = grouped_means(values, ["a", "b", "a", None, "c"], np.array([0, 0, 1, 1, 2]), replicates=10)
    assert [(item.name, item.words, item.mean.value) for item in found] == [
        ("c", 1, 9.0),
        ("a", 2, 3.0),
        ("b", 1, 3.0),
    ]


def test_no_group_at_all_is_no_error():
    assert grouped_means(np.array([1.0]), [None], np.array([0])) == []


def test_the_interval_is_over_sentences_and_not_over_words():
    generator = np.random.default_rng(0)
    # Ten words of a sentence all have the sentence's own value, so there are 40 draws and not 400.
    level = generator.normal(size=40)
    values, sentences = np.repeat(level, 10), np.repeat(np.arange(40), 10)
    (found,) = grouped_means(values, ["a"] * 400, sentences, replicates=2000)
    width = found.mean.high - found.mean.low
    assert width == pytest.approx(2 * 1.96 * level.std() / np.sqrt(40), rel=0.1)
    (alone,) = grouped_means(values, ["a"] * 400, np.arange(400), replicates=500)
    assert alone.mean.high - alone.mean.low < 0.5 * width


def test_the_numbers_of_the_sentences_do_not_matter_and_the_seed_does():
    generator = np.random.default_rng(1)
    values, groups = generator.normal(size=60), list("abc" * 20)
    sentences = np.repeat(np.arange(20), 3)
    first = grouped_means(values, groups, sentences, replicates=50, seed=3)
    assert grouped_means(values, groups, 7 * sentences + 5, replicates=50, seed=3) == first
    assert grouped_means(values, groups, sentences, replicates=50, seed=4) != first


def test_the_distance_is_from_the_others_of_the_group():
    found = from_own_mean(np.array([1.0, 2.0, 6.0, 4.0]), ["a", "a", "a", "b"])
    np.testing.assert_allclose(found, [1 - 4, 2 - 3.5, 6 - 1.5, np.nan])


def test_groups_explain_all_nothing_or_less_than_nothing():
    values = np.array([1.0, 1.0, 5.0, 5.0])
    assert explained_share(values, ["a", "a", "b", "b"]) == 1.0
    assert explained_share(values, ["a", "b", "a", "b"]) < 0
    assert np.isnan(explained_share(values, ["a", "b", "c", "d"]))
    assert np.isnan(explained_share(np.ones(4), ["a", "a", "b", "b"]))
