from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from study_runs import StudyRuns, after, parsed

from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.errors import InputError, UsageError


@pytest.fixture
def candidates(tmp_path):
    sides = [[f"{side}{number}" for number in range(30)] for side in "ab"]
    table = pa.table(
        {"sentence1": sides[0], "sentence2": sides[1], "label": [number % 3 == 0 for number in range(30)]}
    )
    table = table.set_column(2, "label", table["label"].cast("int64"))
    write_split(tmp_path / "candidates", "train", [table], table.schema)
    return tmp_path / "candidates"


def drawn(load_script, candidates, text, seed):
    noisy = load_script("studies/noisy_pairs")
    output = candidates.with_name(f"{text} {seed}")
    noisy.draw_pairs(candidates, noisy.Mixture.read(text), seed, output)
    return [int(side[1:]) for side in DataFolder(output).table("train", ["sentence2"]).column(0).to_pylist()]


def test_a_mixture_has_the_share_of_false_candidates_that_it_says_and_larger_draws_hold_smaller_ones(
    load_script, candidates
):
    rows = drawn(load_script, candidates, "10 misranked 40", 0)
    assert [row % 3 == 0 for row in rows] == [True] * 6 + [False] * 4
    assert set(rows) < set(drawn(load_script, candidates, "15 misranked 40", 0))
    assert rows[:6] == drawn(load_script, candidates, "6", 0) == drawn(load_script, candidates, "6 random 40", 0)
    assert set(rows) != set(drawn(load_script, candidates, "10 misranked 40", 1))
    with pytest.raises(InputError, match="10 pairs of label 1, not 11"):
        drawn(load_script, candidates, "11", 0)


def test_of_ranked_pairs_the_first_are_taken_and_none_is_misranked(load_script, tmp_path):
    table = pa.table({"sentence1": ["a"] * 9, "sentence2": [f"b{number}" for number in range(9)], "rank": range(9)})
    write_split(tmp_path / "ranked", "train", [table], table.schema)
    rows = [drawn(load_script, tmp_path / "ranked", text, seed) for text in ("4", "4 random 50") for seed in (0, 1)]
    assert rows == [[0, 1, 2, 3]] * 4
    with pytest.raises(InputError, match="0 pairs of label 0, not 2"):
        drawn(load_script, tmp_path / "ranked", "4 misranked 50", 0)


@pytest.mark.parametrize("text", ["5000 misranked", "many", "5000 false 20", "50 misranked 60 random 60", "5 -1"])
def test_a_mixture_that_is_invalid_is_refused(load_script, text):
    with pytest.raises(UsageError):
        load_script("studies/noisy_pairs").Mixture.read(text)


def test_the_script_asks_the_verbs_for_what_they_have_and_trains_on_no_judged_pair(tmp_path):
    runs = StudyRuns(tmp_path, "studies/noise.sh", python=True)
    done, calls = runs()
    assert done.returncode == 0, done.stderr
    settings = {after(words, "--output"): parsed(words) for words in calls}
    assert list(settings) == ["tweets", "judged", "ppdb", "morphs", "words"]
    avoided = {Path(path).name for path in settings["tweets"].decontaminate}
    assert avoided >= {"pit2015", "msrp", "sick", "sts", "held_out.sha256-16.txt.gz"}
    assert settings["ppdb"].decontaminate == settings["tweets"].decontaminate
    done, again = runs()
    assert done.returncode == 0 and not again


def test_a_script_whose_last_table_fails_fails(tmp_path):
    runs = StudyRuns(tmp_path, "studies/noise.sh", python=True)
    python = runs.programs / "python"
    python.write_text('#!/usr/bin/env bash\ncase "$1" in *score_steps.py) exit 3 ;; esac\n')
    done, _ = runs()
    assert done.returncode == 3


def test_a_step_of_the_score_is_the_difference_of_two_means_over_pairs(load_script):
    steps = load_script("studies/score_steps")
    by_seed = {
        height: {seed: (height + seed, np.full(4, height + seed)) for seed in range(3)} for height in (10.0, 30.0)
    }
    found = steps.step(by_seed[30.0], by_seed[10.0], 1)
    # The seeds are paired, and move both means alike.
    assert (found.value, found.low, found.high) == pytest.approx((20, 20, 20))
    assert steps.level(by_seed[10.0]).value == pytest.approx(11) and steps.level(by_seed[10.0]).high > 12


def test_the_pairs_of_a_score_have_their_own_mean_cosine(load_script):
    judged = load_script("studies/judged_sets")
    sets = object.__new__(judged.JudgedSets)
    sets.people = np.array([0.0, 0.6] * 20)
    sets.detection = judged.JudgedPairs(
        [f"s{number}" for number in range(40)], [f"t{number}" for number in range(40)], sets.people
    )
    value, drawn = sets.measure("score 0.6", [{"cosine": np.array([0.1, 0.4, 0.2, 0.6] * 10)}])
    assert value == pytest.approx([50.0]) and 40 < drawn.min() < drawn.max() < 60
