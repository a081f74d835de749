"""What ranges over measures keep is what `filter` keeps."""

from __future__ import annotations

import re
import shlex

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.demo.data_tab import MeasureValues, open_data, read_measures, shown
from hf_paraphrase.errors import HfParaphraseError, InputError, UsageError


def numbers_kept(pairs, ranges, output):
    """The number that the page says, and that of the pairs which the command on it keeps."""
    kept, comparisons = pairs.cut(ranges)
    words = shlex.split(pairs.command(comparisons))
    assert words[:2] == ["hf-paraphrase", "filter"] and words[-2:] == ["--output", "filtered"]
    assert main([*words[1:-1], str(output)]) == 0
    return int(kept.sum()), DataFolder(output).count(pairs.split)


def test_a_histogram_counts_kept_pairs_and_others_in_bars_that_hold_their_values():
    measure = MeasureValues.of("length", np.array([3.0, 3.0, 4.0, 9.0, np.nan]))
    counts = measure.histogram(np.array([True, False, True, False, True]))
    assert counts.to_dict("list") == {
        "value": [3.5, 4.5, 3.5, 9.5],
        "part": ["kept"] * 2 + ["left out"] * 2,
        "pairs": [1, 1, 1, 1],
    }
    fractions = MeasureValues.of("bleu", np.linspace(0, 1, 1001))
    bars = fractions.histogram(np.ones(1001, bool))
    assert 20 <= len(bars) <= 60 and bars["pairs"].sum() == 1001


@pytest.mark.parametrize(
    "ranges",
    [
        {},
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
    kept, comparisons = found.cut({"score": (0.2, 0.31)})
    assert "1 of 4 pairs are kept" in shown(found, kept, comparisons) and "&lt;=score" in shown(
        found, kept, comparisons
    )
    assert found.examples(kept) == [["c", "c", 0.3]]
    assert [row[2] for row in found.examples(~kept)] == [0.1, None, 0.9]
    assert "nothing is kept" in shown(found, *found.cut({"score": (0.5, 0.6)}))


@given(
    st.lists(
        st.one_of(
            st.floats(-1e9, 1e9),
            st.sampled_from([float("nan"), float("inf")]),
            st.integers(-50, 50).map(float),
        ),
        min_size=1,
    ),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_bins_hold_all_values_and_comparisons_read_back(values, first, second):
    measure = MeasureValues.of("x", np.array(values))
    finite = np.array(values)[np.isfinite(values)]
    assert measure.histogram(np.ones(len(values), bool))["pairs"].sum() == len(finite)
    step = 10.0**-measure.digits
    assert not len(finite) or (measure.low - step <= finite.min() and finite.max() <= measure.high + step)
    span = measure.high - measure.low
    low, high = sorted((measure.low + first * span, measure.low + second * span))
    text = measure.comparison(low, high)
    numbers = [] if text is None else re.findall(r"-?\d[\d.e+-]*", text)
    assert all(measure.low - step <= float(number) <= measure.high + step for number in numbers)


def test_what_cannot_be_read_is_refused_in_words(pairs, tmp_path):
    folder = DataFolder(pairs)
    with pytest.raises(UsageError, match="absent"):
        read_measures(folder, "train", ["absent"])
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


def test_an_uploaded_file_and_the_sample_are_pairs_too(pairs):
    reports = []
    upload = str(pairs / "data" / "train-00000-of-00001.parquet")
    opened, available, _ = open_data(upload, "", "", ["rank"], lambda share, desc: reports.append((share, desc)))
    assert opened.count == 40 and list(opened.measures) == ["rank"] and "bleu" in available
    assert "--pairs YOUR_FOLDER" in opened.command([]) and reports[-1] == (1.0, "40 of 40 pairs measured")
    sample, _, summary = open_data(None, "", "train", [], lambda *given, **named: None)
    assert (sample.count, sample.split) == (1_800, "validation") and "built-in sample" in summary
    assert list(sample.measures) == ["length", "overlap_1", "bleu"]
