from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from study_runs import StudyRuns, after, parsed

from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.metrics.paraphrase_detection.paraphrase_detection import detection_measures

DESIGNS = Path(__file__).resolve().parents[2] / "scripts" / "studies" / "designs"
DESIGN = """
seeds: {wa: 3, gran: 2}
as_many_words_as: 4
tables:
  detection:
    columns: [perceptron]
    claims:
      - [worse, above, "wa: 4", "wa: 4 misranked 50"]
      - [more, below, "wa: 4", "wa: 4 misranked 50", "gran: 4", "gran: 4 misranked 50"]
"""


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


@pytest.mark.parametrize("text", ["5000 misranked", "many", "5000 false 20", "50 misranked 60 random 60", "5 -1"])
def test_a_mixture_that_is_none_is_refused(load_script, text):
    with pytest.raises(UsageError):
        load_script("studies/noisy_pairs").Mixture.read(text)


def test_the_first_seeds_of_all_cells_are_run_first(load_script, tmp_path):
    design = load_script("studies/noise_design")
    (tmp_path / "design.yaml").write_text(DESIGN)
    found = [(str(cell), seed) for cell, seed in design.read_design(tmp_path / "design.yaml").runs(1000)]
    cells = ["wa: 4", "wa: 4 misranked 50", "gran: 4", "gran: 4 misranked 50"]
    assert found == [(cell, seed) for seed in (0, 1) for cell in cells] + [(cell, 2) for cell in cells[:2]]
    (tmp_path / "design.yaml").write_text(DESIGN.replace("below", "little"))
    with pytest.raises(UsageError, match="no claim"):
        design.read_design(tmp_path / "design.yaml")


def test_its_design_is_understood_and_every_design_is_of_a_study(load_script):
    read = load_script("studies/noise_design").read_design
    tables = read(DESIGNS / "noise.yaml").tables
    assert set(tables) == {"detection", "transfer"} and all(table.claims for table in tables.values())
    others = {"adam", "lengths", "sizes", "sources", "starts"}
    assert {path.stem for path in DESIGNS.glob("*.yaml")} == {"noise"} | others


def test_an_encoder_of_two_tables_is_trained_once(load_script):
    design = load_script("studies/noise_design").read_design(DESIGNS / "noise.yaml")
    runs = list(design.runs(1000))
    assert len(runs) == len(set(runs)) and {cell for cell, _ in runs} == set(design.cells("detection"))
    assert set(design.cells("transfer")) < set(design.cells("detection"))


def test_a_draw_of_judged_pairs_changes_average_precision_and_correlation_as_repeating_the_pairs_does(load_script):
    judged = load_script("studies/judged_sets")
    generator = np.random.default_rng(0)
    # Rounded, so that there are ties.
    cosines, labels = np.round(generator.normal(size=40), 1), generator.integers(0, 2, 40)
    counts = generator.multinomial(40, np.full(40, 1 / 40), size=3).astype(float)
    precision = judged.average_precision(cosines, labels.astype(float), counts)
    correlation = judged.weighted_pearson(cosines, labels.astype(float), counts)
    for row, times in enumerate(counts.astype(int)):
        values, gold = np.repeat(cosines, times), np.repeat(labels, times)
        assert precision[row] == pytest.approx(detection_measures(values, gold)["average_precision"])
        assert correlation[row] == pytest.approx(np.corrcoef(values, gold)[0, 1])


def test_pairs_that_share_a_sentence_are_drawn_together_and_tested_together(load_script):
    pairs = load_script("studies/judged_sets").JudgedPairs(
        [f"s{number // 4}" for number in range(40)], [f"t{number}" for number in range(40)], np.zeros(40)
    )
    groups = np.arange(40) // 4
    for values in (pairs.folds[None], pairs.counts):
        assert all((values[:, groups == group] == values[:, groups == group][:, :1]).all() for group in range(10))
    assert (pairs.counts.sum(axis=1) == 40).all() and len(set(pairs.folds)) == 5


def test_a_claim_of_four_cells_compares_two_differences_over_the_seeds_that_all_have(load_script, tmp_path):
    table, design = load_script("studies/noise_table"), load_script("studies/noise_design")
    (tmp_path / "design.yaml").write_text(DESIGN)
    claims = design.read_design(tmp_path / "design.yaml").tables["detection"].claims
    scores = {
        "wa: 4": [70.0, 71, 72],
        "wa: 4 misranked 50": [60.0, 62, 64],
        "gran: 4": [80.0, 80],
        "gran: 4 misranked 50": [78.0, 77],
    }
    nothing = np.zeros(5)
    measured = {
        design.Cell.read(cell): {seed: (value, nothing + value) for seed, value in enumerate(values)}
        for cell, values in scores.items()
    }
    assert table.contrast(claims[0], measured, 1).value == pytest.approx((10 + 9 + 8) / 3)
    both = table.contrast(claims[1], measured, 1)
    assert both.value == pytest.approx((10 - 2 + 9 - 3) / 2)
    judged = table.judge(table.NoiseTable(("perceptron",), claims), {"perceptron": dict(list(measured.items())[:3])})
    text = table.claims_table(table.NoiseTable(("perceptron",), claims), judged)
    assert list(judged) == [claims[0]] and "not run" in text.splitlines()[-1] and "holds" in text.splitlines()[-2]
    # Two seeds are too few for an interval.
    assert (
        both.verdict("above") == "cannot tell" and table.contrast(claims[0], measured, 1).verdict("above") == "holds"
    )


def test_the_runs_of_one_folder_make_the_file_and_the_picture_of_each_table(load_script, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    table = load_script("studies/noise_table")

    class Judged:
        def __init__(self, *places):
            pass

        def measure(self, name, runs):
            values = np.array([float(run["value"]) for run in runs])
            return values, np.tile(values, (5, 1))

    monkeypatch.setattr(table, "JudgedSets", Judged)
    rest = DESIGN.replace("seeds: {wa: 3, gran: 2}\nas_many_words_as: 4\ntables:\n", "")
    (tmp_path / "design.yaml").write_text(DESIGN + rest.lstrip("\n").replace("detection", "transfer"))
    (tmp_path / "runs").mkdir()
    for pairs, value in (("4", 70.0), ("4_misranked_50", 60.0)):
        for seed in range(3):
            np.savez(tmp_path / "runs" / f"wa_{pairs}_seed_{seed}.npz", value=value + seed)
    words = ["--design", "design.yaml", "--runs", "runs", "--detection", "no", "--data", "no", "--output", "tables"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["noise_table", *words, "--pictures"])
    assert table.main() == 0
    for name in ("detection", "transfer"):
        assert "+10.0 [+10.0, +10.0]: holds" in (tmp_path / "tables" / f"{name}.md").read_text()
        assert (tmp_path / "tables" / f"{name}.png").stat().st_size > 1000


def test_the_picture_is_small_and_the_same_each_time(load_script, tmp_path):
    pytest.importorskip("matplotlib")
    picture = load_script("studies/interval_picture")
    Interval = load_script("studies/noise_table").Interval
    rows = [("one", [Interval(1.0, 0.5, 1.5)]), ("other", [Interval(1.0, -float("inf"), float("inf"))])]
    for name in ("first.png", "second.png"):
        picture.draw_intervals(tmp_path / name, rows, ["AP"], "points")
    assert (tmp_path / "first.png").read_bytes() == (tmp_path / "second.png").read_bytes()
    assert (tmp_path / "first.png").stat().st_size < 60_000


def test_the_script_asks_the_verbs_for_what_they_have_and_trains_on_no_judged_pair(tmp_path):
    runs = StudyRuns(tmp_path, "studies/noise.sh", python=True)
    done, calls = runs()
    assert done.returncode == 0, done.stderr
    settings = {after(words, "--output"): parsed(words) for words in calls}
    assert list(settings) == ["tweets", "judged", "ppdb", "morphs"]
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
