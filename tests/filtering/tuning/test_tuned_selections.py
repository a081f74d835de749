from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.filtering.filter_steps import FilterSteps
from hf_paraphrase.filtering.row_choice import choose_rows
from hf_paraphrase.filtering.tuning.grid_search import GRIDS, filter_ranges
from hf_paraphrase.filtering.tuning.results import Cell
from hf_paraphrase.filtering.tuning.runs import SelectionPool


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


@pytest.mark.parametrize("keep", [("overlap_1<=0.5",), ("quality<=0.9", "bleu<0.3", "rank>=1")])
def test_the_pool_selects_the_rows_that_filter_keeps(pairs, keep):
    rows, available = SelectionPool(pairs, 5).select(keep, 3)
    choice = choose_rows(
        DataFolder(pairs), "train", FilterSteps(keep=list(keep), one_per_reference="best", sample=5, seed=3)
    )
    assert rows.tolist() == np.flatnonzero(choice.kept).tolist()
    assert available == choice.funnel["one per reference (best)"] > len(rows)
    with pytest.raises(UsageError, match="there is no column beauty"):
        SelectionPool(pairs, 5).select(("beauty>1",), 0)


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
    kept, available = SelectionPool(tmp_path, 30).select((), 0)
    assert len(kept) == 30 and available == len(good) and set(kept.tolist()) <= set(good)
    choice = choose_rows(DataFolder(tmp_path), "train", FilterSteps(keep=pool.usable, sample=30, seed=0))
    assert kept.tolist() == np.flatnonzero(choice.kept).tolist()
    table = pa.table({"sentence1": ["a", "b"], "sentence2": ["", "c"], "label": [1, 0]})
    write_split(tmp_path / "none", "train", [table], table.schema)
    with pytest.raises(InputError, match="nothing is left after `label==1`"):
        SelectionPool(tmp_path / "none", 5)


def test_the_grids_are_those_of_the_paper():
    assert len(GRIDS["length"]) == 14 and GRIDS["length"][::13] == ["0<=length<=10", "30<=length<=100"]
    assert GRIDS["length_bins"] == ["0<length<=10", "10<length<=20", "20<length<=30", "30<length<=100"]


def test_ranges_of_the_user_are_grids_of_their_columns_and_join_the_one_of_that_name():
    own = ["length<=12", "0<=length<=10", "bleu<0.5", "cost<2, bleu<0.4", "random<1"]
    assert filter_ranges(["length"], own) == [
        ("random", ""),
        *(("length", text) for text in GRIDS["length"]),
        ("length", "length<=12"),
        ("bleu", "bleu<0.5"),
        ("bleu+cost", "cost<2, bleu<0.4"),
        ("random (column)", "random<1"),
    ]
    assert Cell("news", "avg", "bleu+cost", "cost<2, bleu<0.4").keep == ("cost<2", "bleu<0.4")
    with pytest.raises(UsageError, match="cannot read"):
        filter_ranges([], ["bleu<"])
    with pytest.raises(UsageError, match="no comparison"):
        filter_ranges([], [" , "])
