from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.filtering.histograms import column_histograms


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
    assert edges[-1] < 4 and edges == sorted(edges) and all(edge == float(f"{edge:.6g}") for edge in edges)
    inside = np.histogram(np.clip([*numbers, 1e9], edges[0], edges[-1]), edges)[0]
    assert splits["train"] == inside.tolist() and 20 <= len(inside) <= 31
    # Whole numbers have a bin each.
    assert found["count"]["edges"][0] == -0.5 and np.diff(found["count"]["edges"]).tolist() == [1.0] * (
        len(found["count"]["edges"]) - 1
    )
    assert found["count"]["splits"]["train"][:3] == [167, 169, 167]


@pytest.mark.parametrize(
    ("values", "ends"),
    [([0.0, 0.0], (-0.5, 0.5)), ([0.3] * 5, (0.27, 0.33)), ([-1e300, 1e300], None), ([True, False], (-0.5, 1.5))],
)
def test_columns_without_a_spread_and_with_too_much(tmp_path, values, ends):
    found = column_histograms(folder_of(tmp_path / "f", train={"a": values}), ["a"]).get("a")
    if ends is not None:
        assert (found["edges"][0], found["edges"][-1]) == pytest.approx(ends) and sum(found["splits"]["train"]) == len(
            values
        )


def test_columns_without_numbers_have_none(tmp_path):
    columns = {"a": pa.array([None, None], pa.float64()), "b": [float("inf"), float("nan")]}
    assert column_histograms(folder_of(tmp_path / "f", train=columns), ["a", "b"]) == {}
