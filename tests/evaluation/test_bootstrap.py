from __future__ import annotations

import numpy as np
import pytest

from hf_paraphrase.evaluation.bootstrap import bootstrap_means
from hf_paraphrase.evaluation.correlation import pearson


def test_every_replicate_equals_pearson_on_the_drawn_pairs():
    generator = np.random.default_rng(0)
    sizes = (7, 12)
    scores = [generator.normal(size=size) for size in sizes]
    similarities = [generator.normal(size=(3, size)) for size in sizes]
    found = bootstrap_means(similarities, scores, replicates=20, seed=5)
    again = np.random.default_rng(5)
    expected = np.zeros((20, 3))
    for size, gold, values in zip(sizes, scores, similarities, strict=True):
        counts = again.multinomial(size, np.full(size, 1 / size), size=20)
        for replicate, count in enumerate(counts):
            rows = np.repeat(np.arange(size), count)
            expected[replicate] += [100 * pearson(system[rows], gold[rows]) for system in values]
    assert found == pytest.approx(expected / 2, abs=1e-9)


def test_equal_systems_never_differ_and_draws_are_shared():
    generator = np.random.default_rng(1)
    gold, values = generator.normal(size=50), generator.normal(size=50)
    means = bootstrap_means([np.stack([values, values])], [gold], replicates=100)
    assert (means[:, 0] == means[:, 1]).all() and means[:, 0].std() > 1


def test_blocks_of_replicates_do_not_change_the_numbers(monkeypatch):
    generator = np.random.default_rng(2)
    arguments = [generator.normal(size=(2, 30))], [generator.normal(size=30)]
    whole = bootstrap_means(*arguments, replicates=17)
    monkeypatch.setattr("hf_paraphrase.evaluation.bootstrap._CELLS_AT_A_TIME", 90)
    assert bootstrap_means(*arguments, replicates=17) == pytest.approx(whole, abs=1e-9)


def test_constant_similarities_count_as_zero():
    assert (bootstrap_means([np.ones((1, 9))], [np.arange(9.0)], replicates=5) == 0).all()
