from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from datasets import ClassLabel, Features, Value
from small_runs import random_sentences, table_cells

from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.filtering.filter_pipeline import FilterPipeline, choose_rows
from hf_paraphrase.filtering.measures import SIDES
from hf_paraphrase.filtering.tuning.grid_search import GRIDS, list_ranges
from hf_paraphrase.filtering.tuning.runs import (
    Cell,
    ComparedCell,
    SelectionPool,
    TuningRun,
    choose_by_dev,
    compare_cells,
    format_cells,
    format_filters,
)
from hf_paraphrase.training.verdicts import Difference, bootstrap_means
from hf_paraphrase.vectors.similarity import pearson

SIZES = {"sick": 40, "twitter": 25}
NOTHING = Difference(0.0, ((0.0, 2),))
JUDGED = ["minus random [95 %]", "helps", "within ± 0.5"]
GAIN = Difference(4.0, ((0.25, 9),))
"""Half as wide as Student's t with nine degrees of freedom is at 95 %: 2.262 × 0.5."""
RANDOM, LOW, HIGH = (Cell("news", "avg", *key) for key in (("random", ""), ("bleu", "bleu<=1"), ("bleu", "bleu>1")))


def test_the_pool_selects_the_rows_that_filter_keeps(tmp_path):
    rows, texts = range(120), random_sentences(160, shortest=1)
    columns = {"id": [f"n{row // 3}" for row in rows], "sentence1": [texts[row // 3] for row in rows]}
    columns |= {"sentence2": texts[40:], "rank": [row % 3 for row in rows]}
    table = pa.table({**columns, "quality": [None if row % 7 == 0 else row / 120 for row in rows]})
    write_split(tmp_path, "train", [table.slice(0, 50), table.slice(50)], table.schema)
    keep = ("quality<=0.9", "bleu<0.3", "rank>=1")
    rows, available = SelectionPool(tmp_path, 5).select(keep, 3)
    steps = FilterPipeline(keep=list(keep), one_per_reference="best", sample=5, seed=3)
    choice = choose_rows(DataFolder(tmp_path), "train", steps)
    assert rows.tolist() == np.flatnonzero(choice.kept).tolist()
    assert available == choice.funnel["one per reference (best)"] > len(rows)
    with pytest.raises(UsageError, match="there is no column beauty"):
        SelectionPool(tmp_path, 5).select(("beauty>1",), 0)


def test_rows_that_cannot_be_trained_on_are_left_out_before_the_sample_is_drawn(tmp_path):
    rows = 60
    table = pa.table(
        {
            "sentence1": [None if i == 1 else " " if i == 2 else f"a{i} word" for i in range(rows)],
            "sentence2": [None if i == 4 else "" if i == 5 else f"b{i} word" for i in range(rows)],
            "label": pa.array([None if i == 7 else int(i % 3 > 0) for i in range(rows)]),
        }
    )
    write_split(tmp_path, "train", [table.slice(0, 20), table.slice(20)], table.schema)
    good = [i for i in range(rows) if i % 3 and i not in {1, 2, 4, 5, 7}]
    pool = SelectionPool(tmp_path, rows)
    assert pool.select((), 0)[0].tolist() == good
    choice = choose_rows(DataFolder(tmp_path), "train", FilterPipeline(keep=pool.usable, sample=rows))
    assert np.flatnonzero(choice.kept).tolist() == good
    table = pa.table({"sentence1": ["a", "b"], "sentence2": ["", "c"], "label": [1, 0]})
    write_split(tmp_path / "none", "train", [table], table.schema)
    with pytest.raises(InputError, match="nothing is left after `label in '1'`"):
        SelectionPool(tmp_path / "none", 5)


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        ("label", pa.array([0, 1, 0])),
        ("label", pa.array(["entailment", "neutral", " Entailment"])),
        ("is_duplicate", pa.array([True, False, True])),
        ("is-duplicate", pa.array([True, False, True])),
    ],
)
def test_labels_of_every_kind_select_the_paraphrases(column, labels, tmp_path):
    table = pa.table({"sentence1": ["a", "b", "c"], "sentence2": ["d", "e", "f"], column: labels})
    if labels.type == pa.int64():
        features = Features({**dict.fromkeys(SIDES, Value("string")), "label": ClassLabel(names=["entailment", "no"])})
        table = table.replace_schema_metadata(features.arrow_schema.metadata)
    write_split(tmp_path, "train", [table], table.schema)
    assert SelectionPool(tmp_path, 5).select((), 0)[0].tolist() == [0, 2]


def test_ranges_of_the_user_are_grids_of_their_columns_and_join_the_one_of_that_name():
    own = ["length<=12", "0<=length<=10", "bleu<0.5", "cost<2, bleu<0.4", "random<1"]
    assert list_ranges(["length"], own) == [
        ("random", ""),
        *(("length", text) for text in GRIDS["length"]),
        ("length", "length<=12"),
        ("bleu", "bleu<0.5"),
        ("bleu+cost", "cost<2, bleu<0.4"),
        ("random (column)", "random<1"),
    ]
    assert Cell("news", "avg", "bleu+cost", "cost<2, bleu<0.4").keep == ("cost<2", "bleu<0.4")
    with pytest.raises(UsageError, match="no comparison"):
        list_ranges([], [" , "])


def run_with_noise(gold, noise, seed):
    """A run whose similarities are the human scores with noise."""
    generator = np.random.default_rng(seed)
    found = {name: values + noise * generator.normal(size=len(values)) for name, values in gold.items()}
    tests = {name: 100 * pearson(found[name], gold[name]) for name in gold}
    return TuningRun(seed, 60, 40, 50.0, tests=tests, similarities=found)


def resampled_means(runs, gold):
    """The means of runs on 60 draws of test pairs."""
    similarities = [np.array([run.similarities[name] for run in runs]) for name in gold]
    return bootstrap_means(similarities, list(gold.values()), replicates=60).mean(1)


@pytest.mark.parametrize(("noises", "verdict"), [((0.3, 2.0), "holds"), ((2.0, 0.3), "fails")])
def test_the_comparison_is_a_paired_bootstrap_of_cell_minus_random(noises, verdict):
    generator = np.random.default_rng(0)
    gold = {name: generator.normal(size=size) for name, size in SIZES.items()}
    runs, baseline = ([run_with_noise(gold, noise, seed) for seed in (1, 2, 3)] for noise in noises)
    compared = compare_cells(LOW, runs, baseline, gold, replicates=60)
    expected = resampled_means(runs, gold) - resampled_means(baseline, gold)
    assert compared.difference.over_pairs == pytest.approx(expected, abs=1e-9)
    value = np.mean([run.test for run in runs]) - np.mean([run.test for run in baseline])
    assert compared.difference.value == pytest.approx(value, abs=1e-9)
    # Seeds are a part of it, and belong together.
    assert [degrees for _, degrees in compared.difference.seed_parts] == [2]
    assert compared.difference.interval().verdict("above") == verdict and (value > 0) == (verdict == "holds")
    assert compare_cells(LOW, runs, runs, {}).difference is None


def test_the_highest_dev_mean_over_the_seeds_chooses_for_each_encoder_filter_and_data_set():
    def runs(*devs):
        return [TuningRun(seed, 1, 1, dev) for seed, dev in enumerate(devs)]

    low, high = (lambda data, encoder, end=end: Cell(data, encoder, "bleu", f"bleu{end}") for end in ("<1", ">1"))
    grid = {
        low("news", "avg"): runs(10.0, 60.0),
        high("news", "avg"): runs(40.0, 41.0),
        low("web", "avg"): runs(46.0, 46.0),
        high("web", "avg"): runs(46.0, 46.0),
        Cell("web", "avg", "cost", "cost<1"): runs(1.0, 2.0),
    }
    assert choose_by_dev(grid) == {
        ("avg", "bleu", "news"): high("news", "avg"),
        ("avg", "bleu", "web"): low("web", "avg"),
        ("avg", "cost", "web"): Cell("web", "avg", "cost", "cost<1"),
    }


def run(seed, dev, test):
    return TuningRun(seed, 60, 40, dev, 2.0, tests={"sick": test})


@pytest.fixture
def grid():
    return {
        RANDOM: [run(0, 50.0, 40.0), run(1, 52.0, 42.0)],
        LOW: [run(0, 60.0, 45.0)],
        HIGH: [run(0, 70.0, 44.0), run(1, 72.0, 46.0)],
    }


@pytest.fixture
def compared(grid):
    baseline = grid[RANDOM]
    return {
        ("avg", "random", "news"): ComparedCell(RANDOM, baseline, baseline, NOTHING),
        ("avg", "bleu", "news"): ComparedCell(HIGH, grid[HIGH], baseline, GAIN),
    }


def test_a_filter_has_one_row_with_means_over_the_data_sets_that_it_selects_from(grid, compared):
    header, random, bleu = table_cells(format_filters(compared, ["news"], ["avg"], True))
    assert header == ["filter", "avg: dev", "avg: test", *JUDGED]
    assert random == ["random", "51.0", "41.0", "", "", ""] and bleu[:3] == ["bleu", "71.0", "45.0"]
    assert bleu[3:] == ["+4.0 [+2.9, +5.1]", "holds", "fails"]
    cell = Cell("web", "avg", "random", "")
    more = {**compared, ("avg", "random", "web"): ComparedCell(cell, [run(0, 90.0, 80.0)], grid[RANDOM])}
    _, random, bleu = table_cells(format_filters(more, ["news", "web"], ["avg"], True))
    assert random[:3] == ["random", "70.5", "60.5"] and bleu[:3] == ["bleu (1 of 2 data sets)", "71.0", "45.0"]


def test_a_cell_has_its_pairs_epochs_and_spread_and_a_difference_corrected_for_all_cells(grid, compared):
    _, random, bleu = table_cells(format_cells(compared.values(), True))
    assert random[:6] == ["random", "news", "avg", "–", "40", "2 2"] and random[-1] == ""
    assert [bleu[3], *bleu[6:]] == ["bleu>1", "71.0 ± 1.4", "45.0 ± 1.4", "+4.0 [+2.9, +5.1]", "holds", "fails"]
    low = ComparedCell(LOW, grid[LOW], grid[RANDOM], NOTHING)
    # Student's t with nine degrees of freedom for two comparisons: 2.685.
    assert table_cells(format_cells([*compared.values(), low], True))[2][8] == "+4.0 [+2.7, +5.3]"
