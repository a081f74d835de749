"""What ranges over measures keep is what `filter` keeps."""

from __future__ import annotations

import shlex

import numpy as np
import pyarrow as pa
import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.demo.data_tab import MeasureValues, open_data, read_measures, shown
from hf_paraphrase.errors import HfParaphraseError, UsageError


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


def test_the_command_keeps_as_many_pairs_as_the_page_says(pairs, tmp_path):
    ranges = {"log_prob": (-18.1, -11.05), "rank": (1, 3), "cost": (1.9, 9.0), "length": (0, 8)}
    said, kept = numbers_kept(read_measures(DataFolder(pairs), "train", list(ranges)), ranges, tmp_path / "out")
    assert said == kept and 0 < said < 40


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
    text = shown(found, kept, comparisons)
    assert "1 of 4 pairs are kept" in text and "&lt;=score" in text
    assert found.examples(kept) == [["c", "c", 0.3]]
    assert [row[2] for row in found.examples(~kept)] == [0.1, None, 0.9]
    assert "nothing is kept" in shown(found, *found.cut({"score": (0.5, 0.6)}))


def test_what_cannot_be_read_is_refused_in_words(pairs, tmp_path):
    with pytest.raises(UsageError, match="absent"):
        read_measures(DataFolder(pairs), "train", ["absent"])
    (tmp_path / "no.parquet").write_text("no Parquet")
    for file, place in ((str(tmp_path / "no.parquet"), ""), (None, str(tmp_path / "absent")), (None, str(tmp_path))):
        with pytest.raises(HfParaphraseError):
            open_data(file, place, "train", [])


def test_an_uploaded_file_and_the_sample_are_pairs_too(pairs):
    upload = str(pairs / "data" / "train-00000-of-00001.parquet")
    opened, available, _ = open_data(upload, "", "", ["rank"])
    assert opened.count == 40 and list(opened.measures) == ["rank"] and "bleu" in available
    assert "--pairs YOUR_FOLDER" in opened.command([])
    sample, _, summary = open_data(None, "", "train", [])
    assert (sample.count, sample.split) == (1_800, "validation") and "built-in sample" in summary
    assert list(sample.measures) == ["length", "overlap_1", "bleu"]
