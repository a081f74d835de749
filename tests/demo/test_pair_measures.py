"""What ranges over measures keep is what `filter` keeps."""

from __future__ import annotations

import re
import shlex

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.demo.data_tab import examples_of, open_data, shown
from hf_paraphrase.demo.pair_measures import MeasureValues, available_measures, read_measures
from hf_paraphrase.errors import HfParaphraseError, InputError, UsageError


def numbers_kept(pairs, ranges, output):
    """The number that the page says, and that of the pairs which the command on it keeps."""
    cut = pairs.cut(ranges)
    words = shlex.split(pairs.command(cut.comparisons))
    assert words[:2] == ["hf-paraphrase", "filter"] and words[-2:] == ["--output", "filtered"]
    assert main([*words[1:-1], str(output)]) == 0
    return int(cut.kept.sum()), DataFolder(output).count(pairs.split)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.25, -3.0, 1e20, float("nan")])
def test_values_that_are_all_the_same_have_a_range_of_two_ends(gradio, value):
    measure = MeasureValues.of("label", np.full(3, value))
    gradio.Slider(measure.low, measure.high, measure.low, step=measure.step)
    assert measure.low < measure.high and measure.comparison(measure.low, measure.high) is None
    assert measure.histogram(np.ones(3, bool))["pairs"].sum() == np.isfinite(measure.values).sum()


def test_a_histogram_counts_kept_pairs_and_others_in_bars_that_hold_their_values():
    measure = MeasureValues.of("length", np.array([3.0, 3.0, 4.0, 9.0, np.nan]))
    counts = measure.histogram(np.array([True, False, True, False, True]))
    assert counts.to_dict("list") == {
        "value": [3.5, 4.5, 9.5] * 2,
        "part": ["kept"] * 3 + ["left out"] * 3,
        "pairs": [1, 1, 0, 1, 0, 1],
    }
    fractions = MeasureValues.of("bleu", np.linspace(0, 1, 1001))
    bars = fractions.histogram(np.ones(1001, bool))
    assert 20 <= len(bars) <= 60 and bars["pairs"].sum() == 1001


@pytest.mark.parametrize(
    "ranges",
    [
        {},
        {"overlap_1": (0.2, 0.7)},
        {"log_prob": (-18.1, -11.05), "rank": (1, 3)},
        {"bleu": (0.0, 0.3), "cost": (1.9, 9.0), "length": (0, 8)},
    ],
)
def test_the_command_keeps_as_many_pairs_as_the_page_says(pairs, ranges, tmp_path):
    folder = DataFolder(pairs)
    found = read_measures(folder, "train", list(ranges) or ["length"])
    said, kept = numbers_kept(found, ranges, tmp_path / "out")
    assert said == kept and (not ranges or 0 < said < 40)


def test_missing_values_are_kept_by_whole_ranges_alone_as_filter_does(tmp_path):
    schema = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string()), ("score", pa.float64())])
    rows = {
        "sentence1": ["a", "b", "c", "d"],
        "sentence2": ["a", "b", "c", "d"],
        "score": [0.1, None, 0.30000000000000004, 0.9],
    }
    write_split(tmp_path / "a folder", "dev", [pa.table(rows, schema=schema)], schema)
    found = read_measures(DataFolder(tmp_path / "a folder"), "dev", ["score"])
    measure = found.measures["score"]
    assert numbers_kept(found, {"score": (measure.low, measure.high)}, tmp_path / "all") == (4, 4)
    assert numbers_kept(found, {"score": (measure.low, 0.31)}, tmp_path / "some") == (2, 2)
    assert "--split dev" in found.command([]) and "'" in found.command([])
    cut = found.cut({"score": (0.2, 0.31)})
    assert "1 of 4 pairs are kept" in shown(found, cut)
    assert ["b", "b", None] in examples_of(found, cut.nearest[1].tolist())
    assert "nothing is kept" in shown(found, found.cut({"score": (0.5, 0.6)}))


@given(
    st.lists(
        st.one_of(
            st.floats(-1e9, 1e9),
            st.sampled_from([float("nan"), 1e308, -1e308, float("inf")]),
            st.integers(-50, 50).map(float),
        ),
        min_size=1,
    ),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_bins_hold_all_values_and_comparisons_read_back(values, first, second):
    measure = MeasureValues.of("x", np.array(values))
    # What is nearly as large as numbers can be is drawn no more than what is infinite.
    finite = np.array(values)[np.abs(values) < 1e307]
    assert measure.histogram(np.ones(len(values), bool))["pairs"].sum() == len(finite)
    assert not len(finite) or (measure.low <= finite.min() and finite.max() <= measure.high)
    span = measure.high - measure.low
    low, high = sorted((measure.low + first * span, measure.low + second * span))
    text = measure.comparison(low, high)
    numbers = [] if text is None else re.findall(r"-?\d[\d.e+-]*", text)
    assert all(measure.low - measure.step <= float(number) <= measure.high + measure.step for number in numbers)


def test_examples_are_the_pairs_next_to_the_border(pairs):
    found = read_measures(DataFolder(pairs), "train", ["log_prob"])
    cut = found.cut({"log_prob": (-15.0, found.measures["log_prob"].high)}, examples=2)
    inside, outside = ([found.measures["log_prob"].values[row] for row in rows] for rows in cut.nearest)
    assert inside == [-15.0, -14.75] and outside == [-15.25, -15.5]
    assert "log_prob&gt;=-15" in shown(found, cut)
    assert examples_of(found, cut.nearest[0].tolist())[0][2] == -15.0


def test_measures_that_are_columns_and_that_can_be_computed_are_offered(pairs, tmp_path):
    offered = available_measures(DataFolder(pairs), "train")
    assert offered[:4] == ["length", "overlap_1", "bleu", "cost"]
    assert {"rank", "log_prob", "num_tokens", "edit_distance"} <= set(offered)
    schema = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string()), ("my score", pa.float64())])
    write_split(tmp_path, "train", [pa.table([["a"], ["b"], [1.0]], schema=schema)], schema)
    # filter could not be told to compare it.
    assert "my score" not in available_measures(DataFolder(tmp_path), "train")


def test_what_cannot_be_read_is_refused_in_words(pairs, tmp_path):
    folder = DataFolder(pairs)
    for names in ([], ["length"] * 7, ["absent"]):
        with pytest.raises(UsageError):
            read_measures(folder, "train", names)
    with pytest.raises(UsageError, match="begins at 5 and ends at 2"):
        read_measures(folder, "train", ["length"]).cut({"length": (5, 2)})
    (tmp_path / "no.parquet").write_text("no Parquet")
    for file, place in ((str(tmp_path / "no.parquet"), ""), (None, str(tmp_path / "absent")), (None, str(tmp_path))):
        with pytest.raises(HfParaphraseError):
            open_data(file, place, "train", [], lambda *given, **named: None)
    schema = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string())])
    write_split(tmp_path / "empty", "train", [], schema)
    with pytest.raises(InputError, match="has no pairs"):
        open_data(None, str(tmp_path / "empty"), "train", [], lambda *given, **named: None)


@pytest.mark.parametrize(
    ("columns", "split", "said"),
    [
        ({"text": ["a"]}, "train", "missing columns"),
        ({"sentence1": ["a"], "sentence2": ["b"]}, "dev", "no split `dev`"),
        ({"sentence1": pa.array([], pa.string()), "sentence2": pa.array([], pa.string())}, "train", "has no pairs"),
    ],
)
def test_an_upload_is_called_by_its_own_name_in_errors(tmp_path, columns, split, said):
    pq.write_table(pa.table(columns), tmp_path / "mine.parquet")
    with pytest.raises(HfParaphraseError, match=f"^mine.parquet: .*{said}"):
        open_data(str(tmp_path / "mine.parquet"), "", split, [], lambda *given, **named: None)


def test_an_uploaded_file_and_the_sample_are_pairs_too(pairs):
    reports = []
    upload = str(pairs / "data" / "train-00000-of-00001.parquet")
    opened, available, _ = open_data(upload, "", "", ["rank"], lambda share, desc: reports.append((share, desc)))
    assert opened.count == 40 and list(opened.measures) == ["rank"] and "bleu" in available
    assert "--pairs YOUR_FOLDER" in opened.command([]) and reports[-1] == (1.0, "40 of 40 pairs measured")
    sample, _, summary = open_data(None, "", "train", [], lambda *given, **named: None)
    assert (sample.count, sample.split) == (1_800, "validation") and "built-in sample" in summary
    assert list(sample.measures) == ["length", "overlap_1", "bleu"]
