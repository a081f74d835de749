from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.filtering.filter_steps import FilterSteps
from hf_paraphrase.filtering.row_choice import choose_rows
from hf_paraphrase.filtering.tuning.runs import SelectionPool
from hf_paraphrase.filtering.tuning.settings import GRIDS, RANDOM, filter_ranges


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    generator = np.random.default_rng(0)

    def sentence():
        return " ".join(f"w{i}" for i in generator.integers(9, size=generator.integers(1, 14)))

    rows = 120
    references = [sentence() for _ in range(rows // 3)]
    table = pa.table(
        {
            "id": [f"n{i // 3}" for i in range(rows)],
            "sentence1": [references[i // 3] for i in range(rows)],
            "sentence2": [sentence() for _ in range(rows)],
            "rank": pa.array([i % 3 for i in range(rows)]),
            "quality": pa.array([None if i % 7 == 0 else i / rows for i in range(rows)], pa.float64()),
        }
    )
    folder = tmp_path_factory.mktemp("data") / "pairs"
    write_split(folder, "train", [table.slice(0, 50), table.slice(50)], table.schema)
    return folder


@pytest.mark.parametrize("keep", ["overlap_1<=0.5", "3<length<=9,quality>0.2", "quality<=0.9,bleu<0.3,rank>=1"])
def test_the_pool_selects_the_rows_that_filter_keeps(pairs, keep):
    point = filter_ranges([], [keep])[1]
    rows, available = SelectionPool(pairs, 5).select(point, 3)
    options = FilterSteps(keep=keep.split(","), one_per_reference="best", sample=5, seed=3)
    choice = choose_rows(DataFolder(pairs), "train", options)
    assert rows.tolist() == np.flatnonzero(choice.kept).tolist()
    counts = [count for step, count in choice.funnel.items() if not step.startswith("sample")]
    assert available == counts[-1]


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
    random = filter_ranges([])[0]
    pool = SelectionPool(tmp_path, rows)
    assert pool.select(random, 0)[0].tolist() == good
    kept, available = SelectionPool(tmp_path, 30).select(random, 0)
    assert len(kept) == 30 and available == len(good) and set(kept.tolist()) <= set(good)
    choice = choose_rows(DataFolder(tmp_path), "train", FilterSteps(keep=pool.usable, sample=30, seed=0))
    assert kept.tolist() == np.flatnonzero(choice.kept).tolist()


def test_a_selection_of_nothing_is_empty_and_what_cannot_be_trained_on_or_is_not_there_is_named(pairs, tmp_path):
    pool = SelectionPool(pairs, 5)
    nothing, unknown = filter_ranges([], ["length>100", "beauty>1"])[1:]
    rows, available = pool.select(nothing, 0)
    assert len(rows) == available == 0
    with pytest.raises(UsageError, match="there is no column beauty"):
        pool.select(unknown, 0)
    table = pa.table({"sentence1": ["a", "b"], "sentence2": ["", "c"], "label": [1, 0]})
    write_split(tmp_path, "train", [table], table.schema)
    with pytest.raises(InputError, match="nothing is left after `label==1`"):
        SelectionPool(tmp_path, 5)


def test_the_grids_are_those_of_the_paper():
    assert len(GRIDS["length"]) == 14 and GRIDS["length"][::13] == ["0<=length<=10", "30<=length<=100"]
    assert GRIDS["length_bins"] == ["0<length<=10", "10<length<=20", "20<length<=30", "30<length<=100"]


def test_ranges_of_the_user_are_grids_of_their_columns_and_join_the_one_of_that_name():
    points = filter_ranges(
        ["length"], ["length<=12", "0<=length<=10", "bleu<0.5", "bleu<0.3", "bleu<0.5,cost<1", "cost<2,bleu<0.4"]
    )
    assert len(points) == 1 + len(GRIDS["length"]) + 1 + 2 + 2
    names = {point.label: point.filter for point in points}
    assert names["length<=12"] == "length" and names["bleu<0.5,cost<1"] == names["cost<2,bleu<0.4"] == "bleu+cost"
    assert names["bleu<0.5"] == names["bleu<0.3"] == "bleu"
    assert filter_ranges([], ["random<1"])[1].filter != RANDOM


def test_points_begin_with_the_random_selection_and_end_with_the_users_own():
    points = filter_ranges(["length_bins", "length_bins"], ["bleu<0.5, length>3", "bleu<0.5, length>3"])
    assert [point.filter for point in points] == [RANDOM, *["length_bins"] * 4, "bleu+length"]
    assert points[0].selections == () and len(points[-1].selections) == 2
    with pytest.raises(UsageError, match="unknown beauty"):
        filter_ranges(["beauty"])
    with pytest.raises(UsageError, match="cannot read"):
        filter_ranges([], ["bleu<"])
    with pytest.raises(UsageError, match="no comparison"):
        filter_ranges([], [" , "])
