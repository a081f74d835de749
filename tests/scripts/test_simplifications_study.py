from __future__ import annotations

from pathlib import Path

import pytest
from study_runs import StudyRuns, parsed

from hf_paraphrase.filtering.tuning.grids import filter_ranges


@pytest.fixture
def script(tmp_path):
    (tmp_path / "glove.txt").touch()
    runs = StudyRuns(tmp_path, "studies/simplifications.sh", python=True)
    # It says what it was called with.
    (runs.programs / "python").write_text('#!/usr/bin/env bash\necho "python $*"\n')
    return lambda **environment: runs(GLOVE="glove.txt", **environment)


def test_both_encoders_are_tuned_on_the_same_pairs_and_ranges_with_draws_of_a_fifth(script, tmp_path):
    # The stand-in makes folders without tables, at which the script ends when it prints them.
    _, calls = script()
    settings = {words[words.index("--output") + 1].removeprefix("work/"): parsed(words) for words in calls}
    assert set(settings) == {"pairs", "scored", "avg", "gran", "bins"}
    avoided = {Path(path).name for path in settings["pairs"].decontaminate}
    assert avoided == {"pit2015", "msrp", "sick", "sts", "stsbenchmark", "held_out.sha256-16.txt.gz"}
    avg, gran = settings["avg"], settings["gran"]
    for item in (avg, gran):
        assert item.data_sets.keys() == {"simple"} and item.largest_share == 0.2 and item.sample == 4000
        names = {point.filter for point in filter_ranges(item.filters, item.keep)}
        assert names == {"random", "length", "overlap_1", "overlap_2", "overlap_3", "bleu"}
    assert (len(avg.seeds), len(gran.seeds), gran.encoders) == (10, 5, ["gran"])
    bins = settings["bins"]
    assert bins.filters == ["length_bins"] and bins.test_all and bins.grid_seeds == len(bins.seeds) == 5
    for name in ("avg", "gran", "bins"):
        (tmp_path / "work" / name / "table.md").write_text(f"| table of {name} |\n")
    done, again = script()
    assert done.returncode == 0 and not again
    assert done.stdout.endswith("| table of avg |\n| table of gran |\n| table of bins |\n")


@pytest.mark.parametrize("splits", ["no", "yes"])
def test_split_sentences_are_pairs_only_where_they_are_asked_for(script, splits):
    done, _ = script(SPLITS=splits)
    line = next(line for line in done.stdout.splitlines() if "free_pairs.py" in line)
    assert ("simplifications splits --output" in line) == (splits == "yes")


def test_a_grid_that_fails_ends_the_study(script):
    done, _ = script(FAILING="work/avg")
    assert done.returncode == 3
