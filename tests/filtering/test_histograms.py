from __future__ import annotations

import numpy as np
import pyarrow as pa

from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.filtering.scoring import column_histograms


def folder_of(path, **splits):
    for split, columns in splits.items():
        table = pa.table(columns)
        write_split(path, split, [table], table.schema)
    return DataFolder(path)


def test_every_row_with_a_number_is_in_one_bin_of_all_splits(tmp_path):
    numbers = np.random.default_rng(0).normal(size=500)
    columns = {
        "share": [*numbers, None, float("nan"), 1e9],
        "text": ["a"] * 503,
        "count": list(range(3)) * 167 + [1, 1],
    }
    folder = folder_of(tmp_path / "f", train=columns, test={"share": [0.25], "count": [7]})
    found = column_histograms(folder, ["count", "share", "text", "gone"])
    assert list(found) == ["count", "share"]
    edges, splits = found["share"]["edges"], found["share"]["splits"]
    assert sum(splits["train"]) == 501 and sum(splits["test"]) == 1 and len(splits["train"]) == len(edges) - 1
    # The one far off is in the last bin, and has not stretched the others.
    assert edges[-1] < 4 and edges == sorted(edges)
    inside = np.histogram(np.clip([*numbers, 1e9], edges[0], edges[-1]), edges)[0]
    assert splits["train"] == inside.tolist() and len(inside) == 30
    # Whole numbers have a bin each.
    assert found["count"]["edges"][0] == -0.5 and np.diff(found["count"]["edges"]).tolist() == [1.0] * (
        len(found["count"]["edges"]) - 1
    )
    assert found["count"]["splits"]["train"][:3] == [167, 169, 167]


def test_columns_without_a_spread_with_too_much_and_without_numbers(tmp_path):
    columns = {
        "same": [0.3] * 5,
        "wide": [-1.7e308, 1.7e308] * 2 + [0.5],
        "none": pa.array([None] * 5, pa.float64()),
        "infinite": [float("inf"), float("nan")] * 2 + [None],
        "truth": [True, False, True, True, None],
    }
    found = column_histograms(folder_of(tmp_path / "f", train=columns), list(columns))
    assert list(found) == ["same", "truth"] and sum(found["same"]["splits"]["train"]) == 5
    assert found["truth"] == {"edges": [-0.5, 0.5, 1.5], "splits": {"train": [1, 3]}}
