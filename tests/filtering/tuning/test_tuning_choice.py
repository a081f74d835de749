from __future__ import annotations

import numpy as np
import pytest

from hf_paraphrase.evaluation.correlation import pearson
from hf_paraphrase.filtering.tuning.choice import (
    Cell,
    TuningRun,
    choose_by_dev,
    compare_cells,
)

SIZES = {"sick": 40, "twitter": 25}
CELL = Cell("news", "avg", "bleu", "bleu<1")


def scores(seed=0):
    generator = np.random.default_rng(seed)
    return {name: generator.normal(size=size) for name, size in SIZES.items()}


def run(gold, noise, seed):
    """A run whose similarities are the human scores with noise."""
    generator = np.random.default_rng(seed)
    found = {name: values + noise * generator.normal(size=len(values)) for name, values in gold.items()}
    tests = {name: 100 * pearson(found[name], gold[name]) for name in gold}
    return TuningRun(seed, 40, 60, 50.0, 1.0, 10.0, (50.0,), tests, found, 1.0)


def mean_of(runs, gold, rows):
    return np.mean(
        [np.mean([100 * pearson(run.similarities[s][rows[s]], gold[s][rows[s]]) for s in gold]) for run in runs]
    )


def naive_differences(runs, baseline, gold, replicates):
    """The paired bootstrap word for word: the pairs of a replicate are the same for all runs."""
    generator = np.random.default_rng(0)
    drawn = {}
    for name, values in gold.items():
        counts = generator.multinomial(len(values), np.full(len(values), 1 / len(values)), size=replicates)
        drawn[name] = [np.repeat(np.arange(len(values)), count) for count in counts]
    found = []
    for replicate in range(replicates):
        rows = {name: drawn[name][replicate] for name in gold}
        found.append(mean_of(runs, gold, rows) - mean_of(baseline, gold, rows))
    return np.array(found)


@pytest.mark.parametrize(("noises", "verdict"), [((0.3, 2.0), "holds"), ((2.0, 0.3), "does not")])
def test_the_comparison_is_a_paired_bootstrap_of_cell_minus_random(noises, verdict):
    gold = scores()
    runs = [run(gold, noises[0], seed) for seed in (1, 2, 3)]
    baseline = [run(gold, noises[1], seed) for seed in (1, 2, 3)]
    compared = compare_cells(CELL, runs, baseline, gold, replicates=60)
    expected = naive_differences(runs, baseline, gold, 60)
    assert compared.difference.over_pairs == pytest.approx(expected, abs=1e-9)
    every = {name: np.arange(size) for name, size in SIZES.items()}
    value = mean_of(runs, gold, every) - mean_of(baseline, gold, every)
    assert compared.difference.value == pytest.approx(value, abs=1e-9)
    # Seeds are a part of it, and belong together.
    assert [degrees for _, degrees in compared.difference.seed_parts] == [2]
    assert compared.difference.interval().verdict("above") == verdict and (value > 0) == (verdict == "holds")
    assert compared.cell == CELL and compared.runs is runs and compared.baseline is baseline


def test_what_is_random_itself_does_not_differ_from_random():
    gold = scores()
    baseline = [run(gold, 1.0, seed) for seed in (1, 2)]
    compared = compare_cells(CELL, baseline, baseline, gold, replicates=20)
    assert compared.difference.value == 0 and (compared.difference.over_pairs == 0).all()


def test_without_test_sets_or_similarities_nothing_is_compared():
    gold = scores()
    runs = [run(gold, 1.0, 1)]
    assert compare_cells(CELL, runs, runs, {}).difference is None
    bare = TuningRun(0, 40, 60, 50.0, 1.0, 10.0, (50.0,), {}, None, 1.0)
    compared = compare_cells(CELL, runs, [bare], gold, replicates=5)
    assert compared.difference is None


def test_the_highest_dev_mean_over_the_seeds_chooses_for_each_encoder_filter_and_data_set():
    def runs(*devs):
        return [TuningRun(seed, 1, 1, dev, 1.0, 0.0, (dev,), {}, None, 0.0) for seed, dev in enumerate(devs)]

    low, high = (lambda data, encoder, end=end: Cell(data, encoder, "bleu", f"bleu{end}") for end in ("<1", ">1"))
    grid = {
        low("news", "avg"): runs(10.0, 60.0),
        high("news", "avg"): runs(40.0, 41.0),
        low("news", "gran"): runs(50.0, 50.0),
        high("news", "gran"): runs(50.0, 50.0),
        low("web", "avg"): runs(5.0, 90.0),
        high("web", "avg"): runs(46.0, 46.0),
        Cell("web", "avg", "cost", "cost<1"): runs(1.0, 2.0),
    }
    assert choose_by_dev(grid) == {
        ("avg", "bleu", "news"): high("news", "avg"),
        ("gran", "bleu", "news"): low("news", "gran"),
        ("avg", "bleu", "web"): low("web", "avg"),
        ("avg", "cost", "web"): Cell("web", "avg", "cost", "cost<1"),
    }
