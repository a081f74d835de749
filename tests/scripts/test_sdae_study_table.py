from __future__ import annotations

import json

import pytest

KEYS = ("family", "name", "pearson")


@pytest.fixture
def work(tmp_path):
    """Writes the results of runs: the STS scores of each variant by seed, and perhaps transfer accuracies."""

    def write(transfer=None, **variants):
        for name, scores in variants.items():
            for seed, score in enumerate(scores):
                folder = tmp_path / "models" / f"{name}_{seed}"
                folder.mkdir(parents=True)
                results = {"dev_loss": 3.0 + seed, "dev_expansion_distance": None if name == "plain" else 0.25}
                (folder / "provenance.json").write_text(json.dumps({"results": results}))
                sets = [("STS12", "MSRpar", score - 2), ("STS12", "OnWN", score), ("STS16", "headlines", score + 2)]
                record = {"results": [{"sets": [dict(zip(KEYS, item, strict=True)) for item in sets]}]}
                (tmp_path / "sts").mkdir(exist_ok=True)
                (tmp_path / "sts" / f"{name}_{seed}.json").write_text(json.dumps(record))
                if transfer is not None:
                    tasks = [{"task": "MR", "metrics": {"accuracy": transfer[name]}}]
                    (tmp_path / "senteval").mkdir(exist_ok=True)
                    path = tmp_path / "senteval" / f"{name}_{seed}.json"
                    path.write_text(json.dumps({"results": [{"tasks": tasks}]}))
        return tmp_path

    return write


def rows_of(text):
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ]


def test_means_and_verdicts_are_those_of_the_differences_seed_by_seed(work, run_script, capsys):
    # Differences of noise: 2, 3, 4, so 3 ± 6.205 / sqrt(3) (two rows); those of the regulariser: -1, 0, 1.
    folder = work(plain=[40, 41, 42], noise=[42, 44, 46], regulariser=[39, 41, 43])
    assert run_script("studies/sdae_table", folder) == 0
    rows = rows_of(capsys.readouterr().out)
    assert rows[0] == [
        "variant",
        "seeds",
        "dev loss (nats a word)",
        "1 - cos to expansion",
        "STS12",
        "STS16",
        "STS mean",
    ]
    assert rows[2][1:] == ["3", "4.000", "–", "40.0 ± 1.0", "43.0 ± 1.0", "41.0 ± 1.0"]
    assert rows[3][1:4] == ["3", "4.000", "0.250"] and rows[3][-1] == "44.0 ± 2.0"
    assert rows[7] == ["helps as noise", "STS mean", "+2.0, +3.0, +4.0", "+3.0", "-0.6 to +6.6", "cannot tell"]
    expected = ["hurts as regulariser", "STS mean", "-1.0, +0.0, +1.0", "+0.0", "-3.6 to +3.6", "cannot tell"]
    assert rows[8] == expected


@pytest.mark.parametrize(
    ("regulariser", "expected"),
    [([30, 31, 33], "holds"), ([50, 51, 53], "does not"), ([30, 41, 52], "cannot tell")],
)
def test_a_finding_holds_or_does_not_by_the_side_of_the_whole_interval(
    work, run_script, capsys, regulariser, expected
):
    assert run_script("studies/sdae_table", work(plain=[40, 41, 42], noise=[], regulariser=regulariser)) == 0
    (row,) = [row for row in rows_of(capsys.readouterr().out) if row[0] == "hurts as regulariser"]
    assert row[-1] == expected


def test_one_seed_is_inconclusive_and_seeds_that_only_one_variant_has_are_not_compared(work, run_script, capsys):
    assert run_script("studies/sdae_table", work(plain=[40], noise=[50, 60], regulariser=[])) == 0
    rows = rows_of(capsys.readouterr().out)
    assert rows[4][1:] == ["0", "–", "–", "–", "–", "–"]
    assert rows[-1] == ["helps as noise", "STS mean", "+10.0", "+10.0", "–", "cannot tell"]


def test_two_seeds_are_inconclusive_however_alike_they_are(work, run_script, capsys):
    assert run_script("studies/sdae_table", work(plain=[40, 41], noise=[50, 51], regulariser=[])) == 0
    row = rows_of(capsys.readouterr().out)[-1]
    assert row == ["helps as noise", "STS mean", "+10.0, +10.0", "+10.0", "–", "cannot tell"]


def change(path, edit):
    record = json.loads(path.read_text())
    edit(record)
    path.write_text(json.dumps(record))


@pytest.mark.parametrize("place", ["results", "settings"])
def test_runs_of_unequal_numbers_of_updates_are_refused_in_one_line(work, run_script, capsys, place):
    folder = work(plain=[40, 41], noise=[42, 43])
    name = "steps" if place == "results" else "max_steps"
    for run, updates in (("plain_0", 1500), ("plain_1", 1500), ("noise_0", 1500), ("noise_1", 300)):
        path = folder / "models" / run / "provenance.json"
        change(path, lambda record, updates=updates: record.setdefault(place, {}).update({name: updates}))
    assert run_script("studies/sdae_table", folder) == 2
    out, err = capsys.readouterr()
    expected = "unequal numbers of updates: 300 of noise_1; 1,500 of plain_0, plain_1, noise_0"
    assert out == "" and err.count("\n") == 1 and expected in err


def test_means_are_over_the_sets_and_tasks_that_all_runs_have(work, run_script, capsys):
    folder = work(plain=[40], noise=[42], regulariser=[], transfer={"plain": 70.0, "noise": 72.0})
    change(folder / "sts/noise_0.json", lambda record: record["results"][0]["sets"].pop(0))
    more = {"task": "CR", "metrics": {"accuracy": 10.0}}
    change(folder / "senteval/plain_0.json", lambda record: record["results"][0]["tasks"].append(more))
    assert run_script("studies/sdae_table", folder) == 0
    out, err = capsys.readouterr()
    rows = rows_of(out)
    assert rows[0][4:] == ["STS12", "STS16", "STS mean", "MR", "transfer mean"]
    assert rows[2][4:] == ["40.0", "42.0", "41.0", "70.0", "70.0"]
    assert err == "left out, because not all runs have them: CR, STS12 MSRpar\n"
    change(folder / "sts/noise_0.json", lambda record: record["results"][0]["sets"].clear())
    assert run_script("studies/sdae_table", folder) == 2


def test_spearman_and_the_sets_of_sts14_are_there_where_the_results_have_them(work, run_script, capsys):
    folder = work(plain=[40], noise=[44], regulariser=[])
    for number, name in enumerate(("plain", "noise")):

        def edit(record, number=number):
            sets = record["results"][0]["sets"]
            sets += [dict(zip(KEYS, ("STS14", item, 50.0 + number), strict=True)) for item in ("images", "OnWN")]
            for item in sets:
                item["spearman"] = 30.0 + number

        change(folder / f"sts/{name}_0.json", edit)
    assert run_script("studies/sdae_table", folder) == 0
    rows = rows_of(capsys.readouterr().out)
    assert rows[0][4:] == ["STS12", "STS14", "STS16", "STS mean", "STS mean (Spearman)"]
    assert rows[2][-1] == "30.0" and rows[3][-1] == "31.0"
    assert rows[5] == ["STS14", "images", "OnWN"]
    assert [row[1:] for row in rows[7:10]] == [["50.0", "50.0"], ["51.0", "51.0"], ["–", "–"]]


def test_transfer_tasks_have_columns_and_verdicts_of_their_own(work, run_script, capsys):
    folder = work(plain=[40, 41, 42], noise=[40, 41, 42], regulariser=[], transfer={"plain": 70.0, "noise": 72.0})
    assert run_script("studies/sdae_table", folder) == 0
    rows = rows_of(capsys.readouterr().out)
    assert rows[0][-2:] == ["MR", "transfer mean"] and rows[2][-1] == "70.0 ± 0.0"
    assert rows[-1][:2] == ["helps as noise", "transfer mean"] and rows[-1][-1] == "holds"


def test_where_pairs_are_redrawn_the_interval_of_sts_is_over_them_too(work, run_script, capsys):
    folder = work(plain=[40, 41, 42], noise=[42, 44, 46], regulariser=[])
    (folder / "drawn").mkdir()
    keys = ("STS12 MSRpar", "STS12 OnWN", "STS16 headlines")
    # In every second draw noise is 6 better on every set, in the others as good.
    for name, gain in (("plain", 0.0), ("noise", 6.0)):
        for seed in range(3):
            drawn = {key: [40.0 + seed + gain * (draw % 2) for draw in range(100)] for key in keys}
            (folder / f"drawn/{name}_{seed}.json").write_text(json.dumps(drawn))
    assert run_script("studies/sdae_table", folder) == 0
    row = rows_of(capsys.readouterr().out)[-1]
    # The seeds agree in every draw, so only pairs vary: 3 ± 1.96 × 3.015.
    assert row[:4] == ["helps as noise", "STS mean", "+2.0, +3.0, +4.0", "+3.0"] and row[4] == "-2.9 to +8.9"
    (folder / "drawn/noise_1.json").write_text("{}")
    assert run_script("studies/sdae_table", folder) == 2
    assert "these are not the results" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"results": [{"sets": []}]}'])
def test_damaged_results_are_one_line(work, run_script, capsys, content):
    folder = work(plain=[40])
    (folder / "sts" / "plain_0.json").write_text(content)
    assert run_script("studies/sdae_table", folder) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "plain_0.json" in err


def test_a_folder_without_runs_is_one_line(tmp_path, run_script, capsys):
    assert run_script("studies/sdae_table", tmp_path) == 2
    assert "no evaluated run" in capsys.readouterr().err
