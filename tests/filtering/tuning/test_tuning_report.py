from __future__ import annotations

import csv
import io

import pytest

from hf_paraphrase.evaluation.verdicts import Difference
from hf_paraphrase.filtering.tuning.choice import Cell, ChosenCell, TuningRun
from hf_paraphrase.filtering.tuning.report import bins_table, cells_table, filters_table, ranges_table, runs_csv

NOTHING = Difference(0.0, ((0.0, 2),))
JUDGED = ["minus random [95 %]", "helps", "within ± 0.5"]
GAIN = Difference(4.0, ((0.25, 9),))
"""Half as wide as Student's t with nine degrees of freedom is at 95 %: 2.262 × 0.5."""
RANDOM, LOW, HIGH = (Cell("news", "avg", *key) for key in (("random", ""), ("bleu", "bleu<=1"), ("bleu", "bleu>1")))


def run(seed, dev, test):
    return TuningRun(seed, 40, 60, dev, 2.0, 10.0, (dev,), {} if test is None else {"sick": test}, None, 1.5)


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
        ("avg", "random", "news"): ChosenCell(RANDOM, baseline, baseline, NOTHING),
        ("avg", "bleu", "news"): ChosenCell(HIGH, grid[HIGH], baseline, GAIN),
    }


def cells_of(table):
    return [
        [cell.strip() for cell in line.strip("|\n").split("|")] for line in table.splitlines() if "---" not in line
    ]


def test_the_csv_has_a_row_a_run_and_the_test_means_of_shown_cells_only(grid):
    rows = list(csv.DictReader(io.StringIO(runs_csv(grid, [HIGH], False))))
    assert [row["seed"] for row in rows] == ["0", "1", "0", "0", "1"]
    assert [row["test"] for row in rows] == ["40.000", "42.000", "", "44.000", "46.000"]
    assert [row["chosen"] for row in rows] == ["0", "0", "0", "1", "1"]
    assert {name: rows[2][name] for name in ("range", "available", "pairs", "dev", "epoch", "seconds")} == {
        "range": "bleu<=1",
        "available": "60",
        "pairs": "40",
        "dev": "60.000",
        "epoch": "2.000",
        "seconds": "1.5",
    }


def test_a_filter_has_one_row_with_means_over_data_sets_and_random_has_no_difference(compared):
    header, random, bleu = cells_of(filters_table(compared, ["news"], ["avg"], True))
    assert header == ["filter", "avg: dev", "avg: test", *JUDGED]
    assert random == ["random", "51.0", "41.0", "", "", ""] and bleu[:3] == ["bleu", "71.0", "45.0"]
    assert bleu[3:] == ["+4.0 [+2.9, +5.1]", "holds", "does not"]
    assert [row[:2] for row in cells_of(filters_table(compared, ["news"], ["avg"], False))[1:]] == [
        ["random", "51.0"],
        ["bleu", "71.0"],
    ]


def test_a_filter_that_selects_nothing_in_a_data_set_says_over_how_many_its_mean_is(grid, compared):
    baseline = grid[RANDOM]
    cell = Cell("web", "avg", "random", "")
    more = {**compared, ("avg", "random", "web"): ChosenCell(cell, [run(0, 90.0, 80.0)], baseline, None)}
    _, random, bleu = cells_of(filters_table(more, ["news", "web"], ["avg"], True))
    assert random[:3] == ["random", "70.5", "60.5"] and bleu[:3] == ["bleu (1 of 2 data sets)", "71.0", "45.0"]


def test_table_5_has_a_row_a_data_set_and_encoder_and_a_column_a_bin(grid):
    short, long = (Cell("news", "avg", "length_bins", text) for text in ("0<length<=10", "10<length<=20"))
    other = Cell("web", "avg", "random", "")
    baseline = grid[RANDOM]
    table = bins_table(
        {
            RANDOM: ChosenCell(RANDOM, baseline, baseline, NOTHING),
            short: ChosenCell(short, grid[LOW], baseline, Difference(4.0, ((4.0, 9),))),
            long: ChosenCell(long, grid[HIGH], baseline, GAIN),
            other: ChosenCell(other, [run(0, 90.0, 80.0)], baseline, NOTHING),
        },
        {("news", "avg"): ChosenCell(long, grid[HIGH], grid[LOW], GAIN)},
    )
    header, news, web = cells_of(table)
    assert header == ["data", "encoder", "random", "0<length<=10", "10<length<=20", "last minus first"]
    assert news[:3] == ["news", "avg", "dev 51.0, test 41.0, 40 pairs"]
    assert news[3:] == [
        # Student's t with nine degrees of freedom for three comparisons: 2.933.
        "dev 60.0, test 45.0 (+4.0 [-1.9, +9.9]), 40 pairs",
        "dev 71.0, test 45.0 (+4.0 [+2.5, +5.5]), 40 pairs",
        "+4.0 [+2.5, +5.5]",
    ]
    assert web == ["web", "avg", "dev 90.0, test 80.0, 40 pairs", "–", "–", "–"]


def test_the_chosen_range_of_each_filter_has_its_pairs_epochs_and_spread(compared):
    header, random, bleu = cells_of(cells_table(compared, True))
    assert header[-4:] == ["test", *JUDGED]
    assert random[:6] == ["random", "news", "avg", "–", "40", "2 2"] and random[-1] == ""
    assert (
        bleu[3] == "bleu>1"
        and bleu[6] == "71.0 ± 1.4"
        and bleu[7:] == ["45.0 ± 1.4", "+4.0 [+2.9, +5.1]", "holds", "does not"]
    )
    assert len(cells_of(cells_table(compared, False))[0]) == len(header) - 4


def test_every_range_has_a_row_and_the_chosen_one_is_marked(grid, compared):
    rows = cells_of(ranges_table(grid, compared, False))
    assert [row[:2] for row in rows[1:]] == [["random", "–"], ["bleu", "bleu<=1"], ["bleu", "bleu>1"]]
    assert [row[2] for row in rows[1:]] == ["51.0 ± 1.4", "60.0", "71.0 ± 1.4 (chosen)"]
    assert [row[3] for row in cells_of(ranges_table(grid, compared, True))[1:]] == ["41.0", "45.0", "45.0"]
